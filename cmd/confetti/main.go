// Command confetti asks, checks, answers, simulates, shows and verifies: it is what people run, and no service. Used by
// analysts, reviewers and developers of apps.
package main

import (
	"os"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/ask"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/budget"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/collect"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/device"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/explain"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/keys"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/learn"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/metrics"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/predict"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/release"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/sdk"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/study"
	"github.com/confetti-dp/confetti/cmd/internal/commands"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/table"
	_ "github.com/confetti-dp/confetti/question/all"
	document "github.com/confetti-dp/confetti/release"
)

// cli lists every command.
type cli struct {
	Demo    collect.Demo    `cmd:"" group:"Start here" help:"The whole loop: devices, shuffler, analyzer, and a page with the result."`
	Sample  collect.Sample  `cmd:"" group:"Start here" help:"Write a made-up table to try things out with."`
	Collect collect.Command `cmd:"" group:"Start here" help:"Collect from your own data."`

	Plan    plan.Command    `cmd:"" group:"Ask" help:"Author, check and show plans."`
	Study   study.Command   `cmd:"" group:"Ask" help:"Ask in rounds, one after the other."`
	Metrics metrics.Command `cmd:"" group:"Ask" help:"Count in an app by itself: what is declared, what it costs, and the code."`
	Account account.Command `cmd:"" group:"Ask" help:"Privacy accounting: what a mechanism gives, and what it needs."`
	Audit   account.Audit   `cmd:"" group:"Ask" help:"Attack what ships, and print the epsilon found beside the one claimed."`
	Budget  budget.Command  `cmd:"" group:"Ask" help:"What populations have spent."`

	Submit device.Submit `cmd:"" group:"Answer" help:"Answer a plan, as a device does."`
	Ledger device.Ledger `cmd:"" group:"Answer" help:"What a device has agreed to, spent and said."`
	SDK    sdk.Command   `cmd:"" name:"sdk" group:"Answer" help:"Devices in other languages: what this machine has for them."`

	Release release.Command `cmd:"" group:"Look, and check" help:"Look at releases."`
	Labels  release.Labels  `cmd:"" group:"Look, and check" help:"Training sets with noisy labels, of a table that you hold."`
	Ask     ask.Ask         `cmd:"" group:"Look, and check" help:"What a release of tables tells of any two columns, and bounds of three."`
	Rows    ask.Rows        `cmd:"" group:"Look, and check" help:"Synthetic rows from a release of tables: evidence about nobody."`
	Fit     ask.Fit         `cmd:"" group:"Look, and check" help:"An additive model of one column, from a release of tables."`
	Learn   learn.Command   `cmd:"" group:"Look, and check" help:"Models of what a collection brought back."`
	Predict predict.Command `cmd:"" group:"Look, and check" help:"What a model says of records."`
	Explain explain.Command `cmd:"" group:"Look, and check" help:"What a word of the documentation means."`

	Keys       keys.Command    `cmd:"" group:"Keys, and whom to trust" help:"Make and show key files."`
	Publishers keys.Publishers `cmd:"" group:"Keys, and whom to trust" help:"Whose plans are taken: keys of publishers, their ends and revocations."`

	commands.Common
}

// program is confetti.
var program = commands.Program{
	Name:   "confetti",
	About:  "Collect statistics and train models from end users without anyone ever seeing a user's data.\n\n" + beside.About(),
	Begin:  "confetti demo shows the whole loop, and confetti up trial runs one for an app or a page to answer.",
	Others: beside.Commands,
	Table:  reflect.TypeFor[cli](),
	Vars:   kong.Vars{"kernels": flags.KernelNames(), "bitsums": flags.BitsumNames(), "mechanisms": account.Mechanisms(), "calibrated": account.Calibrated(), "attacked": account.Attacked()},
}

func main() {
	table.Parquet = beside.ReadParquet
	std := terminal.Streams{Out: os.Stdout, Err: os.Stderr, Version: document.Software()}
	if beside.Has(commands.About(os.Args[1:])) {
		os.Exit(beside.Start(os.Args[1:], os.Stderr))
	}
	os.Exit(program.Run(os.Args[1:], std))
}
