package protocol_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	vectorbits "github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// Where everybody that the plan counts on keeps to it, what is recomputed is
// what was promised; with fewer it is never better, and with more never worse.
func TestAmongThePlannedIsThePromise(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb", "pure", "poisson", "nb"} {
		p := example.Design(t, example.Density(bitsum))
		proto := example.Runnable(t, p)
		promise, err := proto.Promise()
		if err != nil {
			t.Fatal(err)
		}
		g, err := proto.GuaranteeWith(p.MinHonest())
		if err != nil {
			t.Fatal(err)
		}
		if d := g.Epsilon/promise.Shuffled.Epsilon - 1; math.Abs(d) > 1e-3 || g.Delta != p.Budget.Delta {
			t.Errorf("%s: promised %v, recomputed %v", bitsum, promise.Shuffled, g)
		}
		before := g.Epsilon
		if g, err := proto.GuaranteeWith(2 * p.MinHonest()); err != nil || g.Epsilon > before {
			t.Errorf("%s: twice the respondents give epsilon %v, %v; half %v", bitsum, g.Epsilon, err, before)
		}
		for _, share := range []float64{0.95, 0.9, 0.85} {
			g, err := proto.GuaranteeWith(int(share * float64(p.MinHonest())))
			if bitsum == "pure" {
				example.Mentions(t, err, "no proof")
				continue
			}
			if err != nil || g.Epsilon <= before {
				t.Errorf("%s, a share of %v: epsilon %v after %v, error %v", bitsum, share, g.Epsilon, before, err)
			}
			before = g.Epsilon
		}
	}
}

// Every other honest number is the accountant's own answer for it.
func TestAmongFewerIsTheAccountantsAnswer(t *testing.T) {
	rotated := example.Density("rr")
	rotated.Question.Density.Kernel = plan.Kernel{Name: "ip-rotated", Clip: 2, Seed: strings.Repeat("00", 32)}
	rotated.Question.Density.Dimension, rotated.Question.Density.Repetitions, rotated.Question.Density.Normalize = 64, 1, true
	rotated.Crowd.Minimum = 3000
	for name, c := range map[string]struct {
		plan  plan.Plan
		event func(b plan.Bitsum, planned, honest int) account.Event
	}{
		"rr": {example.Density("rr"), func(b plan.Bitsum, _, honest int) account.Event {
			return account.Repeat{Event: shuffle.RandomizedResponse{Users: honest, Flip: b.FlipProbability}, Rounds: 4}
		}},
		"rr, rotated": {rotated, func(b plan.Bitsum, _, honest int) account.Event {
			return vectorbits.VectorResponse{Users: honest, Coordinates: 64, Flip: b.FlipProbability, SquaredGap: 64. / 4}
		}},
		"poisson": {example.Density("poisson"), func(b plan.Bitsum, planned, honest int) account.Event {
			return account.Repeat{Event: bitnoise.PoissonSum{Users: honest, Mean: b.Mean * float64(honest) / float64(planned)}, Rounds: 4}
		}},
		"nb": {example.Density("nb"), func(b plan.Bitsum, planned, honest int) account.Event {
			sum := bitnoise.NegativeBinomialSum{Users: honest, Shape: b.Shape * float64(honest) / float64(planned), Prob: b.Probability}
			return account.Repeat{Event: bitnoise.ThinnedNegativeBinomialSum{Sum: sum, Times: 3}, Rounds: 4}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := example.Design(t, c.plan)
			planned := p.MinHonest()
			for _, honest := range []int{planned * 19 / 20, planned * 9 / 10} {
				got, err := example.Runnable(t, p).GuaranteeWith(honest)
				if err != nil {
					t.Fatal(err)
				}
				want, err := account.Epsilon(c.event(p.Question.Density.Bitsum, planned, honest), p.Budget.Delta)
				if err != nil {
					t.Fatal(err)
				}
				// At the price of the overflow, where messages vary in number.
				if got.Epsilon < want.Epsilon*(1-1e-9) || got.Epsilon > want.Epsilon*1.01 || got.Users != honest {
					t.Errorf("%d honest: %v, the accountant says %v", honest, got, want)
				}
			}
		})
	}
}

// Whoever is relied on is charged for outgrowing its envelopes: 1,000 cells, designed for
// 1,000 respondents. What is printed is what the accountant proves with the charge of as
// many as are named, which among a million is fewer than came: the overflow of all of
// them would be more than delta. The twin charges as many as the plan counts on.
func TestAmongManyChargesTheOverflowOfThoseReliedOn(t *testing.T) {
	p := example.Histogram(example.OneHot(plan.Attribute{Name: "drink", Kind: "categories", Size: 1000}))
	p.Budget.DishonestShare = 0
	p = example.Design(t, p)
	z := p.Question.Histogram.Randomizer
	one := randomize.OneHot{K: 1000, Keep: z.Keep, Flip: z.Flip}.OverflowProb(1, p.Envelopes.PerDevice)
	delta := p.Budget.Delta
	for _, c := range []struct {
		came        int
		least, most float64
	}{{1000, 0.99, 1.001}, {10_000, 0.2241, 0.2246}, {100_000, 0.0632, 0.0636}, {1_000_000, 0.02, 0.05}} {
		g, err := example.Runnable(t, p).GuaranteeWith(c.came)
		if err != nil {
			t.Fatal(err)
		}
		if g.Epsilon < c.least || g.Epsilon > c.most || g.Delta != delta || g.Users > c.came || g.Users < 1000 {
			t.Errorf("among %d: %v", c.came, g)
		}
		charge := (1 + math.Exp(g.Epsilon)) * float64(g.Users) * one
		if charge >= delta {
			t.Fatalf("among %d: %d are relied on, whose overflow takes %v of delta", c.came, g.Users, charge/delta)
		}
		due, err := account.Epsilon(shuffle.OneHot{Users: g.Users, Keep: z.Keep, Flip: z.Flip, Adjacency: account.Removal}, delta-charge)
		if err != nil || g.Epsilon < due.Epsilon*(1-1e-6) || g.Epsilon > due.Epsilon*1.01 {
			t.Errorf("among %d: %v, with the overflow of all relied on %v, %v", c.came, g, due, err)
		}
		if twin := (1 + math.Exp(g.Epsilon)) * 1000 * one; c.came == 1_000_000 && float64(c.came)*one < delta || twin > 0.02*delta {
			t.Errorf("among %d: overflow of all is %v of delta, of those planned for %v: the test has no power", c.came, float64(c.came)*one/delta, twin/delta)
		}
	}
}

// What 3NB leaves when four in ten are silent, by enumeration: the recomputed
// guarantee is true of it, and the plan's own is not.
func TestThinnedThreeNBBoundsTheEnumeratedCounts(t *testing.T) {
	p := example.Density("3nb")
	example.Identity(&p, 1)
	p.Budget.LabelEpsilon, p.Budget.DishonestShare = plan.Unprotected, 0
	p.Budget.Epsilon, p.Budget.Delta, p.Crowd.Minimum = 2, 1e-2, 60
	p = example.Design(t, p)
	b := &p.Question.Density.Bitsum
	b.Noise, b.FloodShape, b.FloodProbability = 0.8, 12, 0.6 // less flood than Design asks for: a table holds the law
	const planned, honest, width = 60, 36, 160
	const share = float64(honest) / planned
	noise, flood := make([]float64, width), make([]float64, width)
	for k := range width {
		noise[k] = math.Exp(prob.LogNegativeBinomialPMF(k, share, math.Exp(-b.Noise)))
		flood[k] = math.Exp(prob.LogNegativeBinomialPMF(k, share*b.FloodShape, b.FloodProbability))
	}
	zero, one := make([]float64, width*width), make([]float64, width*width)
	for f, q := range flood {
		for i := 0; f+i < width; i++ {
			for j := 0; f+j < width; j++ {
				zero[(f+i)*width+f+j] += q * noise[i] * noise[j]
			}
		}
	}
	copy(one[width:], zero)
	proto := example.Runnable(t, p)
	all, err := proto.GuaranteeWith(planned)
	if err != nil {
		t.Fatal(err)
	}
	left, err := proto.GuaranteeWith(honest)
	if err != nil {
		t.Fatal(err)
	}
	worst := func(epsilon float64) float64 {
		return max(example.Hockey(epsilon, zero, one), example.Hockey(epsilon, one, zero))
	}
	if d := worst(left.Epsilon); d > p.Budget.Delta {
		t.Errorf("%v is false: delta is %v", left, d)
	}
	if d := worst(all.Epsilon); d <= p.Budget.Delta {
		t.Errorf("the plan's epsilon %v still holds (delta %v): the test is too weak", all.Epsilon, d)
	}
}

// One respondent more than the plan counts on never costs, though the bound of 2,106 is rounded to
// more than that of 2,105.
func TestMoreThanCountedOnNeverCosts(t *testing.T) {
	p := example.Histogram(example.OneHot(example.Drinks()))
	z := &p.Question.Histogram.Randomizer
	z.Flip = 0.0032825790938947655
	z.Keep, z.Epsilon = 1-z.Flip, 100
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 20, 8
	p.Crowd.Minimum, p.Budget = 2105, plan.Budget{Epsilon: 100, Delta: 1e-6, Adjacency: "replacement"}
	proto := example.Runnable(t, p)
	alone := func(users int) float64 {
		g, err := account.Epsilon(proto.Question.Event(users, false), p.Budget.Delta)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epsilon
	}
	if alone(2106) <= alone(2105) {
		t.Error("the accountant says no more of 2,106: nothing is tested")
	}
	least, err := proto.GuaranteeWith(2105)
	if err != nil {
		t.Fatal(err)
	}
	for _, honest := range []int{2106, 2107, 3000} {
		if g, err := proto.GuaranteeWith(honest); err != nil || g.Epsilon > least.Epsilon {
			t.Errorf("%d: %v (%v), and %v of 2,105", honest, g, err, least)
		}
	}
}
