package stattest

import (
	"fmt"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob/goodness"
)

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
	bins, impossible := goodness.Merge(law, counts)
	if impossible >= 0 {
		t.Errorf("outcome %d of probability zero was drawn %d times", impossible, counts[impossible])
		return
	}
	possible := 0
	for _, p := range law {
		if p > 0 {
			possible++
		}
	}
	if possible > 1 && len(bins) < 2 {
		panic(fmt.Sprintf("stattest: draws fill fewer than two bins of %d outcomes: draw more", possible))
	}
	g, p := bins.Test()
	if !(p >= Alpha) {
		worst := bins.Worst()
		t.Errorf("law and draws differ: G = %.1f at %d degrees of freedom, p = %.2g; worst at outcomes %d to %d, drawn %d times, expected %.1f",
			g, len(bins)-1, p, worst.First, worst.Last, worst.Observed, worst.Expected)
	}
}
