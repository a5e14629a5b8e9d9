package literature_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/lab/labeldp"
	"github.com/confetti-dp/confetti/lab/literature"
)

func number(t testing.TB, x float64, err error) float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Closed forms of composition against a reference.
func TestCompositionVectors(t *testing.T) {
	type row struct {
		Mechanism  string
		K, N       int
		Delta      float64
		Single     float64 `json:"single_round_eps_at_delta_over_2k"`
		DRV        float64 `json:"drv_advanced"`
		Tanh       float64 `json:"drv_tight_tanh"`
		BunSteinke float64 `json:"bun_steinke_cor8_11"`
		KOV        float64 `json:"kov_optimal"`
	}
	compared := 0
	for _, r := range accounttest.Core[row](t, "b_composition", "rows") {
		if r.K <= 1 || r.KOV <= 0 {
			continue
		}
		compared++
		what := fmt.Sprintf("%s n=%d k=%d delta=%v", r.Mechanism, r.N, r.K, r.Delta)
		for _, c := range []struct {
			name string
			f    func(epsilon float64, k int, slack float64) (float64, error)
			want float64
		}{{"DRV", literature.DworkRothblumVadhan, r.DRV}, {"tanh", literature.DworkRothblumVadhanTight, r.Tanh}, {"Bun-Steinke", literature.BunSteinke, r.BunSteinke}} {
			got, err := c.f(r.Single, r.K, r.Delta/2)
			accounttest.Within(t, what+" "+c.name, number(t, got, err), c.want, 1e-9)
		}
	}
	if compared == 0 {
		t.Error("no vectors")
	}
	type kfold struct {
		BaseEps float64 `json:"base_eps"`
		K       int
		Delta   float64
		DRV     float64
		Bun     float64 `json:"bun_steinke"`
	}
	for _, r := range accounttest.Core[kfold](t, "g_extra", "kfold_pure_rr_or_discrete_laplace") {
		what := fmt.Sprintf("e=%v k=%d delta=%v", r.BaseEps, r.K, r.Delta)
		drv, err := literature.DworkRothblumVadhan(r.BaseEps, r.K, r.Delta)
		accounttest.Within(t, what+" DRV", number(t, drv, err), r.DRV, 1e-12)
		bun, err := literature.BunSteinke(r.BaseEps, r.K, r.Delta)
		accounttest.Within(t, what+" Bun-Steinke", number(t, bun, err), r.Bun, 1e-12)
	}
}

// The privacy blanket against a reference; inequalities on top of a decomposition cannot beat its
// exact law.
func TestBlanketVectors(t *testing.T) {
	type row struct {
		N                int
		Eps              float64 `json:"eps0"`
		Delta            float64
		HoeffdingSymbols float64 `json:"balle_hoeffding_rr"`
		BennettSymbols   float64 `json:"balle_bennett_rr"`
		HoeffdingGeneric float64 `json:"balle_hoeffding_generic"`
		BennettGeneric   float64 `json:"balle_bennett_generic"`
	}
	epsilon := func(g account.Guarantee, err error) float64 {
		t.Helper()
		return number(t, g.Epsilon, err)
	}
	for _, r := range accounttest.Rows[row](t, "amplification_bounds.json") {
		if testing.Short() && r.N > 100000 {
			continue
		}
		clones := epsilon(account.Epsilon(amplify.AnyRandomizer{Users: r.N, Epsilon: r.Eps}, r.Delta))
		accounttest.Within(t, "blanket of RR, Hoeffding", epsilon(literature.BlanketSymbols(r.N, 2, r.Eps, r.Delta, literature.Hoeffding)), r.HoeffdingSymbols, 1e-5)
		accounttest.Within(t, "blanket of RR, Bennett", epsilon(literature.BlanketSymbols(r.N, 2, r.Eps, r.Delta, literature.Bennett)), r.BennettSymbols, 1e-5)
		hoeffding := epsilon(literature.BlanketAny(r.N, r.Eps, r.Delta, literature.Hoeffding))
		accounttest.Within(t, "blanket, Hoeffding", hoeffding, r.HoeffdingGeneric, 1e-5)
		bennett := epsilon(literature.BlanketAny(r.N, r.Eps, r.Delta, literature.Bennett))
		accounttest.Within(t, "blanket, Bennett", bennett, r.BennettGeneric, 1e-5)
		// Inequalities on top of the same decomposition cannot beat its exact law.
		if min(hoeffding, bennett) < clones {
			t.Errorf("n=%d eps0=%v: blanket inequalities give %v and %v, the exact clones %v", r.N, r.Eps, hoeffding, bennett, clones)
		}
	}
}

// Every bound falls with more users and with delta, and grows with epsilon0.
func TestBlanketsAreMonotone(t *testing.T) {
	for name, bound := range map[string]func(n int, epsilon0, delta float64) (account.Guarantee, error){
		"Hoeffding": func(n int, e, d float64) (account.Guarantee, error) {
			return literature.BlanketAny(n, e, d, literature.Hoeffding)
		},
		"Bennett": func(n int, e, d float64) (account.Guarantee, error) {
			return literature.BlanketAny(n, e, d, literature.Bennett)
		},
		"ternary": func(n int, e, d float64) (account.Guarantee, error) {
			return literature.BlanketSymbols(n, 3, e, d, literature.Hoeffding)
		},
	} {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 3000).Draw(t, "n")
			epsilon0 := rapid.Float64Range(0.01, 6).Draw(t, "epsilon0")
			delta := math.Exp(rapid.Float64Range(-30, -2).Draw(t, "log delta"))
			at := func(n int, e, d float64) float64 {
				g, err := bound(n, e, d)
				if err != nil {
					t.Fatal(err)
				}
				if g.Epsilon > e*(1+1e-9) {
					t.Fatalf("%s: %v of a local epsilon of %v", name, g.Epsilon, e)
				}
				return g.Epsilon
			}
			here := at(n, epsilon0, delta) * (1 + 1e-9)
			if more := at(2*n, epsilon0, delta); more > here {
				t.Fatalf("%s: %v with twice the users, %v before", name, more, here)
			}
			if more := at(n, epsilon0, 2*delta); more > here {
				t.Fatalf("%s: %v at twice delta, %v before", name, more, here)
			}
			if less := at(n, epsilon0*0.9, delta); less > here {
				t.Fatalf("%s: %v at a smaller local epsilon, %v before", name, less, here)
			}
		})
	}
}

// The printed lemma of peers is far above the exact law, and has its domain.
func TestPeersAsPrinted(t *testing.T) {
	const delta = 1e-3
	learner, err := account.Epsilon(labeldp.Peers{Users: 200, Answers: 200, Flip: 0.1}, delta)
	if err != nil {
		t.Fatal(err)
	}
	lemma, err := literature.PeerToPeer(600, 1, 0.1, delta)
	if err != nil || math.Abs(lemma.Epsilon-2.664) > 1e-3 || lemma.Epsilon < learner.Epsilon {
		t.Errorf("Lemma 9 gives %v (%v)", lemma.Epsilon, err)
	}
	if _, err := literature.PeerToPeer(600, 1, 0.02, delta); err == nil {
		t.Error("Lemma 9 outside its domain")
	}
	if flip, err := literature.PeerFlip(600, 1); err == nil || flip < 1 {
		t.Errorf("Theorem 3 flips labels with %v in clusters of 600", flip)
	}
	if flip, err := literature.PeerFlip(20_000, 1); err != nil || flip > 0.4 {
		t.Errorf("Theorem 3 flips labels with %v in clusters of 20,000: %v", flip, err)
	}
}

// The calibrated Poisson noise is less than half of the published.
func TestPoissonMeanBesideThePublished(t *testing.T) {
	published, err := literature.GKMP20Theorem11(0.5, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	p, err := bitnoise.PoissonMean(10000, 1, 0.5, 1e-6)
	if err != nil || p.Mean > published/2 {
		t.Errorf("calibrated mean %v, published %v, %v", p.Mean, published, err)
	}
}

func TestESATheoremV1(t *testing.T) {
	g, margin, err := literature.ESATheoremV1(1, 1e-6)
	if err != nil || g.Epsilon != 1 || g.Adjacency != account.Replacement {
		t.Errorf("%v, %v", g, err)
	}
	accounttest.Within(t, "margin", margin, 2*math.Log(2e6), 1e-12)
	if _, _, err := literature.ESATheoremV1(3.3, 1e-6); err == nil {
		t.Error("taken beyond e^(epsilon/2) = 5")
	}
}

// BenchmarkFormula is a closed form of each kind.
func BenchmarkFormula(b *testing.B) {
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"bun-steinke", func() error { _, err := literature.BunSteinke(0.01, 768, 1e-6); return err }},
		{"stronger-clones", func() error { _, err := literature.StrongerClonesClosedForm(40_000, 1, 1e-6); return err }},
		{"cheu-4.7", func() error { _, err := literature.CheuCorollary47(40_000, 5000, 1e-6); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
