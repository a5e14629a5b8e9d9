// Command confetti runs every role and every tool: services, plans, accounting, simulated collections, and looking
// at releases. Used by analysts, operators, reviewers and developers of apps.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/collect"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/count"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/device"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/keys"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/operate"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/party"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/planlog"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/predict"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/release"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/roles"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/study"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/up"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/once"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/strictjson"
	_ "github.com/confetti-dp/confetti/question/all"
	document "github.com/confetti-dp/confetti/release"
)

// cli lists every command. A command is a struct with a Run method; its flags
// are the struct's fields.
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
	Keys       keys.Command    `cmd:"" help:"Make and show key files."`
	Party      party.Command   `cmd:"" help:"What an organisation makes for its role, and takes of the others'."`
	Publishers keys.Publishers `cmd:"" help:"Whose plans are taken: keys of publishers, their ends and revocations."`
	Log        planlog.Command `cmd:"" help:"The public log of plans, by which everybody is shown the same."`
	Up         up.Command      `cmd:"" help:"Try everything on this machine: services, tokens, a plan to answer."`
	Serve      roles.Serve     `cmd:"" help:"Run a service."`
	Submit     device.Submit   `cmd:"" help:"Answer a plan, as a device does."`
	Ledger     device.Ledger   `cmd:"" help:"What a device has agreed to, spent and said."`
	Top        operate.Top     `cmd:"" help:"Say what services tell their operator."`
	Alarms     operate.Alarms  `cmd:"" help:"What services want looked at, and that it has been."`
	Token      keys.Token      `cmd:"" help:"Bearer tokens, by which services tell who asks."`
	Count      count.Command   `cmd:"" help:"Count a batch that lies in parts, as a worker of an engine that others run."`
	Budget     operate.Budget  `cmd:"" help:"What populations have spent."`
	Analyzer   roles.Analyzer  `cmd:"" help:"Back an analyzer up, and restore it."`

	Version kong.VersionFlag `help:"Print the version."`
}

func main() {
	os.Exit(run(os.Args[1:], terminal.Streams{Out: os.Stdout, Err: os.Stderr, Version: document.Software()}))
}

// run is main without the process: it returns the exit code.
func run(args []string, std terminal.Streams) int {
	code, exited := 0, false
	args = meant(args)
	parser := newParser(named(args), std, func(c int) { code, exited = c, true })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if exited {
		return code // --help or --version has printed
	}
	if err != nil {
		fmt.Fprintf(std.Err, "confetti: %s\n", sanitize.Lines(err.Error()))
		var p *kong.ParseError
		if errors.As(err, &p) {
			at := parser.Model.Node
			if chosen := p.Context.Selected(); chosen != nil {
				at = chosen
			}
			fmt.Fprintf(std.Err, "Try: %s --help\n", at.FullPath())
		}
		return 2
	}
	if err := ctx.Run(); err != nil {
		fmt.Fprintf(std.Err, "confetti: %s\n", sanitize.Lines(err.Error()))
		var u terminal.UsageError
		if errors.As(err, &u) {
			return 2
		}
		if _, others := errors.AsType[terminal.UnfinishedError](err); others {
			return 3
		}
		return 1
	}
	return 0
}

// meant reads help and version as the flags that they are, and a number below zero behind a flag as
// the flag's: no flag's letter is a digit, and whoever takes the number says what is wrong with it.
func meant(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "version":
		return []string{"--version"}
	}
	var all []string
	for i, a := range args {
		if a == "--" {
			return append(all, args[i:]...)
		}
		if _, err := strconv.ParseFloat(a, 64); err == nil && a[0] == '-' && i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			all[len(all)-1] += "=" + a
			continue
		}
		all = append(all, a)
	}
	return all
}

// moment reads a flag's time.
func moment(d *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := d.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return strictjson.Told(err)
	}
	target.Set(reflect.ValueOf(at))
	return nil
}

// named returns the command line with the one command that args begin with, or all of it if
// they begin with none: to read the flags of all commands takes longer than most take.
func named(args []string) any {
	all := reflect.TypeFor[cli]()
	version, _ := all.FieldByName("Version")
	for i := range all.NumField() {
		f := all.Field(i)
		if len(args) > 0 && f.Name != version.Name && strings.ToLower(f.Name) == args[0] {
			return reflect.New(reflect.StructOf([]reflect.StructField{f, version})).Interface()
		}
	}
	return &cli{}
}

// newParser reads command structs; exit is called after --help and --version.
func newParser(commands any, std terminal.Streams, exit func(code int)) *kong.Kong {
	parser, err := kong.New(commands,
		kong.Name("confetti"),
		kong.Description("Collect statistics and train models from end users without anyone ever seeing a user's data."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(std.Out, std.Err),
		kong.Exit(exit),
		kong.Bind(std),
		once.Given(),
		kong.TypeMapper(reflect.TypeFor[time.Time](), kong.MapperFunc(moment)),
		kong.Vars{"version": std.Version, "kernels": flags.KernelNames(), "bitsums": flags.BitsumNames(), "mechanisms": account.Mechanisms(), "calibrated": account.Calibrated(), "attacked": account.Attacked()},
	)
	if err != nil {
		panic("confetti: " + err.Error()) // a fault in the command structs themselves
	}
	return parser
}
