package releases

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Tables returns what a release of tables tells, from its own folder.
func Tables(dir string) (t results.Crosstabs, err error) {
	p, r, err := planned(dir)
	if err != nil {
		return t, err
	}
	counts, err := atomicfile.Read(filepath.Join(dir, sheets.CountsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	if t, err = results.ReadTables(p, &r, counts); err != nil {
		return t, fmt.Errorf("%s: %w", dir, err)
	}
	return t, nil
}

// planned returns a release with its plan. It refuses a release of another plan, and findings that no release of the plan has.
// It states no guarantee, which takes the accountant.
func planned(dir string) (p plan.Plan, r release.Release, err error) {
	f, err := open(dir)
	if err != nil {
		return p, f.release, err
	}
	err = statement.Titles(f.plan.Plan, &f.release)
	return f.plan.Plan, f.release, f.wrong(err)
}

// Asks returns an experiment for answers that go a route: what its flags and earlier releases say.
func Asks(f flags.Experiment, r flags.Route, b plan.Budget, bits, minimum int) (power.Asked, error) {
	return f.Ask(r, b, bits, minimum, func(m plan.Measure) (k power.Known, err error) {
		t, err := Tables(f.Earlier)
		if err != nil {
			return k, err
		}
		if k, err = t.Known(m); err != nil {
			return k, fmt.Errorf("%s: %w", f.Earlier, err)
		}
		return k, nil
	})
}

// Next returns the next look of an experiment, and the plan of the look before, whose release is in a folder. People are not added
// to a simulation, unless these are simulated too.
func Next(dir string, simulated bool) (power.Asked, plan.Plan, error) {
	p, r, err := planned(dir)
	if err != nil {
		return power.Asked{}, p, err
	}
	e, err := results.NextLook(p, &r)
	switch {
	case err != nil:
		return power.Asked{}, p, fmt.Errorf("%s: %w", dir, err)
	case r.Source == release.Simulation && !simulated:
		return power.Asked{}, p, fmt.Errorf("%s is of a simulation: people cannot be added to it; confetti collect simulate --after can", dir)
	}
	return power.Asked{Plan: e, Minimum: p.Crowd.Minimum, Says: []string{fmt.Sprintf("look %d of at most %d, to be answered by other people than before", e.Look, e.Looks)}}, p, nil
}
