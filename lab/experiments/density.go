package experiments

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
)

// Density is what a plan of a density question leaves open, in the plan's words, and what
// is measured of it.
type Density struct {
	Kernel       plan.Kernel          `json:"kernel"`                // without its seed, which follows from the cell's
	Repetitions  int                  `json:"repetitions,omitempty"` // 0: the dimension, as in KDE; kernels that hold a whole value take 1
	Bitsum       string               `json:"bitsum"`                // one of Bitsums
	Accounting   calibrate.Accounting `json:"accounting"`
	Epsilon      float64              `json:"epsilon"`
	Delta        float64              `json:"delta"`
	LabelEpsilon float64              `json:"label_epsilon,omitempty"` // 0: labels are sent as they are
	LocalEpsilon float64              `json:"local_epsilon,omitempty"` // of bits and label though everyone colludes: beside Epsilon, or instead of it; 0: no limit
	Queries      int                  `json:"queries,omitempty"`       // test records at which densities are compared with the exact ones
	Words        int                  `json:"words,omitempty"`         // of each class
	CostOnly     bool                 `json:"cost_only,omitempty"`     // nothing but what the accountant and the bitsum say
	NearestMean  bool                 `json:"nearest_mean,omitempty"`  // classify with corrected norms too
}

// Baselines beside the bitsums of plans.
const (
	Curator   = "central"      // a curator's Gaussian noise, on the sums of the rounded bits
	Holder    = "central-real" // the same on the features as they are, by how far a record moves all of them together
	RealSums  = "real-sums"    // those features on a grid, a discrete Gaussian of each device's own, nothing but the sums revealed (KDE, Appendix B.2)
	Local     = "local"        // rr without a shuffler
	NoPrivacy = "none"
)

// AuthorsAccounting is account.PaperAccounting with the share of epsilon that KDE's authors
// spend on the noise of 3nb in their code, 0.8, where Appendix A.2 prints 0.99.
const AuthorsAccounting calibrate.Accounting = "authors"

// programmed are the bitsums that AuthorsAccounting is of.
var programmed = []string{"3nb"}

// Programmed reports whether the authors' code accounts for a bitsum otherwise than KDE prints.
func Programmed(bitsum string) bool { return slices.Contains(programmed, bitsum) }

// Bitsums are what Density.Bitsum may be.
var Bitsums = append(slices.Clone(plan.Bitsums), Curator, Holder, RealSums, Local, NoPrivacy)

// InnerProduct says whether there is a mean to be near to.
func (d Density) InnerProduct() bool { return strings.HasPrefix(d.Kernel.Name, "ip-") }

func (d Density) validate(f *faults) {
	f.check(slices.Contains(Bitsums, d.Bitsum), "bitsum %q: choose one of %v", d.Bitsum, Bitsums)
	f.check(d.Accounting == calibrate.Exact || d.Accounting == calibrate.Paper || d.Accounting == AuthorsAccounting && Programmed(d.Bitsum), "accounting %q: choose %q or %q", d.Accounting, calibrate.Exact, calibrate.Paper)
	f.check(!d.NearestMean || d.InnerProduct(), "the nearest mean needs a kernel of inner products (ip-...)")
	f.check(d.Epsilon > 0 && d.Epsilon <= 100 || d.Epsilon == 0 && d.LocalEpsilon > 0, "epsilon %v: must be above 0, at most 100", d.Epsilon)
	f.check(d.LocalEpsilon == 0 || d.LocalEpsilon >= 1e-6 && d.LocalEpsilon <= 1e6, "local epsilon %v: must be from 1e-6 to 1e6", d.LocalEpsilon)
	f.check(d.LocalEpsilon == 0 || d.LocalEpsilon > d.LabelEpsilon, "local epsilon %v: the label alone is sent with epsilon %v", d.LocalEpsilon, d.LabelEpsilon)
	f.check(d.LocalEpsilon == 0 || d.Bitsum == Local || density.Flips(plan.Bitsum{Name: d.Bitsum}), "local epsilon: %s has none, since its devices do not hide their bits by themselves; choose rr or local", d.Bitsum)
	f.check(d.Delta > 0 && d.Delta < 1, "delta %v: must be between 0 and 1, both excluded", d.Delta)
	f.check(d.LabelEpsilon >= 0 && d.LabelEpsilon <= 100, "label epsilon %v: must be above 0, at most 100", d.LabelEpsilon)
	f.check(d.Repetitions >= 0 && d.Repetitions <= 1<<20, "repetitions %d: must be at least 1, at most 2^20", d.Repetitions)
}

func (d Density) String() string {
	return fmt.Sprintf("%s, %s by %s accounting, epsilon %g", d.Kernel.Name, d.Bitsum, d.Accounting, d.Epsilon)
}

// faults collects what is wrong.
type faults struct{ errs []error }

func (f *faults) check(ok bool, format string, a ...any) {
	if !ok {
		f.errs = append(f.errs, fmt.Errorf(format, a...))
	}
}

func (f *faults) join() error { return errors.Join(f.errs...) }
