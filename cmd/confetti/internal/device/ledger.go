package device

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/client/page"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/plan"
)

type Ledger struct {
	Show   ledgerShow   `cmd:"" help:"Show every bit that a device has sent, and how deniable it is."`
	OptIn  ledgerOptIn  `cmd:"" help:"Let the device answer plans."`
	OptOut ledgerOptOut `cmd:"" help:"Let it answer none, and drop what it has not sent yet."`
}

type ledgerShow struct {
	Folder string   `arg:"" help:"The device's folder." type:"path" placeholder:"DIR"`
	Prior  float64  `help:"How firmly somebody believed something of an answer before: a probability." default:"0.5"`
	Policy string   `help:"The administrator's policy file, whose caps count beside the default ones." type:"path" placeholder:"FILE"`
	Plan   string   `help:"A plan, signed or not: say whether it would fit." type:"path" placeholder:"FILE"`
	JSON   bool     `help:"Print JSON." xor:"form"`
	HTML   bool     `help:"Print a page for the person whose device it is." name:"html" xor:"form"`
	Asked  []string `help:"With --html: signed plans that were answered, so that the page says who carried them; those in the folder are read anyway." type:"path" placeholder:"FILE"`
}

func (ledgerShow) Help() string {
	return "Example:\n  confetti ledger show ~/.confetti\n  confetti ledger show ~/.confetti --plan next.toml\n  confetti ledger show ~/.confetti --html"
}

func (c ledgerShow) Run(std terminal.Streams) error {
	if !(c.Prior > 0 && c.Prior < 1) {
		return terminal.Usagef("--prior is %v: give a probability above 0 and below 1", c.Prior)
	}
	l, err := client.ReadLedger(native.Folder{Path: c.Folder})
	if err != nil {
		return err
	}
	all := []client.Caps{client.DefaultCaps}
	if c.Policy != "" {
		p, err := policy.Read(c.Policy)
		if err != nil {
			return err
		}
		if p.Caps != nil {
			all = append(all, *p.Caps)
		}
	}
	var asked *client.Charge
	if c.Plan != "" {
		p, _, _, err := plans.ReadAny(c.Plan)
		if err != nil {
			return err
		}
		var of *plan.Study
		if signed, err := plan.ReadSigned(c.Plan); err == nil { // else it is not signed yet, and no round
			of = signed.Study
		}
		charge, _, err := client.Forecast(p, of)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Plan, err)
		}
		asked = &charge
	}
	left := make([]client.Remaining, len(all))
	for i, caps := range all {
		left[i] = l.Remaining(time.Now(), caps, asked)
	}
	if c.JSON {
		view := ledgerView(l, c.Prior)
		for _, r := range left {
			view.Remaining = append(view.Remaining, shownRemaining{r.Period.String(), r.Cap, r.Shares, r.More})
		}
		view.Forecast = asked
		return terminal.WriteJSON(std.Out, view)
	}
	if c.HTML {
		answered, err := c.answered()
		if err != nil {
			return err
		}
		return page.Write(std.Out, l, page.Options{Prior: c.Prior, Remaining: left, Plans: answered, Off: "confetti ledger opt-out " + c.Folder})
	}
	if err := words.Show(std.Out, l, c.Prior); err != nil {
		return err
	}
	for _, r := range left {
		like := "like the last"
		if asked != nil {
			like = "like the plan of " + c.Plan
		}
		if _, err := fmt.Fprintf(std.Out, "\n%s  left      %s\n", r, r.Left(like)); err != nil {
			return err
		}
	}
	return nil
}

// answered returns the plans in the device's folder, and those that are named.
func (c ledgerShow) answered() ([]plan.Plan, error) {
	kept, err := filepath.Glob(filepath.Join(c.Folder, "*.plan.json"))
	if err != nil {
		return nil, err
	}
	rounds, err := filepath.Glob(filepath.Join(c.Folder, "*.study.json"))
	if err != nil {
		return nil, err
	}
	beside := filepath.Join(c.Folder, "..", "..", trial.Plan) // a trial's devices lie in its folder
	var all []plan.Plan
	for _, path := range append(append(append(kept, rounds...), beside), c.Asked...) {
		signed, err := plan.ReadSigned(path)
		if err != nil && slices.Contains(c.Asked, path) {
			return nil, err
		}
		if err == nil {
			all = append(all, signed.Plan)
		}
	}
	return all, nil
}

// shownRemaining is what is spent of one cap on a period, in JSON.
type shownRemaining struct {
	Period string         `json:"period"`
	Cap    client.Cap     `json:"cap"`
	Shares account.Shares `json:"shares"` // all 0 where epsilon and delta are not both limited
	More   int            `json:"more"`   // plans like the last, or like the forecast, counted up to 1000; negative: none to compare with
}

// shownLedger is a ledger in JSON.
type shownLedger struct {
	OptedIn   bool             `json:"opted_in"`
	Since     time.Time        `json:"since,omitzero"`
	Prior     float64          `json:"prior"`
	Answers   []shownEntry     `json:"answers"`
	Remaining []shownRemaining `json:"caps"`
	// Forecast is what the plan given with --plan would be charged.
	Forecast *client.Charge `json:"forecast,omitempty"`
}

type shownEntry struct {
	At        time.Time     `json:"at"`
	Plan      string        `json:"plan"`
	Title     string        `json:"title"`
	Publisher string        `json:"publisher"`
	Charge    client.Charge `json:"charge"`
	Reused    bool          `json:"reused"`
	Crowd     string        `json:"crowd"`
	Observers []seen        `json:"observers"`
	Said      string        `json:"said,omitempty"` // in words
	Forgotten bool          `json:"forgotten"`
	Parts     []shownPart   `json:"parts"`
}

// seen is what one observer may learn, and how firmly somebody with the prior can believe
// something of the answer afterwards: low and high.
type seen struct {
	Statement account.Statement `json:"statement"`
	Believed  [2]float64        `json:"believed"`
}

type shownPart struct {
	Instance int       `json:"instance"`
	Status   string    `json:"status"`
	Ended    time.Time `json:"ended,omitzero"`
	Reason   string    `json:"reason,omitempty"`
	Messages []string  `json:"messages"` // bodies in hexadecimal
}

func ledgerView(l *client.Ledger, prior float64) shownLedger {
	out := shownLedger{OptedIn: l.OptedIn, Since: l.Since, Prior: prior, Answers: []shownEntry{}}
	for _, e := range l.Entries {
		one := shownEntry{
			At: e.At, Plan: e.Plan, Title: e.Title, Publisher: e.Publisher, Charge: e.Charge,
			Reused: e.Reused, Crowd: e.CrowdName, Said: e.Said, Forgotten: e.Forgotten,
		}
		for _, s := range e.Statements {
			low, high := words.Believed(s.Guarantee, prior)
			one.Observers = append(one.Observers, seen{s, [2]float64{low, high}})
		}
		for _, p := range e.Parts {
			part := shownPart{Instance: p.Instance, Status: string(p.Status), Ended: p.Ended, Reason: p.Reason, Messages: []string{}}
			for _, m := range p.Messages {
				part.Messages = append(part.Messages, hex.EncodeToString(m))
			}
			one.Parts = append(one.Parts, part)
		}
		out.Answers = append(out.Answers, one)
	}
	return out
}

type ledgerOptIn struct {
	Folder string `arg:"" help:"The device's folder; made if it is not there." type:"path" placeholder:"DIR"`
	terminal.Form
}

func (ledgerOptIn) Help() string { return "Example:\n  confetti ledger opt-in ~/.confetti" }

func (c ledgerOptIn) Run(std terminal.Streams) error {
	if err := client.Consent(native.Folder{Path: c.Folder}, true); err != nil {
		return err
	}
	return c.Print(std, consent{c.Folder, true}, "this device answers plans of the publishers that it is told to trust; to stop:\n  confetti ledger opt-out %s\n", c.Folder)
}

// consent is what a device has been told.
type consent struct {
	Folder string `json:"folder"`
	In     bool   `json:"in"`
}

type ledgerOptOut struct {
	Folder string `arg:"" help:"The device's folder." type:"path" placeholder:"DIR"`
	terminal.Form
}

func (ledgerOptOut) Help() string { return "Example:\n  confetti ledger opt-out ~/.confetti" }

func (c ledgerOptOut) Run(std terminal.Streams) error {
	if err := client.Consent(native.Folder{Path: c.Folder}, false); err != nil {
		return err
	}
	return c.Print(std, consent{c.Folder, false}, "this device answers nothing any more; what had not been sent is gone\n")
}
