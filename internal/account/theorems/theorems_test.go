package theorems_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// value is the number of a theorem, in its domain or not.
func value(t testing.TB, number float64, err error, inDomain bool) float64 {
	t.Helper()
	var domain *theorems.DomainError
	if inDomain {
		if err != nil {
			t.Errorf("in its domain: %v", err)
		}
		return number
	}
	if !errors.As(err, &domain) {
		t.Fatalf("outside its domain: %v, want a DomainError", err)
	}
	return domain.Formula
}

// No theorem promises less than the exact accountant knows to be lost.
func TestTheoremsAgainstExact(t *testing.T) {
	exact := func(e account.Event, delta float64) float64 {
		t.Helper()
		g, err := account.LowerEpsilon(e, delta)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epsilon
	}
	const delta = 1e-6
	for _, n := range []int{2000, 20000} {
		for _, epsilon := range []float64{0.3, 0.6, 0.9} {
			for name, lambda := range map[string]func(n int, epsilon, delta float64) (float64, error){"Lemma 4.8": theorems.CheuLemma48, "Corollary 4.7": theorems.CheuCorollary47Lambda} {
				if lambda, err := lambda(n, epsilon, delta); err == nil {
					if e := exact(shuffle.RandomizedResponse{Users: n, Flip: lambda / float64(2*n)}, delta); e > epsilon {
						t.Errorf("%s, n=%d: %v promised, %v lost", name, n, epsilon, e)
					}
				}
			}
			f, err := bitnoise.GKMP20Theorem1(epsilon, delta, 0.2)
			if err != nil {
				t.Fatal(err)
			}
			if e := exact(bitnoise.ThreeNB{Noise: f.Noise, FloodShape: f.Shape, FloodProb: f.Prob}, delta); e > epsilon {
				t.Errorf("flood %+v: %v promised, %v lost", f, epsilon, e)
			}
		}
	}
}

func TestFlipProbabilities(t *testing.T) {
	type row struct {
		N          int
		Eps, Delta float64
		Lemma48    float64  `json:"lemma48_lambda"`
		Lemma48In  bool     `json:"lemma48_in_domain"`
		Cor47      *float64 `json:"cor47_lambda"`
	}
	for _, r := range accounttest.Rows[row](t, "theorem_flip_probabilities.json") {
		lambda, err := theorems.CheuLemma48(r.N, r.Eps, r.Delta)
		accounttest.Within(t, "Lemma 4.8", value(t, lambda, err, r.Lemma48In), r.Lemma48, 1e-12)
		lambda, err = theorems.CheuCorollary47Lambda(r.N, r.Eps, r.Delta)
		if (err == nil) != (r.Cor47 != nil) {
			t.Errorf("n=%d eps=%v: Corollary 4.7: %v", r.N, r.Eps, err)
		}
		if err == nil {
			accounttest.Within(t, "Corollary 4.7", lambda, *r.Cor47, 1e-10)
		}
	}
}

func TestPublishedFloods(t *testing.T) {
	type row struct {
		Eps    float64 `json:"eps0"`
		Delta  float64 `json:"delta0"`
		N      int
		Recipe string
		Params struct{ E1, R, P float64 }
		RMSE   float64
		Extra  float64 `json:"extra_messages_per_user"`
	}
	for _, r := range accounttest.Rows[row](t, "theorem_threenb.json") {
		gamma := 0.01
		if strings.HasSuffix(r.Recipe, "0.2") {
			gamma = 0.2
		}
		if strings.HasPrefix(r.Recipe, "GKMPS21") {
			continue // the lab's
		}
		f, err := bitnoise.GKMP20Theorem1(r.Eps, r.Delta, gamma)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, r.Recipe+": e1", f.Noise, r.Params.E1, 1e-12)
		accounttest.Within(t, r.Recipe+": r", f.Shape, r.Params.R, 1e-12)
		accounttest.Within(t, r.Recipe+": 1-p", 1-f.Prob, 1-r.Params.P, 1e-7)
		e := bitnoise.ThreeNB{Users: r.N, Noise: f.Noise, FloodShape: f.Shape, FloodProb: f.Prob}
		accounttest.Within(t, r.Recipe+": RMSE", e.RMSE(), r.RMSE, 1e-12)
		accounttest.Within(t, r.Recipe+": messages", e.MessagesPerUser(), r.Extra, 1e-6)
	}
	f, err := bitnoise.KDEAppendixA2(0.5, 1e-8, bitnoise.KDEPrintedShare)
	if err != nil {
		t.Fatal(err)
	}
	accounttest.Within(t, "A.2 e1", f.Noise, 0.495, 1e-12)
	accounttest.Within(t, "A.2 r'", f.Shape, 3*(1+math.Log(2*math.Exp(0.495)/1e-8)), 1e-12)
}

func TestKDETheorem32(t *testing.T) {
	bitsum := account.Guarantee{Epsilon: 0.006481854116738178, Delta: 1e-6 / 768 / 2, Adjacency: account.Replacement, Trust: account.Shuffled, Users: 40000, Rounds: 1, Bound: account.Upper}
	g, err := theorems.KDETheorem32(bitsum, 1, 768, 0.5e-6)
	if err != nil {
		t.Fatal(err)
	}
	// The split by which the reference chose epsilon0 for epsilon = 1, delta = 1e-6.
	accounttest.Within(t, "epsilon", g.Epsilon, 1, 1e-9)
	accounttest.Within(t, "delta", g.Delta, 1e-6, 1e-9)
	if twice, err := theorems.KDETheorem32(bitsum, 2, 768, 0.5e-6); err != nil || twice.Epsilon <= 2*g.Epsilon {
		t.Errorf("two coordinates: %v, %v", twice.Epsilon, err)
	}
}

// Corollary A.2 against the chain of two randomized responses, enumerated.
func TestESATheoremIV1(t *testing.T) {
	for _, a := range []float64{0.01, 0.3, 1, 2.5, 9} {
		for _, b := range []float64{0.02, 0.9, 1.1, 4, 12} {
			p, q := 1/(1+math.Exp(-a)), 1/(1+math.Exp(-b))
			same := p*q + (1-p)*(1-q)
			got, err := theorems.ESATheoremIV1(a, b, 1)
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, "epsilon", got, math.Log(same/(p*(1-q)+(1-p)*q)), 1e-10)
			if got > math.Min(a, b) {
				t.Errorf("chain of %v and %v is %v", a, b, got)
			}
		}
	}
	for seen := 1; seen < 50; seen++ {
		now, err := theorems.ESATheoremIV1(3, 1, seen)
		next, err2 := theorems.ESATheoremIV1(3, 1, seen+1)
		if err != nil || err2 != nil || now > next || next > 3 {
			t.Errorf("%d fragments %v, %d fragments %v", seen, now, seen+1, next)
		}
	}
}
