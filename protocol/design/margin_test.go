package design_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// noises are the numbers of a plan that its noise follows from, by their names.
func noises(p *plan.Plan) map[string]*float64 {
	all := map[string]*float64{}
	if d := p.Question.Density; d != nil {
		all["flip"], all["noise"], all["flood shape"], all["flood probability"] = &d.Bitsum.FlipProbability, &d.Bitsum.Noise, &d.Bitsum.FloodShape, &d.Bitsum.FloodProbability
		all["mean"], all["shape"] = &d.Bitsum.Mean, &d.Bitsum.Shape
	}
	if h := p.Question.Histogram; h != nil {
		z := &h.Randomizer
		all["flip"], all["keep"], all["backstop flip"], all["backstop keep"], all["epsilon"] = &z.Flip, &z.Keep, &z.BackstopFlip, &z.BackstopKeep, &z.Epsilon
		if z.OneHot() {
			delete(all, "epsilon") // said of the probabilities
		}
	}
	if v := p.Question.Vector; v != nil {
		all["flip"] = &v.Rounds[0].Flip
	}
	if g := p.Question.Gradient; g != nil {
		all["flip"], all["epsilon"] = &g.Report.Flip, &g.Report.Epsilon
	}
	if s := p.Route.Sum; s != nil {
		all["decay"], all["sigma"] = &s.Decay, &s.Sigma
	}
	for name, x := range all {
		if *x == 0 {
			delete(all, name)
		}
	}
	return all
}

// some is a plan of some kind, noise and size, without its noise.
func some(r *rand.Rand) (name string, p plan.Plan) {
	histograms := example.Histograms()
	names := []string{"categories", "replacement", "asymmetric", "set", "fragments", "spread", "krr", "sample", "split", "count-mean"}
	switch kind := r.IntN(20); {
	case kind < len(names):
		name = names[kind]
		p = histograms[name]
		h := *p.Question.Histogram
		p.Question.Histogram = &h
		if h.Randomizer.Fragments > 1 {
			h.Randomizer.Fragments <<= r.IntN(3)
		}
	case kind < 15:
		name = []string{"rr", "rr", "3nb", "poisson", "nb"}[kind-10]
		p = example.Density(name)
	case kind == 15:
		name, p = "vector", example.Vector(plan.VectorRound{Sums: plan.SumsClasses, Answered: 8})
	case kind == 16:
		name, p = "gradient", example.Gradient("direction")
	default:
		name = []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices}[kind-17]
		p = example.Summed(histograms["replacement"], name)
		h := *p.Question.Histogram
		h.Randomizer = plan.Randomizer{Name: plan.RandomizerNone}
		p.Question.Histogram = &h
	}
	p.Crowd.Minimum = int(100 * math.Exp(3*r.Float64()))
	p.Budget.Epsilon, p.Budget.Delta = math.Exp(1.4*r.Float64()-0.7), math.Exp(-9-9*r.Float64())
	return name, p
}

// A plan that was designed is within its promise for whoever reads it and computes anew, on this machine
// or on one that rounds otherwise: which is as if the last digits of its numbers were others. Of delta it is
// given what every design of its kind leaves, as if overflow took all that it may take.
func TestDesignedPlansKeepTheirPromise(t *testing.T) {
	r, designed := stattest.Rand(t), map[string]int{}
	for i := range 200 {
		name, asked := some(r)
		made, err := design.Fill(asked)
		if err != nil { // too few to hide among
			t.Logf("plan %d, %s: %v", i, name, err)
			continue
		}
		designed[name]++
		recomputed := func(p plan.Plan) float64 {
			t.Helper()
			proto, err := protocol.New(p)
			if err != nil {
				t.Fatalf("plan %d, %s: %v", i, name, err)
			}
			if _, err := proto.Promise(); err != nil {
				t.Errorf("plan %d, %s: %v", i, name, err)
			}
			g, err := proto.Shuffled(1)
			if err != nil || !(g.Epsilon <= made.Budget.Epsilon) {
				t.Errorf("plan %d, %s: epsilon %.12g, %.3g of itself above its %.12g (%v)", i, name, g.Epsilon, g.Epsilon/made.Budget.Epsilon-1, made.Budget.Epsilon, err)
			}
			return g.Epsilon
		}
		whole := recomputed(parsed(t, made))
		for _, noise := range slices.Sorted(maps.Keys(noises(&made))) {
			p := parsed(t, made)
			x := noises(&p)[noise]
			ulps := 1 + r.IntN(4)
			if r.IntN(2) == 0 {
				ulps = -ulps
			}
			*x = math.Float64frombits(uint64(int64(math.Float64bits(*x)) + int64(ulps)))
			if e := recomputed(p); !(math.Abs(e/whole-1) < 1e-9) {
				t.Errorf("plan %d, %s: %d units in the last place of %s move epsilon by %.2g of itself", i, name, ulps, noise, e/whole-1)
			}
		}
	}
	if len(designed) < 15 {
		t.Errorf("only these were designed: %v", designed)
	}
}

// parsed is the plan as a device reads it.
func parsed(t *testing.T, p plan.Plan) plan.Plan {
	t.Helper()
	back, err := plan.Parse(p.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// A bit torn into 16 fragments, among a million: the plan's own numbers, each rounded to its last digit, gave epsilon
// 1.00002 where 1 was asked for.
func TestFragmentsOfAMillionKeepTheirPromise(t *testing.T) {
	p := example.Histograms()["fragments"]
	h := *p.Question.Histogram
	h.Randomizer.Fragments, h.Attributes = 16, []plan.Attribute{{Name: "cell", Kind: "categories", Size: 100_000}}
	p.Question.Histogram, p.Crowd.Minimum, p.Budget.DishonestShare = &h, 1_000_000, 0
	made, err := design.Fill(p)
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(parsed(t, made))
	if err != nil {
		t.Fatal(err)
	}
	if g, err := proto.Shuffled(1); err != nil || !(g.Epsilon <= 1) {
		t.Errorf("epsilon %.12g, %v", g.Epsilon, err)
	}
}
