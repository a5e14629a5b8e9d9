// Command confetti-shuffler is a mixing hop and nothing else: the code that could
// read a report, estimate or publish is not in it, which its tests check in the
// binary. It does what `confetti serve shuffler` does.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/shuffler/shufflerd"
)

type cli struct {
	Config string `help:"Configuration (TOML); deploy/config has one of each role with every setting." required:"" type:"path" placeholder:"FILE"`
	Check  bool   `help:"Only check the configuration and the files that it names."`
	Verify bool   `help:"Only read what the service keeps, from a copy in the temporary folder, and say what is whole and what is damaged. Stop the service first."`

	SetAside bool `help:"Go on without what is damaged in the queue, for good, say what it was, and end."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process. The exit code is 2 for a fault in what was
// asked for, the configuration included, and 1 for any other failure.
func run(args []string, out, err io.Writer) int {
	code, exited := 0, false
	var c cli
	_, fault := newParser(&c, out, err, func(n int) { code, exited = n, true }).Parse(args)
	if exited {
		return code // --help has printed
	}
	var config shufflerd.Config
	if fault == nil {
		fault = serve.ReadConfig(c.Config, &config)
	}
	if fault == nil {
		if fault = config.Check(); fault != nil {
			fault = fmt.Errorf("%s:\n%w", c.Config, fault)
		}
	}
	if fault != nil {
		fmt.Fprintf(err, "confetti-shuffler: %s\n", plain.Lines(fault.Error()))
		return 2
	}
	if c.Check {
		fmt.Fprintf(out, "%s is fine\n", c.Config)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // asked twice to stop, it dies
	run := config.Run
	if c.SetAside {
		run = config.SetAside
	}
	if c.Verify {
		run = func(ctx context.Context, _ *slog.Logger) error {
			return config.Verify(ctx, func(whole string) { fmt.Fprintln(out, plain.Lines(whole)) })
		}
	}
	if fault := run(ctx, slog.New(slog.NewTextHandler(err, nil))); fault != nil {
		fmt.Fprintf(err, "confetti-shuffler: %s\n", plain.Lines(fault.Error()))
		return 1
	}
	return 0
}

// newParser reads the flags into c; exit is called after --help.
func newParser(c *cli, out, err io.Writer, exit func(code int)) *kong.Kong {
	parser, fault := kong.New(c,
		kong.Name("confetti-shuffler"),
		kong.Description("Mix contributions of a collection, without being able to read them."),
		kong.Writers(out, err),
		kong.Exit(exit),
	)
	if fault != nil {
		panic("confetti-shuffler: " + fault.Error()) // a fault in the struct above
	}
	return parser
}
