package collection

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

const (
	forChoice   = 0xc01ce // stream of the seed
	choiceShare = 0.2     // of the training records, on which kernels are compared
	choiceMost  = 2000    // of those
	choiceClose = 0.005   // accuracies as near as this are equal: then the fewest messages, then the first
	rotatedClip = 2       // deviations at which ip-rotated clips by default
)

// tried is a kernel that was compared with others.
type tried struct {
	kernel   plan.Kernel
	accuracy float64
	messages int // a device
}

func (t tried) String() string {
	if t.kernel.Bandwidth == 0 {
		return fmt.Sprintf("%s %.3f", t.kernel.Name, t.accuracy)
	}
	return fmt.Sprintf("%s at bandwidth %.3g %.3f", t.kernel.Name, t.kernel.Bandwidth, t.accuracy)
}

// Choose compares the kernels that send at most a bit or two for each coordinate, in
// collections by law from four fifths of the set's training records at the budget of c, by
// their accuracy on the others. It returns the best, and says in words which were compared and
// how they did; it says nothing where there are too few records to choose by. Each is at its
// default but for a bandwidth, which is also the median distance of two records.
func (c Collection) Choose(set *dataset.Set, progress simulate.Progress) (plan.Kernel, string, error) {
	part := *set
	part.Test, part.Train = set.Train.Split(seeded.New(c.Seed, forChoice), choiceShare)
	part.Test = part.Test.Head(choiceMost)
	least := slices.Min(part.Train.Counts(len(set.Classes)))
	if least == 0 {
		return c.Kernel, "", nil
	}
	c.Full, c.Minimum = false, Reported(least, c.Budget.LabelEpsilon)
	var all []tried
	var failed []error
	kernels := candidates(part.Test.X)
	for i, kernel := range kernels {
		progress("compare kernels", i, len(kernels))
		if c.Kernel, c.Repetitions = kernel, set.Dimension(); kernelmap.Kernel(kernel.Name).Parameters().Single {
			c.Repetitions = 1
		}
		out, err := c.Run(&part, func(string, int, int) {})
		if err != nil { // the records are outside its domain, as of inner products beyond the unit ball
			failed = append(failed, err)
			continue
		}
		t := tried{kernel: kernel, accuracy: Metric(out.Release, "accuracy").Value, messages: out.Plan.Envelopes.PerDevice}
		if all = append(all, t); len(all) == 1 || t.better(all[0]) {
			all[0], all[len(all)-1] = all[len(all)-1], all[0] // the best stands first
		}
	}
	if len(all) == 0 {
		return c.Kernel, "", errors.Join(failed...)
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.String()
	}
	return all[0].kernel, fmt.Sprintf("The kernel %s was chosen by its accuracy on a fifth of the training records, in simulated collections from the others: %s. A collection names its kernel before anybody answers: choose on public records, as here on records that are set aside, and not on respondents'.", all[0].kernel.Name, strings.Join(names, ", ")), nil
}

// better reports whether t is to be taken in the place of the best so far.
func (t tried) better(best tried) bool {
	if math.Abs(t.accuracy-best.accuracy) <= choiceClose {
		return t.messages < best.messages
	}
	return t.accuracy > best.accuracy
}

// candidates returns the cheap kernels, those that are tried first winning ties.
func candidates(sample blas32.General) []plan.Kernel {
	all := []plan.Kernel{{Name: string(kernelmap.InnerRotated), Clip: rotatedClip}}
	bandwidths := []float64{1}
	if m := measure.MedianDistance(sample); m > 0 && math.Abs(math.Log(m)) > 0.1 {
		bandwidths = append(bandwidths, m)
	}
	for _, h := range bandwidths {
		all = append(all, plan.Kernel{Name: string(kernelmap.Gaussian), Bandwidth: h}, plan.Kernel{Name: string(kernelmap.GaussianPaired), Bandwidth: h})
	}
	return all
}

// Reported returns how many respondents surely report a class that so many are of: randomized
// labels scatter the sizes of crowds, and nine tenths are there but for a deviation of several
// sigma.
func Reported(least int, label plan.LabelEpsilon) int {
	if label == plan.Unprotected {
		return least
	}
	return least * 9 / 10
}
