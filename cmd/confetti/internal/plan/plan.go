// Package plan implements confetti plan: authoring, checking, signing, and ending collections. Used by cmd/confetti,
// for authors and publishers of plans.
package plan

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan/describe"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plan/draft"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	New   draft.Command `cmd:"" help:"Author a plan: noise is calibrated to the budget."`
	Check planCheck     `cmd:"" help:"Recompute a plan's promise, and what it costs a device."`
	Show  planShow      `cmd:"" help:"Show a plan in its canonical form, with its name."`

	Sign     planSign     `cmd:"" help:"Sign a plan, as its publisher."`
	Verify   planVerify   `cmd:"" help:"Check a signed plan."`
	Register planRegister `cmd:"" help:"Bring a signed plan to everybody whom it names."`
	Close    planClose    `cmd:"" help:"End a collection before its time."`
	Withdraw planWithdraw `cmd:"" help:"Stop a collection for good, and destroy what was collected."`
}

type planCheck struct {
	File string `arg:"" help:"A plan in TOML or JSON, or a signed one." type:"path"`
	flags.Trust
	Audit bool   `help:"Attack the plan's devices too, before each observer, and print the epsilon found (confetti audit says more)."`
	State string `help:"With --audit: the public state that the plan names." type:"path" placeholder:"FILE"`
	JSON  bool   `help:"Print JSON."`
}

func (planCheck) Help() string {
	return "Fails if the promise does not follow from the plan's numbers, or a signature is not the publisher's who is\nnamed beside it. Whether you trust that publisher is yours to say: with --publishers or --publisher it fails\ntoo where they would not take the plan now.\n\nExample:\n  confetti plan check plan.toml --audit\n  confetti plan check round2.toml --audit --state state.json\n  confetti plan check plan.signed.json"
}

func (c planCheck) Run(std terminal.Streams) error {
	p, study, publisher, err := plans.ReadAny(c.File)
	if err != nil {
		return err
	}
	if err := takes(c.Trust, c.File); err != nil {
		return err
	}
	d, err := describe.Plan(p, study)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	d.Publisher = publisher
	if c.Audit {
		state, err := c.state(p)
		if err != nil {
			return err
		}
		report, finish := terminal.Progress(std.Err)
		d.Audit = audit.Of(p, state, report)
		finish()
	} else if c.State != "" {
		return terminal.Usagef("--state is what an attack is made in: give --audit too")
	}
	if c.JSON {
		err = d.WriteJSON(std.Out)
	} else {
		err = d.Write(std.Out)
	}
	if broken := d.Audit.False(); broken != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", c.File, broken))
	}
	return err
}

// state reads the public state that a plan names, nil where it names none.
func (c planCheck) state(p plan.Plan) ([]byte, error) {
	if c.State == "" {
		if p.State != "" {
			return nil, terminal.Usagef("%s names the public state %.12s: give it by --state", c.File, p.State)
		}
		return nil, nil
	}
	text, err := atomicfile.Read(c.State)
	if err != nil {
		return nil, err
	}
	if plan.StateName(text) != p.State {
		return nil, terminal.Usagef("%s is not the public state that %s names: fetch that one", c.State, c.File)
	}
	return text, nil
}

// takes says why those who are named would not take a plan now.
func takes(f flags.Trust, file string) error {
	if !f.Given() {
		return nil
	}
	trusted, err := f.Trusted()
	if err != nil {
		return err
	}
	signed, err := plans.ReadSigned(file)
	if err != nil {
		return err
	}
	if err := signed.Verify(trusted); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := trusted.Admit(signed, time.Now()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

type planShow struct {
	File string `arg:"" help:"A plan in TOML or JSON, or a signed one." type:"path"`
	JSON bool   `help:"Print the canonical bytes alone."`
}

// canonicalText returns the canonical form and a line's end: to the byte for a file or a
// pipe, with what would command a terminal written out for one.
func canonicalText(p plan.Plan, terminal bool) []byte {
	text := append(p.Canonical(), '\n')
	if terminal {
		return []byte(sanitize.Page(string(text)))
	}
	return text
}

func (planShow) Help() string { return "Example:\n  confetti plan show plan.toml" }

func (c planShow) Run(std terminal.Streams) error {
	p, _, _, err := plans.ReadAny(c.File)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "# %s\n%s", p.Name(), escapeTOML(author.TOML(p)))
	if c.JSON {
		f, file := std.Out.(*os.File)
		text = canonicalText(p, file && terminal.IsTerminal(f))
	}
	_, err = std.Out.Write(text)
	return err
}
