package shuffle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/rdp"
	"github.com/confetti-dp/confetti/internal/prob"
)

func TestVectorsExactSmall(t *testing.T) {
	type row struct {
		N          int
		FlipProb   accounttest.Number `json:"flip_prob"`
		EpsOfDelta map[string]struct {
			Eps accounttest.Number
		} `json:"eps_of_delta"`
		DeltaOfEps []struct{ Eps, Delta accounttest.Number } `json:"delta_of_eps"`
	}
	for _, r := range accounttest.Core[row](t, "a_exact_small", "rows") {
		// Without neglect: the reference is exact to 1e-12.
		s := single{r.N, RandomizedResponse{r.N, float64(r.FlipProb)}.bit(), account.Options{}}
		for delta, want := range r.EpsOfDelta {
			d, _ := strconv.ParseFloat(delta, 64)
			got, err := s.Epsilon(d)
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, fmt.Sprintf("n=%d epsilon(%s)", r.N, delta), got, float64(want.Eps), 1e-12)
		}
		for _, want := range r.DeltaOfEps {
			got, err := s.Delta(float64(want.Eps))
			if err != nil {
				t.Fatal(err)
			}
			// Near the end of the profile delta's own terms cancel.
			accounttest.Within(t, fmt.Sprintf("n=%d delta(%v)", r.N, want.Eps), got, float64(want.Delta), 1e-12)
		}
	}
}

func TestVectorsExactLarge(t *testing.T) {
	type row struct {
		N           int
		Eps0, Delta float64
		FlipProb    float64 `json:"flip_prob"`
		ExactEps    float64 `json:"exact_eps"`
		AllK        bool    `json:"all_k"`
		Unanimous   float64 `json:"exact_eps_unanimous"`
		Balanced    float64 `json:"exact_eps_balanced_k_half"`
	}
	for _, r := range accounttest.Core[row](t, "a_exact_large", "rows") {
		e := RandomizedResponse{r.N, r.FlipProb}
		what := fmt.Sprintf("n=%d eps0=%v delta=%v", r.N, r.Eps0, r.Delta)
		accounttest.Within(t, what+", unanimous", oneWorld(e, r.N-1, r.Delta), r.Unanimous, 1e-7)
		accounttest.Within(t, what+", balanced", oneWorld(e, r.N/2, r.Delta), r.Balanced, 1e-7)
		device := accounttest.EpsilonFrom(t, account.Epsilon, e, r.Delta)
		if device < r.ExactEps*(1-1e-9) || device > r.ExactEps*1.002 {
			t.Errorf("%s: envelope %v, exact %v", what, device, r.ExactEps)
		}
		if r.N > 10000 {
			continue // every k of a million takes half a minute
		}
		full := accounttest.EpsilonFrom(t, account.Certify, e, r.Delta)
		if r.AllK {
			accounttest.Within(t, what, full, r.ExactEps, 1e-7)
		}
		if full < r.Unanimous*(1-1e-9) {
			t.Errorf("%s: %v below the unanimous data set's %v", what, full, r.Unanimous)
		}
	}
}

// oneWorld is epsilon(delta) of one release if k of the others hold ones.
func oneWorld(e RandomizedResponse, k int, delta float64) float64 {
	var law Others
	_, w := law.law(e.Users-1, k, RandomizedResponse{Flip: e.Flip}.bit(), 1e-25)
	most, above := 0.0, 0.0
	for t := len(w) - 1; t >= 0; t-- {
		most = math.Max(most, (above+(1-e.Flip)*w[t]-delta)/(above+e.Flip*w[t]))
		above += w[t]
	}
	return math.Log(most)
}

// shifted is x + Bin(N, 1/2) with N public: the loss at count j is that of one
// more against j, ln(j/(N-j+1)), and what only x = 1 reaches is infinite.
func shifted(t testing.TB, n int, step float64) *pld.Distribution {
	t.Helper()
	w, err := prob.BinomialWindow(n, 0.5, 1e-280)
	if err != nil {
		t.Fatal(err)
	}
	var atoms []pld.Atom
	infinite := w.Below + w.Above
	for i, m := range w.P {
		j := w.Lo + i + 1
		if j > n {
			infinite += m
			continue
		}
		atoms = append(atoms, pld.Atom{Loss: math.Log(float64(j) / float64(n-j+1)), Mass: m})
	}
	d, err := pld.FromAtoms(atoms, infinite, step)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestVectorsEngine(t *testing.T) {
	type deep struct {
		N, K  int
		Eps   float64
		Delta float64 `json:"delta_tilted"`
	}
	for _, r := range accounttest.Core[deep](t, "g_extra", "deep_tail_binomial_half") {
		// A pitch of a four-hundredth of the spread 2/sqrt(N): deep in the tail
		// delta is more sensitive to the grid than epsilon is.
		c, err := pld.Compose(shifted(t, r.N, 2/math.Sqrt(float64(r.N))/400), r.K)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Delta(r.Eps)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, fmt.Sprintf("N=%d k=%d eps=%v", r.N, r.K, r.Eps), got, r.Delta, 1e-4)
	}
	type row struct {
		Mechanism string
		N, K      int
		Delta     float64
		Upper     float64 `json:"eps_ctd_upper_dx1e-05"`
		Low       float64 `json:"eps_floor_lower_dx2e-06"`
		High      float64 `json:"eps_ceil_upper_dx2e-06"`
	}
	for _, r := range accounttest.Core[row](t, "b_composition", "rows") {
		if !strings.HasPrefix(r.Mechanism, "x+Bin") {
			continue
		}
		c, err := pld.Compose(shifted(t, r.N, 2/math.Sqrt(float64(r.N))/400), r.K)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Epsilon(r.Delta)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("N=%d k=%d delta=%v", r.N, r.K, r.Delta)
		accounttest.Within(t, what, got, r.Upper, 1e-5)
		if r.K > 1 && (got < r.Low || got > r.High) {
			t.Errorf("%s: %v outside [%v, %v]", what, got, r.Low, r.High)
		}
	}
}

func TestVectorsComposition(t *testing.T) {
	type row struct {
		Mechanism   string
		K, N        int
		Delta, Eps0 float64
		FlipProb    float64 `json:"flip_prob"`
		Upper       float64 `json:"eps_ctd_upper_dx1e-05"`
		Envelope    float64 `json:"eps_ctd_upper_dx2e-05"`
		Low         float64 `json:"eps_floor_lower_dx2e-06"`
		High        float64 `json:"eps_ceil_upper_dx2e-06"`
		Single      float64 `json:"single_round_eps_at_delta_over_2k"`
		KOV         float64 `json:"kov_optimal"`
	}
	seen := map[string]int{}
	for _, r := range accounttest.Core[row](t, "b_composition", "rows") {
		what := fmt.Sprintf("%s n=%d k=%d delta=%v", r.Mechanism, r.N, r.K, r.Delta)
		var e account.Event
		switch {
		case strings.Contains(r.Mechanism, "ALL k"):
			e = RandomizedResponse{r.N, r.FlipProb}
			got := accounttest.EpsilonFrom(t, account.Certify, account.Repeat{Event: e, Rounds: r.K}, r.Delta)
			accounttest.Within(t, what, got, r.Envelope, 1e-5)
			seen["all"]++
		case strings.Contains(r.Mechanism, "unanimous"):
			e = RandomizedResponse{r.N, r.FlipProb}
			low := accounttest.EpsilonFrom(t, account.LowerEpsilon, account.Repeat{Event: e, Rounds: r.K}, r.Delta)
			if low > r.High {
				t.Errorf("%s: lower bound %v above the reference's upper %v", what, low, r.High)
			}
			if r.K > 1 {
				accounttest.Within(t, what, low, r.Upper, 1e-3)
			}
			seen["unanimous"]++
		}
		if r.K > 1 && r.KOV > 0 {
			d, k := r.Delta, r.K
			kov, err := profile.KairouzOhViswanath(r.Single, d/2/float64(k), k, d)
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, what+" KOV", kov, r.KOV, 1e-9)
			seen["forms"]++
		}
	}
	if len(seen) != 3 {
		t.Errorf("vectors lack a kind: %v", seen)
	}
}

func TestVectorsThreeNB(t *testing.T) {
	type params struct{ E1, R, P float64 }
	type row struct {
		Eps0, Delta0 float64
		Recipe       string
		Params       params
		Eps          float64 `json:"exact_eps_at_delta0"`
		Delta        float64 `json:"exact_delta_at_eps0"`
		RMSE         float64
		N            float64
		Extra        float64 `json:"extra_messages_per_user"`
	}
	for _, r := range accounttest.Core[row](t, "d_threenb", "rows") {
		e := bitnoise.ThreeNB{Noise: r.Params.E1, FloodShape: r.Params.R, FloodProb: r.Params.P}
		what := fmt.Sprintf("eps0=%v %s", r.Eps0, r.Recipe)
		g, err := account.Epsilon(e, r.Delta0)
		if got := accounttest.EpsilonOf(t, g, err); 1-e.FloodProb > 2e-6 {
			accounttest.Within(t, what+" epsilon", got, r.Eps, 1e-8)
		} else {
			// Two rows take the whole plane as the best set (p >= c), where it is
			// a prefix, and report less than Noise. Yet at epsilon = Noise the set
			// {a <= mode} alone gives (1-e^-Noise) H(mode) >= delta0.
			mode := int((e.FloodShape - 1) * e.FloodProb / (1 - e.FloodProb))
			h := 0.0
			for j := range 1000 {
				h += math.Exp(-2*e.Noise*float64(j) + prob.LogNegativeBinomialPMF(mode-j, e.FloodShape, e.FloodProb))
			}
			if -math.Expm1(-e.Noise)*h > r.Delta0 != (got > e.Noise) {
				t.Errorf("%s: epsilon %v contradicts delta %v at %v", what, got, -math.Expm1(-e.Noise)*h, e.Noise)
			}
			accounttest.Within(t, what+" epsilon", got, r.Eps, 2e-6)
		}
		if r.Delta > 1e-200 {
			g, err = account.Delta(e, r.Eps0)
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, what+" delta", g.Delta, r.Delta, 1e-6)
		}
		accounttest.Within(t, what+" rmse", e.RMSE(), r.RMSE, 1e-12)
		e.Users = int(r.N)
		accounttest.Within(t, what+" messages", e.MessagesPerUser(), r.Extra, 1e-9)
	}
	type check struct {
		E1, R, P, Eps float64
		Forward       float64 `json:"brute_P_vs_Q"`
	}
	for _, c := range accounttest.Core[check](t, "d_threenb", "check") {
		g, err := account.Delta(bitnoise.ThreeNB{Noise: c.E1, FloodShape: c.R, FloodProb: c.P}, c.Eps)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, "brute force", g.Delta, c.Forward, 1e-12)
	}
	type composed struct {
		E1, R, P, Delta, Eps float64
		K                    int
	}
	for _, c := range accounttest.Core[composed](t, "g_extra", "threenb_composed") {
		g, err := account.Epsilon(account.Repeat{Event: bitnoise.ThreeNB{Noise: c.E1, FloodShape: c.R, FloodProb: c.P}, Rounds: c.K}, c.Delta)
		got := accounttest.EpsilonOf(t, g, err)
		// The reference composes one direction; ours covers both.
		if got < c.Eps*(1-1e-4) || got > c.Eps*1.02 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	type directions struct {
		E1, R, P, Delta float64
		K               int
		Envelope        float64 `json:"eps_envelope"`
	}
	for _, c := range accounttest.Core[directions](t, "i_threenb_directions", "rows") {
		g, err := account.Epsilon(account.Repeat{Event: bitnoise.ThreeNB{Noise: c.E1, FloodShape: c.R, FloodProb: c.P}, Rounds: c.K}, c.Delta)
		accounttest.Within(t, "both directions", accounttest.EpsilonOf(t, g, err), c.Envelope, 1e-4)
	}
}

func TestVectorsGaussian(t *testing.T) {
	type row struct {
		Sensitivity accounttest.Number `json:"l2_sensitivity"`
		Eps, Delta  float64
		Sigma       accounttest.Number `json:"sigma_analytic"`
	}
	for _, r := range accounttest.Core[row](t, "e_gaussian", "rows") {
		g, err := account.Delta(central.Gaussian{Sigma: float64(r.Sigma), Sensitivity: float64(r.Sensitivity)}, r.Eps)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, fmt.Sprintf("delta(%v)", r.Eps), g.Delta, r.Delta, 1e-11)
		c, g, err := central.CalibrateGaussian(calibrate.Target{Rounds: 1, Epsilon: r.Eps, Delta: r.Delta}, float64(r.Sensitivity))
		if err != nil || g.Epsilon > r.Eps*(1+1e-12) {
			t.Fatalf("epsilon %v (%v)", g.Epsilon, err)
		}
		accounttest.Within(t, fmt.Sprintf("sigma(%v, %v)", r.Eps, r.Delta), c.Sigma, float64(r.Sigma), 1e-12)
	}
	type fold struct {
		Sigma, Delta, Eps float64
		K                 int
	}
	for _, r := range accounttest.Core[fold](t, "g_extra", "kfold_gaussian") {
		g, err := account.Epsilon(account.Repeat{Event: central.Gaussian{Sigma: r.Sigma, Sensitivity: 1}, Rounds: r.K}, r.Delta)
		accounttest.Within(t, fmt.Sprintf("k=%d", r.K), accounttest.EpsilonOf(t, g, err), r.Eps, 1e-9)
	}
}

func TestVectorsDPSGD(t *testing.T) {
	type row struct {
		Q     float64 `json:"sampling_prob"`
		S     float64 `json:"noise_multiplier"`
		Steps int
		Delta float64
		RDP   float64    `json:"rdp_eps"`
		Order float64    `json:"rdp_order"`
		PLD   float64    `json:"pld_ctd_eps_dx0.0001"`
		Fine  float64    `json:"pld_ctd_eps_dx1e-05"`
		PRV   [3]float64 `json:"prv_lower_est_upper_eps_error_0.01"`
	}
	for _, r := range accounttest.Core[row](t, "f_dpsgd", "rows") {
		what := fmt.Sprintf("q=%.4g s=%v k=%d", r.Q, r.S, r.Steps)
		e := central.SubsampledGaussian{Sampling: r.Q, NoiseMultiplier: r.S}
		best := r.PLD
		if r.Fine > 0 {
			best = r.Fine
		}
		g, err := account.Epsilon(account.Repeat{Event: e, Rounds: r.Steps}, r.Delta)
		got := accounttest.EpsilonOf(t, g, err)
		accounttest.Within(t, what+" PLD", got, best, 2e-4)
		if r.PRV[2] > 0 && (got < r.PRV[0] || got > r.PRV[2]) {
			t.Errorf("%s: %v outside PRV's bracket %v", what, got, r.PRV)
		}
		at := float64(r.Steps) * e.Renyi(r.Order)
		tolerance := 1e-6
		if r.S == 0.7 {
			// Numerical quadrature of the moment of order 5.4 gives 4.592212756,
			// as we do; the reference is 4e-6 above.
			tolerance = 5e-6
		}
		accounttest.Within(t, what+" RDP", at+math.Log1p(-1/r.Order)-(math.Log(r.Delta)+math.Log(r.Order))/(r.Order-1), r.RDP, tolerance)
		moments := rdp.Curve(func(order float64) float64 { return float64(r.Steps) * e.Renyi(order) })
		epsilon, err := moments.Epsilon(r.Delta)
		if order := moments.Order(r.Delta); err != nil || epsilon > r.RDP*(1+1e-9) || epsilon < got || math.Abs(order/r.Order-1) > 0.1 {
			t.Errorf("%s: RDP %v at order %v, reference %v at %v (%v)", what, epsilon, order, r.RDP, r.Order, err)
		}
	}
}

func TestVectorsKOV(t *testing.T) {
	type row struct {
		BaseEps float64 `json:"base_eps"`
		K       int
		Delta   float64
		Exact   accounttest.Number `json:"exact_eps"`
	}
	for _, r := range accounttest.Core[row](t, "g_extra", "kfold_pure_rr_or_discrete_laplace") {
		what := fmt.Sprintf("e=%v k=%d delta=%v", r.BaseEps, r.K, r.Delta)
		got, err := profile.KairouzOhViswanath(r.BaseEps, 0, r.K, r.Delta)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, what, got, float64(r.Exact), 1e-12)
	}
}

// Where the flips of all users together are a few hundred, the envelope's start and
// slope come from different numbers of ones, which is no mistake.
func TestFewFlipsAmongMany(t *testing.T) {
	last := 0.0
	for _, local := range []float64{13.3, 13.6317, 13.9, 14.5, 15.5} {
		e := account.Repeat{Event: RandomizedResponse{203_950_512, FlipOf(local)}, Rounds: 4}
		g, err := account.Epsilon(e, 5e-8)
		if err != nil {
			t.Fatal(err)
		}
		low, err := account.LowerEpsilon(e, 5e-8)
		if err != nil {
			t.Fatal(err)
		}
		if g.Epsilon <= last || g.Epsilon < low.Epsilon || g.Epsilon > 1.05*low.Epsilon {
			t.Errorf("local epsilon %v: %v after %v, and a lower bound of %v", local, g.Epsilon, last, low.Epsilon)
		}
		last = g.Epsilon
	}
}
