package audit

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/internal/example"
	"github.com/confetti-dp/confetti/internal/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// cellsWithNoise is a designed plan of three cells, summed with noise of somebody.
func cellsWithNoise(t *testing.T, by string) plan.Plan {
	p := example.Summed(example.Histogram(plan.Histogram{Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 3}}}), by)
	p.Question.Histogram.Randomizer.Name = plan.RandomizerNone
	p.Budget.Adjacency, p.Budget.Epsilon, p.Budget.Delta, p.Crowd.Minimum = "replacement", 2, 1e-6, 50
	return example.Design(t, p)
}

// Observers of cells that are summed keep their claims, most of which is found; aggregators
// that add half the noise, or respondents half of whom are silent, do not.
func TestCellsThatAreSummed(t *testing.T) {
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices} {
		p := cellsWithNoise(t, by)
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
		for observer, o := range n.observers() {
			claim, err := g.claim(observer)
			if err != nil {
				t.Fatal(err)
			}
			kept := o.Attack(claim, 20_000, seed(t), quiet)
			if holds(t, kept); kept.Lower < 0.6*claim.Epsilon {
				t.Errorf("%s, %s: found %v of %v", by, observer, kept.Lower, claim.Epsilon)
			}
			var twin Observed
			if by == plan.NoiseDevices {
				twin = n.shares(p.HonestMinimum() / 2)
			} else {
				less, unknown := p, map[string]int{account.OneAggregator: 1, account.OnlyTheReader: 2}[observer]
				route := *p.Route.Sum
				route.Decay *= 2
				less.Route.Sum = &route
				twin = n.aggregators(less, unknown)
			}
			broken := twin.Attack(claim, 20_000, seed(t), quiet)
			t.Logf("%s, %s: %v of %v; twin %v", by, observer, kept.Lower, claim.Epsilon, broken.Lower)
			stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
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

// Of a device that draws which row of a sketch it counts in, no attack is known, and none is claimed.
func TestSketchesThatAreSummedAreNotAttacked(t *testing.T) {
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseDevices} {
		p := example.Summed(example.Histogram(plan.Histogram{
			Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 100}},
			Sketch:     &plan.Sketch{Name: "count-mean", Hashes: 2, Width: 16, Seed: strings.Repeat("ab", 32)},
		}), by)
		p.Question.Histogram.Randomizer.Name = plan.RandomizerNone
		p.Budget.Adjacency, p.Crowd.Minimum = "replacement", 50
		all, _, err := Plan(example.Design(t, p), 1, calm)
		if len(all) > 0 {
			t.Errorf("%s: %d attacks", by, len(all))
		}
		example.Mentions(t, err, "draw what they answer")
	}
}
