package audit

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit/adders"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// cellsWithNoise is a designed plan of a histogram, summed with noise of somebody.
func cellsWithNoise(t *testing.T, ask plan.Histogram, by string) plan.Plan {
	p := example.Summed(example.Histogram(ask), by)
	p.Question.Histogram.Randomizer.Name = plan.RandomizerNone
	p.Budget.Adjacency, p.Budget.Epsilon, p.Budget.Delta, p.Crowd.Minimum = "replacement", 2, 1e-6, 50
	return example.Design(t, p)
}

// weakened are the views where a share of the respondents (1/few) add all the noise, or aggregators
// noise of a decay that is larger by a factor, or of a deviation that is smaller.
func (n noised) weakened(t *testing.T, p plan.Plan, few int, factor float64) map[string][]Observed {
	t.Helper()
	if n.adders == nil {
		return map[string][]Observed{account.OneAggregator: {n.shares(p.MinHonest() / few)}}
	}
	route := *p.Route.Sum
	route.Decay, route.Sigma = route.Decay*factor, route.Sigma/factor // one of them is zero
	p.Route.Sum = &route
	weak, err := protocol.New(p)
	if err == nil {
		n.adders, err = adders.New(weak, n.leg.keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n.observers()
}

// Observers of cells that are summed keep their claims, most of which is found; aggregators
// that add half the noise, or respondents half of whom are silent, do not.
func TestCellsThatAreSummed(t *testing.T) {
	threeCells := plan.Histogram{Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 3}}}
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices} {
		p := cellsWithNoise(t, threeCells, by)
		r := route(t, p)
		g := r.legs[0]
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
		n := g.known.(noised)
		for i, last := range promisedLast(g.promise.Statements, relied(p)) {
			if own := last.Guarantee == g.promise.Shuffled; own != (i == len(g.promise.Statements)-1) {
				t.Errorf("%s: the plan's own promise is not the last: %d is of %q", by, i, last.Observer)
			}
		}
		if sealed, err := r.Seal(1, calm); err != nil || sealed.Envelopes != 2*sealed.Devices {
			t.Errorf("%s: %+v went the whole way: %v", by, sealed, err)
		}
		twins := n.weakened(t, g.protocol.Plan, 2, 2)
		for observer, all := range n.observers() {
			claim, err := g.claim(observer)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range all {
				kept := o.Attack(claim, 8_000, seed(t), quiet)
				if holds(t, kept); kept.Lower < 0.6*claim.Epsilon {
					t.Errorf("%s, %s: found %v of %v", by, observer, kept.Lower, claim.Epsilon)
				}
				broken := twins[observer][i].Attack(claim, 8_000, seed(t), quiet)
				t.Logf("%s, %s: %v of %v; twin %v", by, observer, kept.Lower, claim.Epsilon, broken.Lower)
				stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
			}
		}
	}
}

// Where devices flip their bits, one aggregator is attacked as an honest shuffler's reader is,
// and both as everyone.
func TestFlippedBitsThatAreSummed(t *testing.T) {
	p := example.Summed(example.Histograms()["categories"], plan.NoiseDevices)
	p.Crowd.Minimum = 60
	r := route(t, example.Design(t, p))
	all, err := r.Attack(4000, 1, calm)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seal(1, calm); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, f := range all {
		seen[f.Observer] = true
		holds(t, f)
		if f.Observer == account.BothAggregators && f.Lower < 0.3*f.Claimed.Epsilon {
			t.Errorf("of one device's vector: %v of %v", f.Lower, f.Claimed.Epsilon)
		}
	}
	if !seen[account.OneAggregator] || !seen[account.BothAggregators] {
		t.Errorf("attacked before %v", seen)
	}
}

// Observers who do not know in which row of a sketch a device counts, or which attribute it
// answers, find no more than is claimed, and more where a quarter of the respondents add all the noise, or
// aggregators a third of it.
func TestDrawnAnswersThatAreSummed(t *testing.T) {
	cell := plan.Attribute{Name: "cell", Kind: "categories", Size: 100}
	sketch := func(name string) plan.Histogram {
		return plan.Histogram{Attributes: []plan.Attribute{cell}, Sketch: &plan.Sketch{Name: name, Hashes: 2, Width: 4, Seed: strings.Repeat("ab", 32)}}
	}
	two := plan.Attribute{Name: "one", Kind: "categories", Size: 3}
	other := two
	other.Name = "other"
	for name, ask := range map[string]plan.Histogram{
		"count-mean": sketch("count-mean"), "count": sketch("count"), "sample": {Attributes: []plan.Attribute{two, other}, Collect: plan.CollectSample},
	} {
		for _, by := range []string{plan.NoiseAggregators, plan.NoiseDevices} {
			if by == plan.NoiseDevices && name == "count" {
				continue // drawn as count-mean's
			}
			p := cellsWithNoise(t, ask, by)
			g := route(t, p).legs[0]
			if err := g.ready(); err != nil {
				t.Fatal(err)
			}
			n := g.known.(noised)
			claim, err := g.claim(account.OneAggregator)
			if err != nil {
				t.Fatal(err)
			}
			kept := n.observers()[account.OneAggregator][0].Attack(claim, 4_000, seed(t), quiet)
			if holds(t, kept); kept.Lower < 0.2*claim.Epsilon {
				t.Errorf("%s, %s: found %v of %v", name, by, kept.Lower, claim.Epsilon)
			}
			twin := n.weakened(t, g.protocol.Plan, 4, 3)[account.OneAggregator][0]
			broken := twin.Attack(claim, 4_000, seed(t), quiet)
			t.Logf("%s, %s: %v of %v; twin %v", name, by, kept.Lower, claim.Epsilon, broken.Lower)
			stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
		}
	}
}
