// Package up implements confetti-server up: every role on this machine, to try things out. Used by
// cmd/internal/server, for whoever begins.
package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/rounds"
	"github.com/confetti-dp/confetti/cmd/internal/server/roles"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	Dir     string         `arg:"" help:"Folder of the trial; made at first, taken up again later." type:"path" placeholder:"DIR"`
	Plan    string         `help:"Collect for this plan (TOML or JSON) instead of the sample; its keys, addresses and times are replaced. A folder that has a trial takes its own plan alone." type:"path" xor:"asked" placeholder:"FILE"`
	State   string         `help:"Public state that the plan names, such as clusters." type:"path" placeholder:"FILE"`
	Closes  *time.Duration `help:"How long the collection is open; 15m without it." placeholder:"15m"`
	Devices *int           `help:"Devices that get a token; 200 without it." placeholder:"200"`
	Route   string         `help:"How the sample's answers travel: mix, through two hops, or sum, in shares to two aggregators." enum:",mix,sum" default:"" placeholder:"mix"`

	Ask     string   `help:"Ask this of the people in a room, instead of the sample: a screen with a QR code, and a page for phones on the network." xor:"asked" placeholder:"QUESTION"`
	Answers []string `help:"With --ask: what can be chosen, such as tea,coffee,mate." placeholder:"WORDS"`
	People  int      `help:"With --ask: the fewest people of whom a result is shown." placeholder:"N"`

	named  string // with --ask: the address of --lan, if one was given
	places int    // with --ask: the least number of devices

	Open bool   `help:"Show the trial in a browser too, as a live poll: a screen for the room, and a page on which phones answer."`
	LAN  string `help:"With --open: let phones on the network in, at this address of this machine. Without it the pages are this machine's alone." name:"lan" placeholder:"ADDRESS"`

	Origin []string `help:"Let pages of this origin answer, such as http://localhost:8000; once for each." placeholder:"URL"`

	Rounds int `help:"Ask in so many rounds at most, one after the other by themselves (a study), each open as long as --closes says; 0: once." default:"0" placeholder:"N"`
	rounds.Terms
	terminal.Form
}

func (Command) Help() string {
	return `Starts shufflers or aggregators, analyzer and token issuer in one process on this machine,
with keys, certificates and tokens of their own, until it is interrupted. A
trial shows how it works and is no collection: one operator has all the keys.
What a trial was made with it keeps: taken up again, it refuses other devices,
times, routes and states, and other words of --ask.

Example:
  confetti-server up trial --closes 10m
  confetti-server up summed --route sum --devices 500
  confetti-server up paged --origin http://localhost:8000
  confetti-server up poll --ask "What do you drink?" --answers tea,coffee,mate --people 12`
}

func (c Command) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	return c.RunUntil(ctx, std)
}

// RunUntil runs the trial until the context ends.
func (c Command) RunUntil(ctx context.Context, std terminal.Streams) error {
	t := trial.Folder(c.Dir)
	if err := c.settlePoll(t); err != nil {
		return err
	}
	if _, err := c.lanAddress(); err != nil {
		return err
	}
	if err := serve.CheckOrigins(c.Origin); err != nil {
		return terminal.Usage(fmt.Errorf("--origin: %w", err))
	}
	if _, err := os.Stat(t.Path(trial.Plan)); errors.Is(err, os.ErrNotExist) {
		if err := c.Make(t); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	signed, err := plans.ReadSigned(t.Path(trial.Plan))
	if err != nil {
		return err
	}
	if err := errors.Join(c.asksAnother(t, signed), c.another(t, signed)); err != nil {
		return err
	}
	asked, err := c.readApp(t)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(t.Path(trial.Log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
	for _, p := range plans.Parties(signed.Plan) {
		service, err := roles.Load(p.Role, t.Config(p), std.Version)
		if err != nil {
			return err
		}
		running.Go(func() {
			opened, err := service.Open(logger.With("operator", p.Name))
			if err == nil {
				err = opened.Run(ctx)
			}
			if err != nil {
				if errors.Is(err, syscall.EADDRINUSE) {
					err = fmt.Errorf("%w: is the trial running already? start another one in another folder", err)
				}
				fail(fmt.Errorf("%s: %w", p.Name, err))
			}
		})
	}
	err = c.attend(ctx, std, logger, t, signed, asked)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause // the service's own error, rather than that it was out of reach
	}
	if ctx.Err() != nil {
		return nil // somebody has stopped it
	}
	return err
}

// attend waits until all services answer, gives them the plan, tells what to do
// next, and says when there is a release.
func (c Command) attend(ctx context.Context, std terminal.Streams, log *slog.Logger, t trial.Folder, signed plan.Signed, asked app) error {
	result := std
	std.Out = c.Words(std)
	s, err := services.Operator{Flags: services.Flags{Dir: string(t)}}.Open()
	if err != nil {
		return err
	}
	defer s.Close()
	for _, p := range plans.Parties(signed.Plan) {
		if err := s.Await(ctx, p); err != nil {
			return err
		}
	}
	told, err := s.Progress(ctx, signed) // an error where it is not registered yet
	over := !time.Now().Before(signed.Plan.Times.Closes) || err == nil && told.Status != progress.Open
	if !over {
		state := ""
		if signed.Plan.State != "" && (signed.Plan.Round == nil || signed.Plan.Round.Number == 1) {
			state = t.Path(trial.State)
		}
		if err := s.Register(ctx, io.Discard, signed, state); err != nil {
			return err
		}
	}
	if signed.Study != nil && !over {
		if err := rounds.Costs(std.Out, signed); err != nil {
			return err
		}
	}
	if c.Ask != "" {
		introducePoll(t, std.Out, signed.Plan, over)
	} else {
		introduce(t, std.Out, signed, over)
		link, err := s.WebLink(ctx, signed.Plan.Analyzer.URL)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "In a browser, which the link lets in once and which does not know the trial's authority (%s):\n  %s\n", t.Path(trial.Roots), link)
		if !over {
			asked.write(t, std.Out)
		}
	}
	if c.Open {
		ctx, stop := context.WithCancel(ctx)
		room, done, err := c.open(ctx, std, log, t, signed, s)
		if err != nil {
			stop()
			return err
		}
		defer done()
		defer stop() // before that
		asked.Room = room
	}
	if err := c.Print(result, asked, ""); err != nil {
		return err
	}
	decided, over := false, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		told, err := s.Progress(ctx, signed)
		if err == nil && !told.Decided.IsZero() && !decided {
			decided = true
			conclude(t, std.Out, told)
		}
		if err == nil && told.Over != "" && !over {
			over = true
			fmt.Fprintf(std.Out, "\nThe study is over after round %d: %s.\n", told.Round, sanitize.Text(told.Over))
		}
		if next, err := s.NextRound(ctx, signed); err == nil && next != nil {
			if err := keep(t, *next); err != nil {
				return err
			}
			signed, decided = *next, false
			fmt.Fprintf(std.Out, "\nRound %d of %d has begun and closes at %s.\n", signed.Plan.Round.Number, signed.Study.Rounds, local(signed.Plan.Times.Closes))
		}
	}
}

// keep makes a round the trial's plan, and leaves it under its number.
func keep(t trial.Folder, round plan.Signed) error {
	text := append(round.Marshal(), '\n')
	return errors.Join(atomicfile.Replace(t.Round(round.Plan.Round.Number), text, 0o600), atomicfile.Replace(t.Path(trial.Plan), text, 0o600))
}

func local(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05 -07:00") }

// introduce says what runs and what to type next.
func introduce(t trial.Folder, out io.Writer, signed plan.Signed, over bool) {
	p := signed.Plan
	fmt.Fprintf(out, "A trial is up in %s, with one operator for everything: it hides nothing from whoever runs it.\n\n", t)
	for _, party := range plans.Parties(p) {
		fmt.Fprintf(out, "  %-26s %s\n", party.Name, party.URL)
	}
	needs := serve.Count(p.Crowd.Minimum, "respondent", "respondents")
	if p.Crowds() > 1 {
		needs += fmt.Sprintf(" in each of %d crowds", p.Crowds())
	}
	fmt.Fprintf(out, "\nIt asks: %s\nIt needs %s.\n", sanitize.Text(p.Title), needs)
	if over {
		fmt.Fprintf(out, "The collection has closed. For another one, start a trial in another folder.\n")
		return
	}
	if study := signed.Study; study != nil {
		takes := "every round"
		if study.Takes == plan.TakesOne {
			takes = "one round, which it draws"
		}
		fmt.Fprintf(out, "It is a study of at most %d rounds. A device answers %s. This is round %d; %s has the newest.\n", study.Rounds, takes, p.Round.Number, t.Path(trial.Plan))
	}
	fmt.Fprint(out, scarce(t, signed))
	fmt.Fprintf(out, "The collection closes at %s.\n\nNow type, in another terminal:\n", local(p.Times.Closes))
	if _, err := os.Stat(t.Path(trial.Values)); err == nil {
		fmt.Fprintf(out, "  confetti submit %s --dir %s --devices\n", t.Path(trial.Values), t)
	} else {
		fmt.Fprintf(out, "  confetti submit VALUES.csv --dir %s --devices\n", t)
	}
	fmt.Fprintf(out, "and, not to wait for the end:\n  confetti plan close --dir %s\nTo watch:\n  confetti top --dir %s\n", t, t)
}

// scarce says that too few devices have a token for anything to be released, which would be told
// after closing otherwise; "" where they are enough. Of a study whose devices draw their round some
// are to spare.
func scarce(t trial.Folder, signed plan.Signed) string {
	text, err := atomicfile.Read(t.Path(trial.Devices))
	if err != nil {
		return ""
	}
	there, needed := strings.Count(string(text), "\n"), signed.Plan.Crowd.Minimum*signed.Plan.Crowds()
	drawn, so := "", "nothing will be released"
	if s := signed.Study; s != nil && s.Takes == plan.TakesOne && s.Rounds > 1 {
		needed, drawn = needed*s.Rounds*5/4, fmt.Sprintf(", which draw one of %d rounds each", s.Rounds)
		so = "rounds are likely to be withheld"
	}
	if there >= needed {
		return ""
	}
	return fmt.Sprintf("Only %d devices have a token%s: too few, and %s. Start another trial, in another folder, with --devices %d or more.\n", there, drawn, so, needed)
}

// conclude says what became of the collection.
func conclude(t trial.Folder, out io.Writer, told progress.Progress) {
	if told.Status == progress.Withheld {
		fmt.Fprintf(out, "\nThe collection is closed, and nothing is released: %s\n", sanitize.Text(told.Reason))
		return
	}
	fmt.Fprintf(out, "\nThe collection is released. Now type:\n  confetti release fetch --dir %s --out %s\n", t, filepath.Join(string(t), "release"))
}
