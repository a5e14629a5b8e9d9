package experiments

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/confetti-dp/confetti/simulate"
)

// Runner measures the cells of a spec.
type Runner struct {
	Out   string // folder, made if need be
	Bench Bench
	Tell  simulate.Progress        // of finished cells
	Known []Measured               // cells that need not be measured, beside those of the folder
	stop  func(measured int) error // tests end a run early with it
}

// Outcome counts what a run did.
type Outcome struct {
	Cells    []Measured // all of the spec's, in its order
	Measured int        // now
	Kept     int        // from earlier runs in the folder
	Refused  int        // could not be measured; each says why
}

// Run measures what the folder does not have yet. Cells that share a population
// are measured together, whatever their order in the spec.
func (r Runner) Run(cells []Cell) (Outcome, error) {
	var out Outcome
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return out, err
	}
	kept, err := openStore(r.Out, r.Known)
	if err != nil {
		return out, err
	}
	defer kept.close()
	var missing []Cell
	for _, c := range cells {
		if kept.has(c) {
			out.Kept++
		} else if !slices.Contains(missing, c) {
			missing = append(missing, c)
		}
	}
	// By data set first, so that only one is in memory.
	slices.SortStableFunc(missing, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(r.Bench.Shared(a), r.Bench.Shared(b)))
	})
	for i, c := range missing {
		r.Tell(c.String(), i, len(missing))
		m, err := r.Bench.Measure(c)
		if err != nil {
			return out, fmt.Errorf("%s: %w", c, err)
		}
		if err := kept.put(m); err != nil {
			return out, err
		}
		if m.Result == nil {
			out.Refused++
		} else {
			out.Measured++
		}
		if r.stop != nil {
			if err := r.stop(i + 1); err != nil {
				return out, err
			}
		}
	}
	for _, c := range cells {
		out.Cells = append(out.Cells, kept.done[c.Key()])
	}
	return out, nil
}
