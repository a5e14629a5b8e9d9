package sgd

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/lab/experiments"
)

func madeUp(t testing.TB) *dataset.Set {
	t.Helper()
	set, err := dataset.Generate(1, dataset.GenerateOptions{Train: 800, Test: 500})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func measured(t testing.TB, g experiments.Gradient) Result {
	t.Helper()
	g.Delta, g.Architecture, g.Momentum = 1e-6, "linear", 0.5
	r, err := Run(Cell{Gradient: g, Seed: 1}, madeUp(t), func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every report teaches a model, and is stated with what it costs; with no privacy more is
// learned from the same rounds.
func TestEveryReportTeaches(t *testing.T) {
	free := measured(t, experiments.Gradient{Report: experiments.NoPrivacy, Rounds: 3})
	for name, c := range map[string]experiments.Gradient{
		"direction": {Report: gradient.Direction, Rounds: 3, LocalEpsilon: 6},
		"cap":       {Report: gradient.Cap, Rounds: 3, LocalEpsilon: 5},
		"vector":    {Report: gradient.Vector, Rounds: 3, Epsilon: 4},
		"curator":   {Report: experiments.Curator, Rounds: 3, Epsilon: 2, Users: 200},
	} {
		r := measured(t, c)
		t.Logf("%s: accuracy %.3f of %.3f, epsilon %.3g, noise %.3g (%.3g of a curator's)", name, r.Accuracy, free.Accuracy, *r.Epsilon, r.Noise, r.NoiseRatio)
		if r.Accuracy < 0.35 || len(r.Curve) != 3 || r.Learned != free.Learned || c.Epsilon > 0 && (*r.Epsilon > c.Epsilon || *r.Epsilon < 0.9*c.Epsilon) {
			t.Errorf("%s: %+v", name, r)
		}
		if want := map[bool]account.Trust{false: account.Shuffled, true: account.Central}[c.Baseline()]; r.Trust != want {
			t.Errorf("%s relies on %q, want %q", name, r.Trust, want)
		}
		if c.LocalEpsilon > 0 && (math.Abs(*r.LocalTotal-3*c.LocalEpsilon) > 1e-9 || *r.Local != c.LocalEpsilon) {
			t.Errorf("%s: local %v a round, %v in all", name, *r.Local, *r.LocalTotal)
		}
		if ratio := r.NoiseRatio; c.Report != experiments.Curator && (ratio < 0.95 || ratio > 40) {
			t.Errorf("%s: %v of a curator's noise", name, ratio)
		}
	}
}

// Cohorts are disjoint until everybody has answered: then a second answer is composed.
func TestCohortsAnswerInTurn(t *testing.T) {
	s := &study{Cell: Cell{Gradient: experiments.Gradient{Users: 3}}, order: []int{5, 1, 4, 0, 2, 3, 6}}
	s.values = seven()
	first, second, third := s.cohort(0), s.cohort(1), s.cohort(2)
	if first[0] != 5 || second[0] != 0 || third[0] != 5 {
		t.Errorf("cohorts %v, %v, %v", first, second, third)
	}
	set := madeUp(t)
	for _, c := range []struct{ users, rounds, answers int }{{0, 3, 3}, {200, 4, 1}, {200, 5, 2}, {300, 3, 2}} {
		p, err := prepare(Cell{Gradient: experiments.Gradient{Architecture: "linear"}}, set, "", func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		p.values = p.values[:800]
		s, err := newStudy(Cell{Gradient: experiments.Gradient{Architecture: "linear", Report: gradient.Direction, Users: c.users, Rounds: c.rounds, LocalEpsilon: 1, Delta: 1e-6, Clip: 1, Rate: 1}}, p)
		if err != nil || s.answers != c.answers {
			t.Errorf("%+v: %d answers: %v", c, s.answers, err)
		}
	}
}

func seven() (values []question.Value) {
	for i := range 7 {
		values = append(values, i)
	}
	return values
}

// What the curator's Gaussian needs is what the accountant says of a Gaussian.
func TestTheCuratorsNoiseIsKnown(t *testing.T) {
	s := &study{Cell: Cell{Gradient: experiments.Gradient{Users: 60_000, Delta: 1e-6, Clip: 1}}, answers: 1}
	mu := 0.2367 // of epsilon 1 at delta 1e-6
	if got, want := s.gaussian(1), 2/(mu*60_000); math.Abs(got/want-1) > 1e-3 {
		t.Errorf("a curator's noise is %v, want %v", got, want)
	}
}

func TestBadCellsAreNamed(t *testing.T) {
	good := experiments.Gradient{Architecture: "linear", Report: gradient.Direction, Rounds: 1, Delta: 1e-6, LocalEpsilon: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(c *experiments.Gradient){
		"architecture": func(c *experiments.Gradient) { c.Architecture = "xv" }, "report": func(c *experiments.Gradient) { c.Report = "sum" }, "rounds": func(c *experiments.Gradient) { c.Rounds = 0 },
		"delta": func(c *experiments.Gradient) { c.Delta = 1 }, "no epsilon": func(c *experiments.Gradient) { c.LocalEpsilon = 0 }, "vector": func(c *experiments.Gradient) { c.Report = gradient.Vector },
		"bits": func(c *experiments.Gradient) { c.Bits = 9 }, "momentum": func(c *experiments.Gradient) { c.Momentum = 1 }, "users": func(c *experiments.Gradient) { c.Users = -1 },
	} {
		c := good
		if spoil(&c); c.Validate() == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
