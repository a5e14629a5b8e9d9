// Command confetti asks, checks, answers, simulates, shows and verifies: it is what people run, and no service. Used by
// analysts, reviewers and developers of apps.
package main

import (
	"os"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/budget"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/collect"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/device"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/explain"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/keys"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/predict"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/release"
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
	Demo       collect.Demo    `cmd:"" help:"The whole loop: devices, shuffler, analyzer, and a page with the result."`
	Plan       plan.Command    `cmd:"" help:"Author, check and show plans."`
	Study      study.Command   `cmd:"" help:"Ask in rounds, one after the other."`
	Account    account.Command `cmd:"" help:"Privacy accounting: what a mechanism gives, and what it needs."`
	Audit      account.Audit   `cmd:"" help:"Attack what ships, and print the epsilon found beside the one claimed."`
	Sample     collect.Sample  `cmd:"" help:"Write a made-up table to try things out with."`
	Collect    collect.Command `cmd:"" help:"Collect from your own data."`
	Predict    predict.Command `cmd:"" help:"What a model says of records."`
	Release    release.Command `cmd:"" help:"Look at releases."`
	Explain    explain.Command `cmd:"" help:"What a word of the documentation means."`
	Keys       keys.Command    `cmd:"" help:"Make and show key files."`
	Publishers keys.Publishers `cmd:"" help:"Whose plans are taken: keys of publishers, their ends and revocations."`
	Submit     device.Submit   `cmd:"" help:"Answer a plan, as a device does."`
	Ledger     device.Ledger   `cmd:"" help:"What a device has agreed to, spent and said."`
	Budget     budget.Command  `cmd:"" help:"What populations have spent."`

	commands.Version
}

// program is confetti.
var program = commands.Program{
	Name:  "confetti",
	About: "Collect statistics and train models from end users without anyone ever seeing a user's data.\n\n" + beside.About(),
	Table: reflect.TypeFor[cli](),
	Vars:  kong.Vars{"kernels": flags.KernelNames(), "bitsums": flags.BitsumNames(), "mechanisms": account.Mechanisms(), "calibrated": account.Calibrated(), "attacked": account.Attacked()},
}

func main() {
	table.Parquet = beside.ReadParquet
	std := terminal.Streams{Out: os.Stdout, Err: os.Stderr, Version: document.Software()}
	if args := commands.Meant(os.Args[1:]); beside.Has(args) {
		os.Exit(beside.Start(os.Args[1:], os.Stderr))
	}
	os.Exit(program.Run(os.Args[1:], std))
}
