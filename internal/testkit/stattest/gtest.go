package stattest

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// minExpected is the least expected count of a bin. At 10 the statistic's law is
// close enough to chi-square: at a nominal rate of 0.01 the measured one is 0.013.
const minExpected = 10

// GTest checks counts of independent draws against the exact law of one draw by
// the likelihood-ratio statistic G = 2 sum O ln(O/E). law[i] is the probability of
// outcome i and sums to one: the last entry of an infinite law is its whole tail.
// Neighbouring outcomes are merged until ten draws are expected in each; an
// outcome of probability zero that was drawn fails by itself.
//
// Unlike Pearson's statistic G needs no special care with empty bins: a bin with
// no draws adds nothing, and the others show what is missing.
//
// With n draws it catches a law whose relative entropy to the true one is well
// above (ln 1/Alpha)/n, about 14/n, more with many bins.
func GTest(t testing.TB, law []float64, counts []int) {
	t.Helper()
	bins, impossible := merge(law, counts)
	if impossible >= 0 {
		t.Errorf("outcome %d of probability zero was drawn %d times", impossible, counts[impossible])
		return
	}
	g, p := bins.gtest()
	if !(p >= Alpha) {
		worst := bins.worst()
		t.Errorf("law and draws differ: G = %.1f at %d degrees of freedom, p = %.2g; worst at outcomes %d to %d, drawn %d times, expected %.1f",
			g, len(bins)-1, p, worst.first, worst.last, worst.observed, worst.expected)
	}
}

type bin struct {
	first, last int
	expected    float64
	observed    int
}

type histogram []bin

// merge is the histogram to test, and the index of an outcome that was drawn
// against a probability of zero, or -1.
func merge(law []float64, counts []int) (bins histogram, impossible int) {
	if len(law) != len(counts) {
		panic(fmt.Sprintf("stattest: %d probabilities for %d counts", len(law), len(counts)))
	}
	var sum float64
	var n, support int
	impossible = -1
	for i, p := range law {
		if !(p >= 0) || counts[i] < 0 {
			panic(fmt.Sprintf("stattest: probability %v and count %d at %d", p, counts[i], i))
		}
		if p > 0 {
			support++
		} else if counts[i] > 0 {
			impossible = i
		}
		sum += p
		n += counts[i]
	}
	if math.Abs(sum-1) > 1e-9 {
		panic(fmt.Sprintf("stattest: the law sums to %v", sum))
	}
	open := bin{first: 0}
	for i, p := range law {
		open.last = i
		open.expected += p * float64(n)
		open.observed += counts[i]
		if open.expected >= minExpected {
			bins = append(bins, open)
			open = bin{first: i + 1}
		}
	}
	if support > 1 && len(bins) < 2 {
		panic(fmt.Sprintf("stattest: %d draws fill fewer than two bins: draw more", n))
	}
	if len(bins) > 0 { // what is left over is too small to stand alone
		end := &bins[len(bins)-1]
		end.last = open.last
		end.expected += open.expected
		end.observed += open.observed
	}
	return bins, impossible
}

// gtest is the statistic and the probability that a right sampler exceeds it.
func (h histogram) gtest() (g, p float64) {
	if len(h) < 2 {
		return 0, 1
	}
	for _, b := range h {
		if b.observed > 0 {
			g += 2 * float64(b.observed) * math.Log(float64(b.observed)/b.expected)
		}
	}
	// G rounds to just below zero when the fit is perfect.
	return g, mathext.GammaIncRegComp(float64(len(h)-1)/2, math.Max(0, g)/2)
}

func (h histogram) worst() bin {
	worst, most := h[0], 0.
	for _, b := range h {
		d := float64(b.observed) - b.expected
		if d*d/b.expected > most {
			worst, most = b, d*d/b.expected
		}
	}
	return worst
}
