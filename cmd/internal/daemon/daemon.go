// Package daemon parses the flags of a service's program, checks or runs its configuration, and chooses its exit
// code. Used by cmd/internal/server/roles, cmd/internal/shuffler and cmd/internal/aggregator.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/once"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// Service holds the configuration of a service, as its file gives it.
type Service interface {
	// Open reads everything that the configuration names, and starts nothing. The error joins
	// all that is wrong.
	Open(*slog.Logger) (serve.Opened, error)
}

// Flags are those of every service.
type Flags struct {
	Config string `help:"Configuration (TOML); confetti serve example prints one with every setting." required:"" type:"path" placeholder:"FILE"`
	Check  bool   `help:"Only check the configuration and the files that it names."`
	Verify bool   `help:"Only read what the service keeps, from a copy in the temporary folder, and say what is whole and what is damaged. Stop the service first."`
	New    bool   `help:"Make what the service keeps things in, once: its first start with keys that are older than a day. Where it is lost, respondents could count twice."`
	Alone  bool   `help:"Start where the system has no lock that keeps a second process out: you see to it that there is none."`
}

// ConfigError is a fault in a configuration.
type ConfigError struct{ error }

// Unwrap returns the fault.
func (e *ConfigError) Unwrap() error { return e.error }

// Start reads the configuration into s, and checks, verifies or runs it. The error is a
// *ConfigError where the configuration is at fault.
func (f Flags) Start(s Service, out, logs io.Writer) error {
	if err := serve.ReadConfig(f.Config, s); err != nil {
		return &ConfigError{err}
	}
	if b, ok := s.(interface{ SetBegin(serve.Begin) }); ok {
		b.SetBegin(serve.Begin{New: f.New, Alone: f.Alone})
	}
	log := slog.New(slog.DiscardHandler)
	if !f.Check && !f.Verify {
		log = slog.New(slog.NewTextHandler(logs, nil))
	}
	opened, err := s.Open(log)
	if err != nil {
		return &ConfigError{fmt.Errorf("%s:\n%w", f.Config, err)}
	}
	if f.Check {
		fmt.Fprintf(out, "%s is fine\n", f.Config)
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // asked twice to stop, it dies
	if f.Verify {
		return opened.Verify(ctx, func(whole string) { fmt.Fprintln(out, sanitize.Lines(whole)) })
	}
	return opened.Run(ctx)
}

// Main returns a program that is one service: cli has its flags, and start starts it. The exit
// code is 2 for a fault in what was asked for, the configuration included, and 1 for any
// other failure.
func Main(name, description string, cli any, start func(out, logs io.Writer) error, args []string, out, logs io.Writer) int {
	code, exited := 0, false
	parser, err := kong.New(cli, kong.Name(name), kong.Description(description), kong.Writers(out, logs), once.Given(), kong.Exit(func(n int) { code, exited = n, true }))
	if err != nil {
		panic(name + ": " + err.Error()) // a fault in the struct of the flags
	}
	if _, err = parser.Parse(args); exited {
		return code // --help has printed
	}
	usage := err != nil
	if err == nil {
		err = start(out, logs)
		_, usage = errors.AsType[*ConfigError](err)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(logs, "%s: %s\n", name, sanitize.Lines(err.Error()))
	if usage {
		return 2
	}
	return 1
}
