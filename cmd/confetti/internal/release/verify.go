package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

type releaseVerify struct {
	From string `arg:"" help:"The folder that release fetch wrote, or the address of the release: https://ANALYZER/v1/releases/PLAN." placeholder:"DIR"`
	flags.Trust
	Plan  string `help:"Name of the plan that you expect, in the place of its publisher." placeholder:"HASH"`
	Log   string `help:"Address of a public log, which says whether the plan was withdrawn since and whether it has another release." placeholder:"URL"`
	Page  string `help:"Write the page that this program makes of the release, if it holds: the one to read." type:"path" placeholder:"OUT"`
	Roots string `help:"PEM file of the authorities of the analyzer and of the log; the system's without it." type:"path" placeholder:"FILE"`
	Audit bool   `help:"Draw the collections of the release's audit again, which takes some half a minute, and compare."`
	JSON  bool   `help:"Print JSON."`
}

func (releaseVerify) Help() string {
	return `Recomputes the promise from the signed plan's numbers and for those who really
answered, and checks the signatures of the publisher, of the hops for the batches
that were counted, and of the analyzer for the numbers. It ends with what no check
can show. Exit code 3 says that it holds, and that nobody said whose plan is
expected. A table's counts are signed by nobody: say their plan's name (--plan).

Example:
  confetti release verify release --publishers publishers.txt --log https://log.example
  confetti release verify https://analyzer.example:8443/v1/releases/b842e62c60808415850e3f02336c80ac9693491445b06280e444feaa0cc6965f`
}

func (c releaseVerify) Run(std terminal.Streams) error {
	if c.Plan != "" {
		if name, err := hex.DecodeString(c.Plan); err != nil || len(name) != sha256.Size {
			return terminal.Usagef("--plan is a plan's name, the 64 hexadecimal digits that plan check prints, and no file")
		}
	}
	e, err := c.evidence(std)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no release at %s: name its folder, or the address where it is published: %w", c.From, err)
	} else if err != nil {
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
	if err == nil && c.Page != "" {
		err = c.draw(e)
	}
	if err == nil && !found.Expected {
		return terminal.Unfinishedf("it holds for whoever made it: say whose plan you expect (--publisher, --publishers, --plan; of a table --plan alone), from elsewhere than the release")
	}
	return err
}

// draw writes the page of a release that holds.
func (c releaseVerify) draw(e verify.Evidence) error {
	signed, err := releases.Plan(e.Files[verify.SignedFile], e.Files[verify.PlanFile])
	if err != nil {
		return err
	}
	text, err := e.Draw(signed, e.Files[release.JSONFile], e.Files[release.AuditFile])
	if err != nil {
		return err
	}
	return atomicfile.Replace(c.Page, text, 0o644)
}

// expected returns the publishers whom somebody expects; nil: nobody is named.
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
	for _, line := range found.First {
		fmt.Fprintln(out, sanitize.Text(line))
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range found.Findings {
		mark := "holds"
		if !f.Holds {
			mark = "DOES NOT"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.What, mark, sanitize.Text(f.Says))
	}
	for _, u := range found.Unchecked {
		fmt.Fprintf(w, "%s\tnot checked\t%s\n", u.What, sanitize.Text(u.Why))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", found.Shows)
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
