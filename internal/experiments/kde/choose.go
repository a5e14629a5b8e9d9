package kde

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/experiments"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

const (
	forChoice   = 0xc01ce // stream of the seed
	choiceShare = 0.2     // of the training records, on which kernels are compared
	choiceMost  = 2000    // of those
	choiceClose = 0.005   // accuracies as near as this are equal: then the fewest messages, then the first
)

// Tried is a kernel that was compared with others.
type Tried struct {
	Kernel    string
	Bandwidth float64 // 0: it has none
	Accuracy  float64
	Messages  float64 // a device
}

func (t Tried) String() string {
	if t.Bandwidth == 0 {
		return fmt.Sprintf("%s %.3f", t.Kernel, t.Accuracy)
	}
	return fmt.Sprintf("%s at bandwidth %.3g %.3f", t.Kernel, t.Bandwidth, t.Accuracy)
}

// Choose compares the kernels that send at most a bit or two for each coordinate, in
// simulated collections from four fifths of the set's training records at the budget of
// c, by their accuracy on the others. It returns c with the best, and says in words
// which were compared and how they did. Each is at its default but for a bandwidth,
// which is also the median distance of two records.
func Choose(c experiments.Cell, set *dataset.Set, progress simulate.Progress) (experiments.Cell, string, error) {
	part := *set
	part.Test, part.Train = set.Train.Split(replay.New(c.Seed, forChoice), choiceShare)
	part.Test = part.Test.Head(choiceMost)
	if slices.Min(part.Train.Counts(len(set.Classes))) == 0 {
		return c, "", nil // too few records to choose by
	}
	var tried []Tried
	var best experiments.Cell
	var failed []error
	kernels := candidates(part.Test.X)
	for i, kernel := range kernels {
		progress("compare kernels", i, len(kernels))
		one := c
		one.Density.Kernel, one.Runs = kernel, 1
		res, err := Run(one, &part, experiments.HighestDensity, func(string, int, int) {})
		if err != nil { // the records are outside its domain, as of inner products beyond the unit ball
			failed = append(failed, err)
			continue
		}
		t := Tried{Kernel: kernel.Name, Bandwidth: kernel.Bandwidth, Accuracy: res.Accuracy, Messages: res.MessagesPerDevice}
		if tried = append(tried, t); len(tried) == 1 || t.better(tried) {
			best = one
			tried[0], tried[len(tried)-1] = tried[len(tried)-1], tried[0] // the best stands first
		}
	}
	if len(tried) == 0 {
		return c, "", errors.Join(failed...)
	}
	names := make([]string, len(tried))
	for i, t := range tried {
		names[i] = t.String()
	}
	best.Runs = c.Runs
	return best, fmt.Sprintf("The kernel %s was chosen by its accuracy on a fifth of the training records, in simulated collections from the others: %s. A collection names its kernel before anybody answers: choose on public records, as here on records that are set aside, and not on respondents'.", tried[0].Kernel, strings.Join(names, ", ")), nil
}

// better reports whether the last one tried is to be taken in the place of the first.
func (t Tried) better(tried []Tried) bool {
	best := tried[0]
	if math.Abs(t.Accuracy-best.Accuracy) <= choiceClose {
		return t.Messages < best.Messages
	}
	return t.Accuracy > best.Accuracy
}

// candidates are the cheap kernels, those that are tried first winning ties.
func candidates(sample blas32.General) []plan.Kernel {
	all := []plan.Kernel{{Name: string(encode.InnerRotated), Clip: rotatedClip}}
	bandwidths := []float64{1}
	if m := medianDistance(sample); m > 0 && math.Abs(math.Log(m)) > 0.1 {
		bandwidths = append(bandwidths, m)
	}
	for _, h := range bandwidths {
		all = append(all, plan.Kernel{Name: string(encode.Gaussian), Bandwidth: h}, plan.Kernel{Name: string(encode.GaussianPaired), Bandwidth: h})
	}
	return all
}

// medianDistance is that of neighbouring rows, which are in no order.
func medianDistance(x blas32.General) float64 {
	var d []float64
	for i := 1; i < x.Rows; i++ {
		sum := 0.0
		for j, v := range row(x, i) {
			diff := float64(v) - float64(row(x, i-1)[j])
			sum += diff * diff
		}
		d = append(d, math.Sqrt(sum))
	}
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// mostExact bounds the multiplications of Best: a second or two for each classifier.
const mostExact = 4e9

// Best is the accuracy that the records allow without any privacy: that of the best of
// three classifiers on exact densities or means, without randomization, signs or random
// features; how names it. ok is false where it would take too long.
func Best(set *dataset.Set, progress simulate.Progress) (accuracy float64, how string, ok bool) {
	if float64(set.Test.Len())*float64(set.Train.Len())*float64(set.Dimension()) > mostExact {
		return 0, "", false
	}
	h := medianDistance(set.Test.X)
	for _, c := range []struct {
		how   string
		exact func(records, queries blas32.General) []float64
	}{
		{"nearest class mean", nearness},
		{"densities of inner products", kde.ExactInner},
		{fmt.Sprintf("Gaussian densities at bandwidth %.3g", h/2), func(x, q blas32.General) []float64 { return kde.ExactGaussian(x, q, h/2) }},
	} {
		if strings.HasPrefix(c.how, "Gaussian") && h == 0 {
			continue
		}
		if a := ExactAccuracy(set, c.exact, progress); a > accuracy {
			accuracy, how = a, c.how
		}
	}
	return accuracy, how, true
}

// nearness is the negative squared distance of each query from the records' mean.
func nearness(records, queries blas32.General) []float64 {
	mean := make([]float64, records.Cols)
	for i := range records.Rows {
		for j, v := range row(records, i) {
			mean[j] += float64(v) / float64(records.Rows)
		}
	}
	out := make([]float64, queries.Rows)
	for i := range out {
		for j, v := range row(queries, i) {
			out[i] -= (float64(v) - mean[j]) * (float64(v) - mean[j])
		}
	}
	return out
}

// ExactAccuracy is that of the class of highest exact density.
func ExactAccuracy(set *dataset.Set, exact func(records, queries blas32.General) []float64, progress simulate.Progress) float64 {
	best := make([]float64, set.Test.Len())
	class := make([]int, set.Test.Len())
	for c, x := range set.Train.ByClass(len(set.Classes)) {
		progress("the same without privacy", c, len(set.Classes))
		for i, k := range exact(x, set.Test.X) {
			if c == 0 || k > best[i] {
				best[i], class[i] = k, c
			}
		}
	}
	right := 0
	for i, y := range set.Test.Y {
		if class[i] == y {
			right++
		}
	}
	return float64(right) / float64(set.Test.Len())
}
