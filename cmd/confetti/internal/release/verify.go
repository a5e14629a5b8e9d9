package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release/verify"
)

type releaseVerify struct {
	From string `arg:"" help:"The folder that release fetch wrote, or the address of the release: https://ANALYZER/v1/releases/PLAN." placeholder:"DIR"`
	flags.Trust
	Roots string `help:"PEM file of the analyzer's authorities; the system's without it." type:"path" placeholder:"FILE"`
	Audit bool   `help:"Draw the collections of the release's audit again, which takes some half a minute, and compare."`
	JSON  bool   `help:"Print JSON."`
}

func (releaseVerify) Help() string {
	return `Recomputes the promise from the signed plan's numbers and for those who really
answered, and checks the publisher's signature and the receipts that the hops
signed for the batches that were counted.

` + verify.Shows + `

Example:
  confetti release verify release
  confetti release verify https://analyzer.example:8443/v1/releases/b842e62c60808415850e3f02336c80ac9693491445b06280e444feaa0cc6965f`
}

func (c releaseVerify) Run(std terminal.Streams) error {
	e, err := c.evidence()
	if err != nil {
		return err
	}
	if e.Trusted, err = c.expected(); err != nil {
		return err
	}
	if c.Audit {
		e.Again = again(e.State)
	}
	found, err := verify.Release(e)
	if err != nil {
		return fmt.Errorf("%s: %w", c.From, err)
	}
	bad := found.Failed()
	if c.JSON {
		err = terminal.WriteJSON(std.Out, struct {
			Holds bool `json:"holds"`
			verify.Report
		}{bad == 0, found})
	} else {
		err = tell(std.Out, found)
	}
	if err == nil && bad > 0 {
		return fmt.Errorf("of %s %d did not hold", serve.Count(len(found.Findings), "check", "checks"), bad)
	}
	return err
}

// expected are the publishers whom somebody expects; nil: nobody is named.
func (c releaseVerify) expected() (*plan.Publishers, error) {
	if c.Publishers != "" {
		trusted, err := c.Trusted()
		return &trusted, err
	}
	trusted, err := verify.Expected(strings.Join(c.Publisher, "\n"))
	if err == nil && trusted == nil && c.Given() {
		err = errors.New("--publisher names nobody")
	}
	if err != nil {
		return nil, terminal.Usage(err)
	}
	return trusted, nil
}

func tell(out io.Writer, found verify.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range found.Findings {
		mark := "holds"
		if !f.Holds {
			mark = "DOES NOT"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.What, mark, plain.Text(f.Says))
	}
	for _, u := range found.Unchecked {
		fmt.Fprintf(w, "%s\tnot checked\t%s\n", u.What, plain.Text(u.Why))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", verify.Shows)
	return err
}

// again draws the collections of an audit again.
func again(state func(to io.Writer, name string) error) func(plan.Plan, audit.Report) error {
	return func(p plan.Plan, report audit.Report) error {
		var text []byte
		if p.State != "" {
			var b bytes.Buffer
			if err := state(&b, p.State); err != nil {
				return err
			}
			text = b.Bytes()
		}
		return report.Same(audit.Of(p, text, func(string, int, int) {}))
	}
}
