package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	analyzer "github.com/confetti-dp/confetti/analyzer/service"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/issuer"
	"github.com/confetti-dp/confetti/plan"
	shuffler "github.com/confetti-dp/confetti/shuffler/service"
)

type upCommand struct {
	Dir     string        `arg:"" help:"Folder of the trial; made at first, taken up again later." type:"path"`
	Plan    string        `help:"Collect for this plan (TOML or JSON) instead of the sample; its keys, addresses and times are replaced." type:"path" placeholder:"FILE"`
	Closes  time.Duration `help:"How long the collection is open." default:"15m"`
	Devices int           `help:"Devices that get a token." default:"200"`
}

func (upCommand) Help() string {
	return `Starts shufflers, analyzer and token issuer in one process on this machine,
with keys, certificates and tokens of their own, until it is interrupted. A
trial shows how it works and is no collection: one operator has all the keys.

Example:
  confetti up trial --closes 10m`
}

func (c upCommand) Run(std streams) error {
	ctx, stop := untilStopped()
	defer stop()
	return c.run(ctx, std)
}

// run is the trial until the context ends.
func (c upCommand) run(ctx context.Context, std streams) error {
	t := trial(c.Dir)
	if _, err := os.Stat(t.path(trialPlan)); errors.Is(err, os.ErrNotExist) {
		if err := c.make(t); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	signed, err := readSigned(t.path(trialPlan))
	if err != nil {
		return err
	}
	log, err := os.OpenFile(t.path(trialLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var running sync.WaitGroup
	defer running.Wait()
	defer fail(nil) // before the wait
	logger := slog.New(slog.NewTextHandler(log, nil))
	for _, p := range parties(signed.Plan) {
		run, err := t.load(p)
		if err != nil {
			return err
		}
		running.Go(func() {
			if err := run.Run(ctx, logger.With("operator", p.name)); err != nil {
				if errors.Is(err, syscall.EADDRINUSE) {
					err = fmt.Errorf("%w: is the trial running already? start another one in another folder", err)
				}
				fail(fmt.Errorf("%s: %w", p.name, err))
			}
		})
	}
	err = c.attend(ctx, std, t, signed)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause // the service's own error, rather than that it was out of reach
	}
	if ctx.Err() != nil {
		return nil // somebody has stopped it
	}
	return err
}

// load reads a party's configuration, the same as a service of its own would have.
func (t trial) load(p party) (operated, error) {
	var c operated
	switch p.role {
	case "shuffler":
		c = &shuffler.Config{}
	case "analyzer":
		c = &analyzerRun{}
	case "issuer":
		c = &issuer.Config{}
	}
	return c, serve.ReadConfig(t.config(p), c)
}

// attend waits until all services answer, gives them the plan, tells what to do
// next, and says when there is a release.
func (c upCommand) attend(ctx context.Context, std streams, t trial, signed plan.Signed) error {
	s, err := serviceFlags{Dir: string(t)}.open()
	if err != nil {
		return err
	}
	defer s.close()
	for _, p := range parties(signed.Plan) {
		if err := s.await(ctx, p); err != nil {
			return err
		}
	}
	state, err := s.progress(ctx, signed) // an error where it is not registered yet
	over := !time.Now().Before(signed.Plan.Times.Closes) || err == nil && state.State != analyzer.Open
	if !over {
		if err := s.register(ctx, io.Discard, signed); err != nil {
			return err
		}
	}
	t.introduce(std.out, signed, over)
	link, err := s.webLink(ctx, signed.Plan.Analyzer.URL)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "In a browser, which the link lets in once and which does not know the trial's authority (%s):\n  %s\n", t.path(trialRoots), link)
	decided := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		if state, err := s.progress(ctx, signed); err == nil && !state.Decided.IsZero() && !decided {
			decided = true
			t.conclude(std.out, state)
		}
	}
}

// await returns when the service answers.
func (s *services) await(ctx context.Context, p party) error {
	for {
		_, err := s.get(ctx, p.url+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// progress asks the analyzer how a plan is getting on.
func (s *services) progress(ctx context.Context, signed plan.Signed) (state analyzer.Progress, err error) {
	text, err := s.get(ctx, signed.Plan.Analyzer.URL+wire.StatusPath(signed.Plan.Hash()))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	return state, err
}

// introduce says what runs and what to type next.
func (t trial) introduce(out io.Writer, signed plan.Signed, over bool) {
	p := signed.Plan
	fmt.Fprintf(out, "A trial is up in %s, with one operator for everything: it hides nothing from whoever runs it.\n\n", t)
	for _, party := range parties(p) {
		fmt.Fprintf(out, "  %-26s %s\n", party.name, party.url)
	}
	needs := serve.Count(p.Crowd.Minimum, "respondent", "respondents")
	if p.Crowds() > 1 {
		needs += fmt.Sprintf(" in each of %d crowds", p.Crowds())
	}
	fmt.Fprintf(out, "\nIt asks: %s\nIt needs %s.\n", plain.Text(p.Title), needs)
	if over {
		fmt.Fprintf(out, "The collection has closed. For another one, start a trial in another folder.\n")
		return
	}
	fmt.Fprintf(out, "The collection closes at %s.\n\nNow type, in another terminal:\n", p.Times.Closes.Local().Format("2006-01-02 15:04:05 -07:00"))
	if _, err := os.Stat(t.path(trialValues)); err == nil {
		fmt.Fprintf(out, "  confetti submit %s --dir %s --devices\n", t.path(trialValues), t)
	} else {
		fmt.Fprintf(out, "  confetti submit VALUES.csv --dir %s --devices\n", t)
	}
	fmt.Fprintf(out, "and, not to wait for the end:\n  confetti plan close --dir %s\nTo watch:\n  confetti top --dir %s\n", t, t)
}

// conclude says what became of the collection.
func (t trial) conclude(out io.Writer, state analyzer.Progress) {
	if state.State == analyzer.Withheld {
		fmt.Fprintf(out, "\nThe collection is closed, and nothing is released: %s\n", plain.Text(state.Reason))
		return
	}
	fmt.Fprintf(out, "\nThe collection is released. Now type:\n  confetti release fetch --dir %s --out %s\n", t, filepath.Join(string(t), "release"))
}
