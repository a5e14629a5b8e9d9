// Command confetti-aggregator adds up answers that arrive in shares and does nothing else:
// the code that could read an answer, open a sum, estimate or publish is not in it, which
// its tests check in the binary. It does what `confetti serve leader` and `confetti serve
// helper` do.
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

	"github.com/confetti-dp/confetti/aggregate/aggregated"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
)

type cli struct {
	Role string `arg:"" help:"Which of the two aggregators of its plans it is: leader, that devices send to, or helper." enum:"leader,helper"`

	Config string `help:"Configuration (TOML); deploy/config has one of each role with every setting." required:"" type:"path" placeholder:"FILE"`
	Check  bool   `help:"Only check the configuration and the files that it names."`
	Verify bool   `help:"Only read what the service keeps, from a copy in the temporary folder, and say what is whole and what is damaged. Stop the service first."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process. The exit code is 2 for a fault in what was asked for,
// the configuration included, and 1 for any other failure.
func run(args []string, out, err io.Writer) int {
	code, exited := 0, false
	var c cli
	_, fault := newParser(&c, out, err, func(n int) { code, exited = n, true }).Parse(args)
	if exited {
		return code // --help has printed
	}
	config := aggregated.Config{Role: map[string]dap.Role{"leader": dap.Leader, "helper": dap.Helper}[c.Role]}
	if fault == nil {
		fault = serve.ReadConfig(c.Config, &config)
	}
	if fault == nil {
		if fault = config.Check(); fault != nil {
			fault = fmt.Errorf("%s:\n%w", c.Config, fault)
		}
	}
	if fault != nil {
		fmt.Fprintf(err, "confetti-aggregator: %s\n", plain.Lines(fault.Error()))
		return 2
	}
	if c.Check {
		fmt.Fprintf(out, "%s is fine\n", c.Config)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // asked twice to stop, it dies
	if c.Verify {
		fault = config.Verify(ctx, func(whole string) { fmt.Fprintln(out, plain.Lines(whole)) })
	} else {
		fault = config.Run(ctx, slog.New(slog.NewTextHandler(err, nil)))
	}
	if fault != nil {
		fmt.Fprintf(err, "confetti-aggregator: %s\n", plain.Lines(fault.Error()))
		return 1
	}
	return 0
}

// newParser reads the arguments into c; exit is called after --help.
func newParser(c *cli, out, err io.Writer, exit func(code int)) *kong.Kong {
	parser, fault := kong.New(c,
		kong.Name("confetti-aggregator"),
		kong.Description("Add up answers that arrive in shares, without being able to read them."),
		kong.Writers(out, err),
		kong.Exit(exit),
	)
	if fault != nil {
		panic("confetti-aggregator: " + fault.Error()) // a fault in the struct above
	}
	return parser
}
