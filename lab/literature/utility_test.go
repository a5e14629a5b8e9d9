package literature

import (
	"errors"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/prob"
)

// No cell's estimate is off by more, but with its share of beta: by the exact law of a cell that nobody, half, or
// everybody holds. Half the error is exceeded more often.
func TestErrorsOfOneHotReports(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		local float64
	}{{50, 4, 1}, {1000, 16, 2}, {1000, 1000, 6}, {20_000, 100, 9}} {
		const beta = 0.05
		alpha, err := ESATheoremIII2(c.n, c.k, c.local, beta)
		if err != nil {
			t.Fatal(err)
		}
		// Of holders and others as many bits are one as by these two binomials.
		exceeded := func(holders int, alpha float64) (p float64) {
			flip := 1 / (1 + math.Exp(c.local))
			n, f := float64(c.n), float64(holders)/float64(c.n)
			for ones := range c.n + 1 {
				share := (float64(ones)/n - flip) / (1 - 2*flip)
				if holders == 0 && math.Abs(share-f) > alpha {
					p += math.Exp(prob.LogBinomialPMF(ones, c.n, flip))
				}
				if holders == c.n && math.Abs(share-f) > alpha {
					p += math.Exp(prob.LogBinomialPMF(ones, c.n, 1-flip))
				}
			}
			return p
		}
		for _, holders := range []int{0, c.n} {
			if p := exceeded(holders, alpha); p > beta/float64(c.k) {
				t.Errorf("%+v: an error above %v has probability %v, of %v that are allowed", c, alpha, p, beta/float64(c.k))
			}
			if p := exceeded(holders, alpha/2); p < beta/float64(c.k) {
				t.Errorf("%+v: half of the error is exceeded with probability %v only", c, p)
			}
		}
	}
}

// The noise of all crowds' sizes deletes more with at most delta; (2/epsilon) would be too little.
func TestDeletedReports(t *testing.T) {
	for _, crowds := range []int{1, 10, 1000} {
		const epsilon, delta = 0.5, 1e-3
		most, err := ESATheoremV2(epsilon, delta, crowds)
		_, margin, err1 := ESATheoremV1(epsilon, delta)
		if err := errors.Join(err, err1); err != nil {
			t.Fatal(err)
		}
		more := func(most float64) float64 { // a crowd loses margin less the noise
			return float64(crowds) * math.Exp(-(most-margin)*epsilon/2) / 2
		}
		if p := more(most); p > delta {
			t.Errorf("%d crowds: more than %v are deleted with probability %v", crowds, most, p)
		}
		if p := more(most / 2); p < delta {
			t.Errorf("%d crowds: more than half of %v are deleted with probability %v only", crowds, most, p)
		}
	}
}

func TestUtilityHasADomain(t *testing.T) {
	for name, f := range map[string]func() (float64, error){
		"small epsilon": func() (float64, error) { return ESATheoremIII2(1000, 4, 0.5, 0.1) },
		"large epsilon": func() (float64, error) { return ESATheoremIII2(1000, 4, 8, 0.1) },
		"beta":          func() (float64, error) { return ESATheoremIII2(1000, 4, 2, 1) },
		"nobody":        func() (float64, error) { return ESATheoremIII2(0, 4, 2, 0.1) },
		"crowds":        func() (float64, error) { return ESATheoremV2(1, 0.1, 0) },
		"delta":         func() (float64, error) { return ESATheoremV2(1, 0, 1) },
		"epsilon":       func() (float64, error) { return ESATheoremV2(math.NaN(), 0.1, 1) },
	} {
		if x, err := f(); err == nil {
			t.Errorf("%s: %v", name, x)
		} else if _, ok := errors.AsType[*theorems.DomainError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
