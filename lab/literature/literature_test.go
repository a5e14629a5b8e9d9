package literature_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/lab/literature"
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

func TestPublishedBounds(t *testing.T) {
	type row struct {
		N                 int
		Eps               float64 `json:"eps_local"`
		Delta             float64
		Lam               float64
		Exact             float64 `json:"exact_eps"`
		ThmIII1           float64 `json:"esa_thm_III_1"`
		ThmIII1In         bool    `json:"esa_thm_III_1_in_domain"`
		LemmaII6          float64 `json:"lemma_II_6_cor_4_7"`
		LemmaII6In        bool    `json:"lemma_II_6_in_domain"`
		ClonesClosed      float64 `json:"fmt_clones_closed"`
		ClonesIn          bool    `json:"fmt_clones_in_domain"`
		StrongerClosed    float64 `json:"fmt_stronger_closed"`
		StrongerIn        bool    `json:"fmt_stronger_in_domain"`
		EsaOverExact      float64 `json:"esa_over_exact"`
		LemmaOverExact    float64 `json:"lemma_over_exact"`
		StrongerNumerical float64 `json:"stronger_clones_numeric"`
	}
	for _, r := range accounttest.Rows[row](t, "theorem_published_bounds.json") {
		g, err := literature.ESATheoremIII1(r.N, r.Eps, r.Delta)
		accounttest.Within(t, "Theorem III.1", value(t, g.Epsilon, err, r.ThmIII1In), r.ThmIII1, 1e-12)
		g, err = literature.ESALemmaII6(r.N, r.Lam, r.Delta)
		accounttest.Within(t, "Lemma II.6", value(t, g.Epsilon, err, r.LemmaII6In), r.LemmaII6, 1e-12)
		if err == nil && g.Epsilon < r.Exact {
			t.Errorf("Lemma II.6 = %v below the exact %v", g.Epsilon, r.Exact)
		}
		g, err = literature.CheuCorollary47(r.N, r.Lam, r.Delta)
		accounttest.Within(t, "Corollary 4.7", value(t, g.Epsilon, err, r.LemmaII6In), r.LemmaII6, 1e-12)
		g, err = literature.ClonesClosedForm(r.N, r.Eps, r.Delta)
		accounttest.Within(t, "clones, closed", value(t, g.Epsilon, err, r.ClonesIn), r.ClonesClosed, 1e-12)
		g, err = literature.StrongerClonesClosedForm(r.N, r.Eps, r.Delta)
		accounttest.Within(t, "stronger clones, closed", value(t, g.Epsilon, err, r.StrongerIn), r.StrongerClosed, 1e-12)
	}
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
			if flip, err := literature.CheuZhilyaevFlip(n, epsilon, delta); err == nil {
				if e := exact(shuffle.RandomizedResponse{Users: n, Flip: flip}, delta); e > epsilon {
					t.Errorf("Cheu and Zhilyaev, n=%d: %v promised, %v lost", n, epsilon, e)
				}
			}
			f, err := literature.GKMPS21Lemma9(epsilon, delta, 0.2)
			if err != nil {
				t.Fatal(err)
			}
			if e := exact(bitnoise.ThreeNB{Noise: f.Noise, FloodShape: f.Shape, FloodProb: f.Prob}, delta); e > epsilon {
				t.Errorf("flood %+v: %v promised, %v lost", f, epsilon, e)
			}
			mean, err := literature.GKMP20Theorem11(epsilon, delta)
			if err != nil {
				t.Fatal(err)
			}
			if e := exact(bitnoise.PoissonSum{Users: n, Mean: mean}, delta); e > epsilon {
				t.Errorf("Theorem 11: %v promised, %v lost", epsilon, e)
			}
			if gamma, err := literature.BalleTheorem31(n, 2, epsilon, delta); err == nil {
				if e := exact(shuffle.RandomizedResponse{Users: n, Flip: gamma / 2}, delta); e > epsilon {
					t.Errorf("Balle Theorem 3.1: %v promised, %v lost", epsilon, e)
				}
			}
		}
		for _, local := range []float64{1, 1.5, 3} {
			if g, err := literature.ESATheoremIII1(n, local, delta); err == nil {
				if e := exact(shuffle.OneHot{Users: n, Flip: shuffle.FlipOf(local), Adjacency: account.Removal, Keep: 0}, delta); e > g.Epsilon {
					t.Errorf("Theorem III.1, n=%d: %v promised, %v lost", n, g.Epsilon, e)
				}
			}
			const rounds = 5
			if g, err := literature.ESATheoremVI1(n, local, rounds, delta); err == nil {
				line := shuffle.RandomizedResponse{Users: n, Flip: shuffle.FlipOf(local)} // directions in one dimension
				if e := exact(account.Repeat{Event: line, Rounds: rounds}, delta); e > g.Epsilon || g.Rounds != rounds || g.Delta != delta {
					t.Errorf("Theorem VI.1, n=%d: %v promised, %v lost", n, g, e)
				}
			} else if local <= math.Log(float64(n))/4 {
				t.Errorf("Theorem VI.1, n=%d, local %v: %v", n, local, err)
			}
			if g, err := literature.ErlingssonTheorem7(n, local/10, delta); err == nil {
				if e := exact(amplify.AnyRandomizer{Users: n, Epsilon: local / 10}, delta); e > g.Epsilon {
					t.Errorf("Theorem 7, n=%d: %v promised, %v lost", n, g.Epsilon, e)
				}
			}
		}
	}
}

func TestFlipProbabilities(t *testing.T) {
	type row struct {
		N             int
		Eps, Delta    float64
		Lemma48       float64  `json:"lemma48_lambda"`
		Lemma48In     bool     `json:"lemma48_in_domain"`
		Cor47         *float64 `json:"cor47_lambda"`
		CheuZhilyaevP *float64 `json:"cheu_zhilyaev_flip"`
	}
	for _, r := range accounttest.Rows[row](t, "theorem_flip_probabilities.json") {
		lambda, err := theorems.CheuLemma48(r.N, r.Eps, r.Delta)
		accounttest.Within(t, "Lemma 4.8", value(t, lambda, err, r.Lemma48In), r.Lemma48, 1e-12)
		if err == nil {
			// The lemma follows from the corollary, so its lambda must satisfy it.
			g, err := literature.CheuCorollary47(r.N, lambda, r.Delta)
			if err != nil || g.Epsilon > r.Eps {
				t.Errorf("n=%d eps=%v: Lemma 4.8's lambda has %v by Corollary 4.7 (%v)", r.N, r.Eps, g.Epsilon, err)
			}
		}
		lambda, err = theorems.CheuCorollary47Lambda(r.N, r.Eps, r.Delta)
		if (err == nil) != (r.Cor47 != nil) {
			t.Errorf("n=%d eps=%v: Corollary 4.7: %v", r.N, r.Eps, err)
		}
		if err == nil {
			accounttest.Within(t, "Corollary 4.7", lambda, *r.Cor47, 1e-10)
			if g, err := literature.CheuCorollary47(r.N, lambda, r.Delta); err != nil || g.Epsilon > r.Eps {
				t.Errorf("n=%d: lambda %v for epsilon %v gives %v, %v", r.N, lambda, r.Eps, g.Epsilon, err)
			}
		}
		// The reference keeps only flips of epsilon < 1 for which its bound has a
		// root in its own stricter domain; ours must agree wherever it has one.
		if flip, err := literature.CheuZhilyaevFlip(r.N, r.Eps, r.Delta); r.CheuZhilyaevP != nil {
			if err != nil {
				t.Errorf("n=%d eps=%v: Cheu and Zhilyaev: %v", r.N, r.Eps, err)
			}
			accounttest.Within(t, "Cheu and Zhilyaev", flip, *r.CheuZhilyaevP, 1e-12)
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
		if !strings.HasPrefix(r.Recipe, "GKMPS21") {
			continue // package theorems has the others
		}
		f, err := literature.GKMPS21Lemma9(r.Eps, r.Delta, gamma)
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
	if _, err := literature.KDETheorem32Pure(bitsum, 1, 768); err == nil {
		t.Error("the pure variant took a bitsum with delta")
	}
	bitsum.Delta = 0
	if g, err := literature.KDETheorem32Pure(bitsum, 2, 100); err != nil || g.Delta != 0 {
		t.Errorf("pure: %v, %v", g, err)
	} else {
		accounttest.Within(t, "pure epsilon", g.Epsilon, 200*bitsum.Epsilon, 1e-12)
	}
	// One coordinate, beta 0, exact sums: 4 R^2/sqrt(I).
	e, err := literature.KDESupRMSE(0, math.Sqrt2, 1, 400, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	accounttest.Within(t, "supRMSE", e, 4*2/20.0, 1e-12)
	g.Adjacency = account.Replacement
	model, err := literature.KDECorollary34(g, 2, literature.ModelThreat)
	if err != nil || model.Epsilon != g.Epsilon || !strings.Contains(model.Method, "reported label fixed") {
		t.Errorf("model threat: %v, %v", model, err)
	}
	both, err := literature.KDECorollary34(g, 2, literature.CommunicationThreat)
	if err != nil || both.Epsilon < g.Epsilon+2 {
		t.Errorf("communication threat: %v, %v", both, err)
	}
	if _, err := literature.KDECorollary34(g, 2, "none"); err == nil {
		t.Error("an unknown threat model was taken")
	}
}

// Corollary A.2 against the chain of two randomized responses, enumerated.
func TestESACorollaryA2(t *testing.T) {
	for _, a := range []float64{0.01, 0.3, 1, 2.5, 9} {
		for _, b := range []float64{0.02, 0.9, 1.1, 4, 12} {
			p, q := 1/(1+math.Exp(-a)), 1/(1+math.Exp(-b))
			same := p*q + (1-p)*(1-q)
			got, err := literature.ESACorollaryA2(a, b)
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, "epsilon", got, math.Log(same/(p*(1-q)+(1-p)*q)), 1e-10)
			if got > math.Min(a, b) {
				t.Errorf("chain of %v and %v is %v", a, b, got)
			}
		}
	}
}

func TestESATheoremIV2(t *testing.T) {
	// Few reports of little noise: the second term, Theorem III.1 at the backstop.
	g, err := literature.ESATheoremIV2(100000, 4, 4, 16, 1e-6)
	want, err2 := literature.ESATheoremIII1(100000, 4, 1e-6)
	if err != nil || err2 != nil || g.Epsilon != want.Epsilon || g.Adjacency != account.Removal {
		t.Errorf("%v, %v, %v", g, err, err2)
	}
	// A backstop beyond its domain leaves the rows.
	g, err = literature.ESATheoremIV2(100000, 12, 1.5, 4, 1e-6)
	if err != nil || !strings.Contains(g.Method, "first term") {
		t.Errorf("%v, %v", g, err)
	}
	var domain *theorems.DomainError
	if _, err := literature.ESATheoremIV2(100, 12, 8, 4, 1e-6); !errors.As(err, &domain) {
		t.Errorf("neither term in its domain: %v", err)
	}
}

func TestESALemmaII5(t *testing.T) {
	g, err := literature.ESALemmaII5(100000, 1, 1e-6)
	if err != nil || !(g.Epsilon > 0.0124 && g.Epsilon < 0.06) {
		t.Errorf("%v, %v", g, err)
	}
	var domain *theorems.DomainError
	if _, err := literature.ESALemmaII5(1000, 3, 1e-6); !errors.As(err, &domain) || !(domain.Formula > 0) {
		t.Errorf("epsilon local above its domain: %v", err)
	}
}
