package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// Sizes of crowds keep their claim of epsilon 2, most of which is found; an entry that deletes with half the noise
// does not. With 20,000 draws the bound of the twin, of 4, is above 3 but for much less than a chance in a million.
func TestSizesOfCrowds(t *testing.T) {
	p := example.Histograms()["crowds"]
	p.Crowd.Minimum = 20
	c, err := additive.NewCrowd(2, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	p.Crowd.Deletion = &plan.Deletion{Epsilon: 2, Delta: 1e-6, Noise: c.Noise, Threshold: c.Threshold}
	s, ok := route(t, example.Design(t, p)).legs[0].newSizes()
	if !ok {
		t.Fatal("sizes are not attacked")
	}
	claim := c.Guarantee(account.Replacement)
	find := func(o Observed) Finding { return o.Attack(claim, 20_000, seed(t), quiet) }
	kept := find(s.observed())
	if holds(t, kept); kept.Lower < 0.8*claim.Epsilon {
		t.Errorf("found %v of %v", kept.Lower, claim.Epsilon)
	}
	entry, less := s.rules, *s.rules.Deletion
	less.Noise *= 2
	entry.Deletion = &less
	broken := find(s.drawn(entry))
	t.Logf("%v; with half the noise %v", kept.Lower, broken.Lower)
	stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
}
