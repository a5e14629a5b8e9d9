// Package device implements confetti submit and ledger: what a device answers, and what it keeps of it. Used by
// cmd/confetti, for developers of apps and for respondents.
package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

type Submit struct {
	File string `arg:"" help:"The answer: a .csv, .jsonl or .npy file with one row, or with --devices several." type:"path"`
	columns

	Dir  string `help:"Folder of confetti up: has everything that is not named below." type:"path" placeholder:"DIR"`
	Plan string `help:"The signed plan: a file, or its address, https://ANALYZER/v1/plans/PLAN, or that of a study." placeholder:"FILE"`
	flags.Trust
	Folder    string         `help:"The device's ledger and spool; with --devices a folder of them." type:"path" placeholder:"DIR"`
	Secret    string         `help:"File for the secret of the ledger's keys, outside the folder, which then tells no value by itself. Without: in the folder." type:"path" placeholder:"FILE"`
	Bearer    string         `help:"File with the device's bearer token; with --devices one a line." type:"path" placeholder:"FILE"`
	Roots     string         `help:"PEM file of the services' authorities; the system's without it." type:"path" placeholder:"FILE"`
	Policy    string         `help:"The administrator's policy (JSON)." type:"path" placeholder:"FILE"`
	Operators []string       `name:"trust" help:"Operators that you trust: the answer goes only through an instance that one of them has a hop in. Which instance it was is public." placeholder:"OPERATOR"`
	Prefer    []string       `help:"Operators that you would rather take: of the instances that are left, those that one of them has a hop in, if there are any." placeholder:"OPERATOR"`
	Delay     *time.Duration `help:"The longest that an answer waits here after its token was asked for: each a random part of it. Without: 1h where the plan demands tokens, 0 in a trial. With 0, issuer and entry can tell by time whose an answer is." placeholder:"TIME"`
	Devices   bool           `help:"For trials: every row is a device of its own, which opts in."`
	JSON      bool           `help:"Print JSON."`

	through func() *native.Transport // by Roots
}

func (Submit) Help() string {
	return `Refuses, with a reason, a plan that no named publisher signed, whose promise does
not follow from its numbers, or that would spend more than a device may. A device
must have opted in: confetti ledger opt-in. What cannot be sent now waits in the
folder and goes with the next submit; so does an answer whose random delay is not
over when the command is stopped.

` + answersHelp + `

Example:
  confetti submit answer.csv --dir trial
  confetti submit answer.csv --plan https://analyzer.example/v1/plans/b842e62c60808415850e3f02336c80ac9693491445b06280e444feaa0cc6965f --publisher ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w --folder device
  confetti submit answers.csv --dir trial --devices`
}

func (c Submit) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	signed, o, bearers, err := c.options(ctx)
	if err != nil {
		return err
	}
	if c.Missing == "skip" && !c.Devices {
		return terminal.Usagef("--missing skip would keep a device silent, which tells others that it lacks a value: give --missing value=TEXT")
	}
	values, notes, err := c.answers(c.File, signed.Plan)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	if len(values) > 1 && !c.Devices {
		return terminal.Usagef("%s has %d answers and a device gives one: give one row, or for a trial --devices", c.File, len(values))
	}
	if len(values) > len(bearers) {
		return terminal.Usagef("%s has %d answers for %s with a token: leave out rows, or give more devices tokens", c.File, len(values), serve.Count(len(bearers), "device", "devices"))
	}
	if c.Delay != nil && *c.Delay < 0 {
		return terminal.Usagef("--delay is negative: give 0 or more")
	}
	if !c.addressed() {
		if signed, o, err = inStudy(ctx, signed, o); err != nil {
			return err
		}
	}
	c.sayDelay(std, signed.Plan, o)
	if !c.Devices {
		return c.one(ctx, std, signed, o, values[0])
	}
	return c.many(ctx, std, signed, o, bearers, values)
}

// options returns those of the one device, or the first, and the tokens of all.
func (c *Submit) options(ctx context.Context) (signed plan.Signed, o client.Options, bearers []string, err error) {
	if c.Dir != "" {
		t := trial.Folder(c.Dir)
		key, _, err := partykey.ReadSigning(t.Path(trial.Publisher))
		if err != nil {
			return signed, o, nil, err
		}
		c.Plan, c.Roots, c.Bearer = cmp.Or(c.Plan, t.Path(trial.Plan)), cmp.Or(c.Roots, t.Path(trial.Roots)), cmp.Or(c.Bearer, t.Path(trial.Devices))
		if c.Publishers == "" {
			c.Publisher = append(c.Publisher, key.Public().String())
		}
		if c.Folder == "" {
			c.Folder = t.Path(trial.Simulated)
			if !c.Devices {
				c.Folder = device(c.Folder, 0)
			}
		}
	}
	if c.Plan == "" || c.Folder == "" || !c.Given() {
		return signed, o, nil, terminal.Usagef("name --plan, --publisher and --folder, or with --dir a trial")
	}
	trusted, err := c.Trusted()
	if err != nil {
		return signed, o, nil, err
	}
	if c.addressed() && c.Devices {
		return signed, o, nil, terminal.Usagef("--plan: an address is for one device: with --devices name the file")
	}
	if !c.addressed() {
		if signed, err = plans.ReadSigned(c.Plan); err != nil {
			return signed, o, nil, err
		}
	}
	bearers = []string{""}
	if c.Bearer != "" {
		if strings.HasPrefix(filepath.Base(c.Bearer), "cft_") { // it is not repeated
			return signed, o, nil, terminal.Usagef("--bearer takes a file, and this is a token: everybody on this machine sees a command line, so put the token into a file of yours")
		}
		lines, err := table.ReadLines(c.Bearer)
		if err != nil {
			return signed, o, nil, fmt.Errorf("--bearer: %w", err)
		}
		bearers = strings.Fields(strings.Join(lines, "\n"))
	}
	if c.Secret != "" && c.Devices {
		return signed, o, nil, terminal.Usagef("--secret is one device's: leave out --devices")
	}
	if err := c.reached(); err != nil {
		return signed, o, nil, err
	}
	o = client.Options{
		Publishers: trusted, Store: native.Folder{Path: c.Folder, Secret: c.Secret}, Transport: c.through(), Bearer: bearers[0], Delay: c.delay(),
		Operators: client.Operators{Trust: c.Operators, Prefer: c.Prefer},
	}
	if c.Policy != "" {
		o.Policy = policy.File(c.Policy)
	}
	o.Wait = longest(o) + patience
	if c.addressed() {
		signed, o, err = client.FetchURL(ctx, c.Plan, o)
	}
	return signed, o, bearers, err
}

// reached reads whom services are known by.
func (c *Submit) reached() error {
	if c.Roots == "" {
		c.through = func() *native.Transport { return &native.Transport{} }
		return nil
	}
	pool, check, err := serve.ReadRoots(c.Roots)
	c.through = func() *native.Transport { return &native.Transport{Roots: pool, Check: check} }
	return err
}

// addressed: the plan is fetched.
func (c Submit) addressed() bool { return strings.HasPrefix(c.Plan, "https://") }

// inStudy returns the newest round of the study that a plan is of, and the state that it
// asks with.
func inStudy(ctx context.Context, signed plan.Signed, o client.Options) (plan.Signed, client.Options, error) {
	analyzer := signed.Plan.Analyzer.URL
	if signed.Study != nil && analyzer != "" {
		newest, err := client.FetchRound(ctx, analyzer, signed.Study.Hash(), o)
		if err != nil {
			return signed, o, err
		}
		signed = newest
	}
	state, err := client.FetchState(ctx, analyzer, signed.Plan, o)
	o.State = state
	return signed, o, err
}

// delay returns what was asked for, and none in a trial.
func (c Submit) delay() time.Duration {
	switch {
	case c.Delay == nil && !c.trial():
		return 0 // the default
	case c.Delay == nil || *c.Delay == 0:
		return client.NoDelay
	}
	return *c.Delay
}

// trial: all roles are in the hands of whoever tries them out.
func (c Submit) trial() bool { return c.Dir != "" || c.Devices }

// patience is how long a command waits for services that are away or busy.
const patience = 15 * time.Second

// longest returns the delay of an answer to a plan that demands tokens, at most.
func longest(o client.Options) time.Duration {
	if o.Delay == 0 {
		return client.DefaultDelay
	}
	return max(0, o.Delay)
}

// sayDelay tells whoever waits why.
func (c Submit) sayDelay(std terminal.Streams, p plan.Plan, o client.Options) {
	switch {
	case c.Delay == nil && c.trial():
		fmt.Fprintln(std.Err, "a trial: answers go out at once (--delay 0), so that their times tell whose they are")
	case longest(o) > 0 && (c.Delay != nil || p.Route.Issuer() != nil):
		fmt.Fprintf(std.Err, "the answer waits here for a random part of %v, so that its time does not tell whose it is; stop and submit again later if you like\n", longest(o))
	}
}

func device(folder string, i int) string {
	return filepath.Join(folder, fmt.Sprintf("device-%06d", i+1))
}

// report answers as one device, and says whether the answer fits. That it does not is
// no error: whoever sees a script fail would learn of the value.
func report(ctx context.Context, signed plan.Signed, o client.Options, v question.Value) (_ client.Charge, unfit, err error) {
	c, err := client.Open(signed, o)
	if err != nil {
		return client.Charge{}, nil, err
	}
	defer c.Close()
	err = c.Report(ctx, v)
	if unfit = c.Unfit(); unfit != nil && err == unfit {
		err = nil
	}
	return c.Charge(), unfit, err
}

func (c Submit) one(ctx context.Context, std terminal.Streams, signed plan.Signed, o client.Options, v question.Value) error {
	charge, unfit, err := report(ctx, signed, o, v)
	if errors.Is(err, client.ErrNotOptedIn) {
		return fmt.Errorf("%w: confetti ledger opt-in %s", err, c.Folder)
	}
	if err != nil {
		return err
	}
	if unfit != nil {
		fmt.Fprintf(std.Err, "%v\n", unfit)
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Plan   string        `json:"plan"`
			Charge client.Charge `json:"charge"`
			Fits   bool          `json:"fits"` // whether the plan has room for the answer, or what it has for such an answer was sent
		}{signed.Plan.Name(), charge, unfit == nil})
	}
	_, err = fmt.Fprintf(std.Out, "answered: spent %s; to see what was said:\n  confetti ledger show %s\n", account.Verdict(&charge.Epsilon, charge.Delta, account.Replacement), c.Folder)
	return err
}

// atOnce is how many simulated devices are busy at the same time: most of it is
// waiting for services.
const atOnce = 16

// outcome is what became of many devices.
type outcome struct {
	Plan     string `json:"plan"`
	Sent     int    `json:"sent"`
	Waiting  int    `json:"waiting"`  // on their devices, to be sent later
	Answered int    `json:"answered"` // had answered before
	Refused  int    `json:"refused"`
	Others   int    `json:"other_rounds,omitempty"` // of a study: answer another round of it
	Unfit    int    `json:"unfit"`                  // of those sent or waiting: what the plan has for a value that does not fit
}

func (c Submit) many(ctx context.Context, std terminal.Streams, signed plan.Signed, o client.Options, bearers []string, values []question.Value) error {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return err
	}
	var (
		mu      sync.Mutex
		done    int
		out     = outcome{Plan: signed.Plan.Name()}
		failure error // the first
		workers sync.WaitGroup
	)
	show, finish := terminal.Progress(std.Err)
	rows := make(chan int)
	for range min(atOnce, len(values)) {
		workers.Go(func() {
			for i := range rows {
				one := o
				one.Store, one.Transport, one.Bearer = native.Folder{Path: device(c.Folder, i)}, c.through(), bearers[i]
				var unfit error
				err := client.Consent(one.Store, true)
				if err == nil {
					_, unfit, err = report(ctx, signed, one, values[i])
				}
				mu.Lock()
				out.count(err, unfit)
				var other *client.OtherRoundError
				if err != nil && failure == nil && !errors.Is(err, client.ErrAnswered) && !errors.As(err, &other) {
					failure = fmt.Errorf("answer %d: %w", i+1, err)
				}
				done++
				show("submit", done, len(values))
				mu.Unlock()
			}
		})
	}
	for i := range values {
		if ctx.Err() != nil {
			break
		}
		rows <- i
	}
	close(rows)
	workers.Wait()
	finish()
	var err error
	if c.JSON {
		err = terminal.WriteJSON(std.Out, out)
	} else {
		_, err = fmt.Fprintf(std.Out, "%d answers sent, %d wait to be sent, %d devices had answered before, %d refused\n", out.Sent, out.Waiting, out.Answered, out.Refused)
		if out.Others > 0 {
			fmt.Fprintf(std.Out, "%d devices answer another round of the study\n", out.Others)
		}
		if out.Unfit > 0 {
			fmt.Fprintf(std.Out, "%d of the answers did not fit the plan: their devices sent what it has for such an answer\n", out.Unfit)
		}
	}
	return errors.Join(err, failure, ctx.Err())
}

func (o *outcome) count(err, unfit error) {
	var waiting *client.WaitingError
	var other *client.OtherRoundError
	if unfit != nil {
		o.Unfit++
	}
	switch {
	case err == nil:
		o.Sent++
	case errors.As(err, &waiting):
		o.Waiting++
	case errors.Is(err, client.ErrAnswered):
		o.Answered++
	case errors.As(err, &other):
		o.Others++
	default:
		o.Refused++
	}
}
