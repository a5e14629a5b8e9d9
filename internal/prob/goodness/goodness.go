// Package goodness computes how well counts of independent draws fit a law that is known exactly. Used by
// internal/testkit/stattest and internal/audit, which decide what is too bad a fit.
package goodness

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// MinExpected is the least expected count of a bin. At 10 the statistic's law is
// close enough to chi-square: at a nominal rate of 0.01 the measured one is 0.013.
const MinExpected = 10

// Bin is neighbouring outcomes taken together.
type Bin struct {
	First, Last int
	Expected    float64
	Observed    int
}

// Histogram is the bins of all outcomes.
type Histogram []Bin

// Merge takes neighbouring outcomes together until MinExpected draws are expected in each bin.
// impossible is an outcome that was drawn against a probability of zero, or -1. law[i] is the
// probability of outcome i and sums to one. Merge panics on what is no law.
func Merge(law []float64, counts []int) (bins Histogram, impossible int) {
	if len(law) != len(counts) {
		panic(fmt.Sprintf("goodness: %d probabilities for %d counts", len(law), len(counts)))
	}
	var sum float64
	var n int
	impossible = -1
	for i, p := range law {
		if !(p >= 0) || counts[i] < 0 {
			panic(fmt.Sprintf("goodness: probability %v and count %d at %d", p, counts[i], i))
		}
		if p == 0 && counts[i] > 0 {
			impossible = i
		}
		sum += p
		n += counts[i]
	}
	if math.Abs(sum-1) > 1e-9 {
		panic(fmt.Sprintf("goodness: the law sums to %v", sum))
	}
	open := Bin{First: 0}
	for i, p := range law {
		open.Last = i
		open.Expected += p * float64(n)
		open.Observed += counts[i]
		if open.Expected >= MinExpected {
			bins = append(bins, open)
			open = Bin{First: i + 1}
		}
	}
	if len(bins) > 0 { // what is left over is too small to stand alone
		end := &bins[len(bins)-1]
		end.Last = open.Last
		end.Expected += open.Expected
		end.Observed += open.Observed
	}
	return bins, impossible
}

// Test gives the likelihood-ratio statistic G = 2 sum O ln(O/E), and the probability that a right
// sampler exceeds it. Fewer than two bins fit anything.
func (h Histogram) Test() (g, p float64) {
	if len(h) < 2 {
		return 0, 1
	}
	for _, b := range h {
		if b.Observed > 0 {
			g += 2 * float64(b.Observed) * math.Log(float64(b.Observed)/b.Expected)
		}
	}
	// G rounds to just below zero when the fit is perfect.
	return g, mathext.GammaIncRegComp(float64(len(h)-1)/2, math.Max(0, g)/2)
}

// Worst gives the bin that fits worst.
func (h Histogram) Worst() Bin {
	worst, most := h[0], 0.
	for _, b := range h {
		d := float64(b.Observed) - b.Expected
		if d*d/b.Expected > most {
			worst, most = b, d*d/b.Expected
		}
	}
	return worst
}

// Fit gives the probability that draws of a law fit it as badly as counts do, or worse: zero where an
// outcome was drawn that has none.
func Fit(law []float64, counts []int) float64 {
	bins, impossible := Merge(law, counts)
	if impossible >= 0 {
		return 0
	}
	_, p := bins.Test()
	return p
}
