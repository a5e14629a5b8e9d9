package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// fewStrings returns a plan of strings of a small code, mixed or with noise of aggregators.
func fewStrings(t testing.TB, by string) plan.Plan {
	p := example.Strings()
	s := p.Question.Strings
	s.Answered, s.Cells, s.Tail, s.Buckets, s.Pairs = 8, 4, 1, 2, 0
	if by != "" {
		p, s.Answered = example.Summed(p, by), 0
	}
	p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}, 50
	return example.Design(t, p)
}

// The two strings furthest apart keep the claims of mixed bits, and go the whole way.
func TestStringsThatAreMixed(t *testing.T) {
	mixes(t, fewStrings(t, ""))
}

// The two strings furthest apart keep the claims of sums, and most is found of them. Aggregators that add a third of the
// noise do not.
func TestStringsThatAreSummed(t *testing.T) {
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		p := fewStrings(t, by)
		r := route(t, p)
		g := r.legs[0]
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
		n := g.known.(noised)
		if sealed, err := r.Seal(1, calm); err != nil || sealed.Envelopes != 2*sealed.Devices {
			t.Errorf("%s: %+v went the whole way: %v", by, sealed, err)
		}
		twins := n.weakened(t, g.protocol.Plan, 0, 3)
		for observer, all := range n.observers() {
			claim, err := g.claim(observer)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range all {
				kept := o.Attack(claim, 8000, seed(t), quiet)
				if holds(t, kept); kept.Lower < 0.3*claim.Epsilon {
					t.Errorf("%s, %s: found %v of %v", by, observer, kept.Lower, claim.Epsilon)
				}
				if observer != relied(p) {
					continue // what another observer is promised is another part of the noise
				}
				broken := twins[observer][i].Attack(claim, 8000, seed(t), quiet)
				t.Logf("%s, %s: %v of %v; twin %v", by, observer, kept.Lower, claim.Epsilon, broken.Lower)
				stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
			}
		}
	}
}
