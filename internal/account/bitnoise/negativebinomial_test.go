package bitnoise

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
)

// Against the sum over all counts in either world, written from the definition.
func TestNegativeBinomialSumEnumerated(t *testing.T) {
	for _, e := range []NegativeBinomialSum{{10, 20, 0.5}, {10, 3, 0.9}, {10, 0.6, 0.95}, {10, 60, 0.1}} {
		law := make([]float64, 4000)
		law[0] = math.Pow(1-e.Prob, e.Shape)
		for k := 1; k < len(law); k++ {
			law[k] = law[k-1] * e.Prob * (float64(k-1) + e.Shape) / float64(k)
		}
		for _, epsilon := range []float64{0, 0.1, 0.5, 1} {
			there, back := 0.0, law[0]
			for k := 1; k < len(law); k++ {
				there += math.Max(0, law[k-1]-math.Exp(epsilon)*law[k])
				back += math.Max(0, law[k]-math.Exp(epsilon)*law[k-1])
			}
			g, err := account.Delta(e, epsilon)
			if err != nil {
				t.Fatal(e, err)
			}
			if want := math.Max(there, back); g.Delta < want*(1-1e-9) || g.Delta > want*(1+2e-3)+1e-12 {
				t.Errorf("%+v: delta(%v) = %v, want %v", e, epsilon, g.Delta, want)
			}
		}
	}
}

// At a small p the noise is Poisson; the published parameters are more than enough; and
// a lower bound stays below.
func TestNegativeBinomialSumAgainstOthers(t *testing.T) {
	const p = 1e-5
	nb, err := account.Epsilon(account.Repeat{Event: NegativeBinomialSum{100, 500 / p, p}, Rounds: 16}, 1e-6)
	poisson, err2 := account.Epsilon(account.Repeat{Event: PoissonSum{100, 500}, Rounds: 16}, 1e-6)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	accounttest.Within(t, "Poisson limit", nb.Epsilon, poisson.Epsilon, 1e-3)

	r, q, err := GKMP20Theorem13(0.5, 1e-6, 1)
	if err != nil {
		t.Fatal(err)
	}
	published := NegativeBinomialSum{1000, r, q}
	g, err := account.Epsilon(published, 1e-6)
	low, err2 := account.LowerEpsilon(published, 1e-6)
	if err != nil || err2 != nil || g.Epsilon > 0.5 || low.Epsilon > g.Epsilon || low.Epsilon < 0.99*g.Epsilon {
		t.Errorf("published for epsilon 0.5: %v, at least %v, %v, %v", g.Epsilon, low.Epsilon, err, err2)
	}
	e, g, err := CalibrateThinnedNegativeBinomialSum(calibrate.Target{Users: 1000, Rounds: 1, Epsilon: 0.5, Delta: 1e-6}, q, 1)
	if err != nil || g.Epsilon > 0.5 || e.Shape >= r || e.RMSE() >= published.RMSE() {
		t.Errorf("calibrated %+v %v, published shape %v, %v", e, g, r, err)
	}
	accounttest.Within(t, "messages", e.MessagesPerUser(), e.RMSE()*e.RMSE()*(1-q)/1000, 1e-12)
}

func TestNegativeBinomialSumRefuses(t *testing.T) {
	for _, x := range accounttest.Hostile {
		for _, e := range []account.Event{NegativeBinomialSum{10, x, 0.5}, NegativeBinomialSum{10, 2, x}} {
			if g, err := account.Epsilon(e, 1e-6); err == nil && x != 0.5 {
				t.Errorf("%+v gives %v", e, g)
			}
		}
		if _, _, err := CalibrateThinnedNegativeBinomialSum(calibrate.Target{Users: 10, Rounds: 1, Epsilon: 1, Delta: 1e-6}, x, 1); err == nil {
			t.Errorf("p %v was taken", x)
		}
	}
	if g, err := account.Epsilon(NegativeBinomialSum{0, 1, 0.5}, 1e-6); err == nil {
		t.Errorf("nobody gives %v", g)
	}
}
