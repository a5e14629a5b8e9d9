package collect

import (
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// publish saves a release with the sheet of what was learned.
func (c collectSimulate) publish(std terminal.Streams, given *kong.Context, r *release.Release, p plan.Plan, learned question.Model, public results.Public) error {
	sheet, err := releases.Sheet(learned, public, r)
	if err != nil {
		return err
	}
	return c.save(std, given, *r, p, sheet)
}

func (c collectSimulate) save(std terminal.Streams, given *kong.Context, r release.Release, p plan.Plan, sheet results.Sheet) error {
	var found []byte
	if c.Audit {
		report, finish := terminal.Progress(std.Err)
		attacked := audit.Of(p, nil, report)
		finish()
		if err := attacked.False(); err != nil { // no release rests on it, as with the analyzer
			return err
		}
		r.Protection, found = append(r.Protection, attacked.Section()), attacked.Marshal() // as it is written again from what stands beside it
	}
	r.Provenance.Software = std.Version
	r.Provenance.Command = terminal.Typed(given.Args)
	if err := releases.Save(std, c.Out, r, p, sheet); err != nil {
		return err
	}
	if found != nil {
		if err := atomicfile.Replace(filepath.Join(c.Out, release.AuditFile), found, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.Err, "simulation: do not publish: it knows the truth, and asked nobody\npage: %s\n", filepath.Join(c.Out, page.PageFile))
	return nil
}

// verdicts returns a release's guarantees, a line for each observer.
func verdicts(r release.Release) (rows []string) {
	for _, s := range r.Guarantees {
		rows = append(rows, fmt.Sprintf("%-20s %s", s.Observer, s.Guarantee.Verdict()))
	}
	return rows
}
