// Command confetti is every role and every tool in one binary: authoring and
// checking plans, accounting, simulated collections, the papers' experiments,
// and looking at releases.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/plan"
)

// cli lists every command. A command is a struct with a Run method; its flags
// are the struct's fields.
type cli struct {
	Demo       demoCommand       `cmd:"" help:"The whole loop: devices, shuffler, analyzer, and a page with the result."`
	Plan       planCommand       `cmd:"" help:"Author, check and show plans."`
	Account    accountCommand    `cmd:"" help:"Privacy accounting: what a mechanism gives, and what it needs."`
	Sample     sampleCommand     `cmd:"" help:"Write a made-up table to try things out with."`
	Collect    collectCommand    `cmd:"" help:"Collect from your own data."`
	Experiment experimentCommand `cmd:"" help:"The papers' measurements."`
	Release    releaseCommand    `cmd:"" help:"Look at releases."`
	Keys       keysCommand       `cmd:"" help:"Make and show key files."`
	Publishers publishersCommand `cmd:"" help:"Whose plans are taken: keys of publishers, their ends and revocations."`
	Up         upCommand         `cmd:"" help:"Try everything on this machine: services, tokens, a plan to answer."`
	Serve      serveCommand      `cmd:"" help:"Run a service."`
	Submit     submitCommand     `cmd:"" help:"Answer a plan, as a device does."`
	Ledger     ledgerCommand     `cmd:"" help:"What a device has agreed to, spent and said."`
	Top        topCommand        `cmd:"" help:"Watch services at work."`
	Alarms     alarmsCommand     `cmd:"" help:"What services want looked at, and that it has been."`
	Token      tokenCommand      `cmd:"" help:"Bearer tokens, by which services tell who asks."`
	Budget     budgetCommand     `cmd:"" help:"What populations have spent."`
	Analyzer   analyzerCommand   `cmd:"" help:"Back an analyzer up, and restore it."`

	Version kong.VersionFlag `help:"Print the version."`
}

// streams is where a command writes: results to out, everything said to a
// person beside the results to err.
type streams struct {
	out io.Writer
	err io.Writer
}

// usageError is a fault in what was asked for: exit code 2. Every other error
// is a failure: exit code 1.
type usageError struct{ error }

func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

func main() { os.Exit(run(os.Args[1:], streams{os.Stdout, os.Stderr})) }

// run is main without the process: it returns the exit code.
func run(args []string, std streams) int {
	code, exited := 0, false
	parser := newParser(std, func(c int) { code, exited = c, true })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if exited {
		return code // --help or --version has printed
	}
	if err != nil {
		fmt.Fprintf(std.err, "confetti: %s\n", plain.Lines(err.Error()))
		var p *kong.ParseError
		if errors.As(err, &p) {
			at := parser.Model.Node
			if chosen := p.Context.Selected(); chosen != nil {
				at = chosen
			}
			fmt.Fprintf(std.err, "Try: %s --help\n", at.FullPath())
		}
		return 2
	}
	if err := ctx.Run(); err != nil {
		fmt.Fprintf(std.err, "confetti: %s\n", plain.Lines(err.Error()))
		var u usageError
		if errors.As(err, &u) {
			return 2
		}
		return 1
	}
	return 0
}

// newParser reads the command structs; exit is called after --help and --version.
func newParser(std streams, exit func(code int)) *kong.Kong {
	parser, err := kong.New(&cli{},
		kong.Name("confetti"),
		kong.Description("Collect statistics and train models from end users without anyone ever seeing a user's data."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(std.out, std.err),
		kong.Exit(exit),
		kong.Bind(std),
		kong.Vars{"version": version(), "kernels": kernelNames(), "bitsums": strings.Join(plan.Bitsums, ", "), "populations": strings.Join(populations(), ", ")},
	)
	if err != nil {
		panic("confetti: " + err.Error()) // a fault in the command structs themselves
	}
	return parser
}
