package sumprivacy_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

func planOf(noise, law string, epsilon float64) plan.Plan {
	return plan.Plan{
		Budget: plan.Budget{Epsilon: epsilon, Delta: 1e-6, Adjacency: "replacement"}, Crowd: plan.Crowd{Minimum: 1000},
		Route: plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Noise: noise, Law: law}},
	}
}

// The noise that is found keeps the budget by the exact accountant, whoever adds it, and a
// tenth less would not.
func TestCalibratedNoiseKeepsTheBudget(t *testing.T) {
	for _, c := range []struct{ noise, law string }{
		{plan.NoiseAggregators, ""}, {plan.NoiseAggregators, plan.LawLaplace}, {plan.NoiseAggregators, plan.LawGaussian},
		{plan.NoiseShared, plan.LawLaplace}, {plan.NoiseShared, plan.LawGaussian}, {plan.NoiseDevices, ""},
		{"", plan.LawLaplace}, {"", plan.LawGaussian}, // a table's holder
	} {
		for _, changed := range []int{2, 6} {
			p := planOf(c.noise, c.law, 1)
			s, err := sumprivacy.Calibrate(p, changed)
			if err != nil {
				t.Fatal(err)
			}
			spent := func(factor float64) float64 {
				less, q := s, p
				less.Decay, less.Sigma = s.Decay/factor, s.Sigma*factor
				q.Route.Sum = &less
				one, delta := account.Event(nil), p.Budget.Delta
				if c.noise == plan.NoiseDevices {
					d := sumprivacy.DevicesOf(q, changed)
					one = d.Event(d.Noise.Users)
					delta -= (1 + math.Exp(p.Budget.Epsilon)) * d.Cut(changed)
				} else {
					one = sumprivacy.Aggregators(less, sumprivacy.Promised(less))
				}
				g, err := account.Epsilon(account.Repeat{Event: one, Rounds: changed}, delta)
				if err != nil {
					t.Fatal(err)
				}
				return g.Epsilon
			}
			if e := spent(1); e > 1 {
				t.Errorf("%v, %d numbers: epsilon %v", c, changed, e)
			}
			if e := spent(0.9); e <= 1 {
				t.Errorf("%v, %d numbers: a tenth less noise keeps epsilon %v as well", c, changed, e)
			}
		}
	}
}

// Where no law is named, the one that errs less is taken.
func TestTheLawThatErrsLess(t *testing.T) {
	for changed, want := range map[int]string{2: plan.LawLaplace, 400: plan.LawGaussian} {
		s, err := sumprivacy.Calibrate(planOf(plan.NoiseAggregators, "", 1), changed)
		if err != nil {
			t.Fatal(err)
		}
		if s.Law != want {
			t.Errorf("%d numbers: the law is %s", changed, s.Law)
		}
		least := math.Inf(1)
		for _, law := range []string{plan.LawLaplace, plan.LawGaussian} {
			p := planOf(plan.NoiseAggregators, law, 1)
			with, err := sumprivacy.Calibrate(p, changed)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, sum.Total(with).Variance)
		}
		if got := sum.Total(s); got.Variance != least {
			t.Errorf("%d numbers: variance %v, and the least is %v", changed, got.Variance, least)
		}
	}
}

// A device's numbers stay in the range that its proof has, and hold what they were but for noise.
func TestSharesStayInReach(t *testing.T) {
	p := planOf(plan.NoiseDevices, plan.LawLaplace, 8)
	p.Crowd.Minimum = 2
	p.Route.Sum.Decay = 0.05
	d := sumprivacy.DevicesOf(p, 2)
	r, moved := stattest.Rand(t), false
	for range 2000 {
		vector := []uint64{0, 1}
		d.Add(r, vector)
		for i, x := range vector {
			if z := int(x) - d.Reach() - i; z > d.Reach() || z < -d.Reach() {
				t.Fatalf("a share of %d, beyond %d", z, d.Reach())
			} else if z != 0 {
				moved = true
			}
		}
	}
	if !moved {
		t.Error("no device adds anything")
	}
}
