package additive

import (
	"errors"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// sumOfGaussians is the law of the sum of n discrete Gaussians on -top..top, by
// convolution.
func sumOfGaussians(n int, sigma float64, top int) []float64 {
	one, total := map[int]float64{}, 0.0
	for x := -int(15*sigma) - 1; x <= int(15*sigma)+1; x++ {
		one[x] = math.Exp(-float64(x*x) / (2 * sigma * sigma))
		total += one[x]
	}
	law := make([]float64, 2*top+1)
	law[top] = 1
	for range n {
		next := make([]float64, len(law))
		for i, p := range law {
			for x, w := range one {
				if j := i + x; p > 0 && j >= 0 && j < len(next) {
					next[j] += p * w / total
				}
			}
		}
		law = next
	}
	return law
}

// Every probability, far into the tails, against convolution.
func TestGaussianSumAgainstConvolution(t *testing.T) {
	for _, c := range []struct {
		n     int
		sigma float64
	}{{1, 3}, {2, 1.3}, {30, 0.4}, {100, 0.5}, {3000, 0.25}, {1500, 0.3}, {25, 1.5}} {
		deviation := DistributedGaussian{c.n, c.sigma, 1}.RMSE()
		top := int(12 * deviation)
		log, relative, err := gaussianSum(c.n, c.sigma, top)
		if err != nil {
			t.Fatal(c, err)
		}
		want := sumOfGaussians(c.n, c.sigma, 40*int(deviation+2))
		for k, l := range log {
			if w := math.Log(want[len(want)/2+k]); math.Abs(l-w) > relative+1e-12 || w > 0 {
				t.Errorf("%v: ln P(%d) = %v, want %v within %v", c, k, l, w, relative)
				break
			}
		}
	}
}

// One release by summing over all outputs. Of narrow shares the sum is not the discrete
// Gaussian of the same parameter: that would promise too little privacy loss here.
func TestDistributedGaussianEnumerated(t *testing.T) {
	for _, e := range []DistributedGaussian{{40, 0.4, 1}, {100, 0.5, 2}, {9, 2, 3}} {
		law := sumOfGaussians(e.Users, e.Sigma, 400)
		for _, epsilon := range []float64{0, 0.2, 0.6} {
			want := 0.0
			for x := e.Sensitivity; x < len(law); x++ {
				want += math.Max(0, law[x-e.Sensitivity]-math.Exp(epsilon)*law[x])
			}
			g, err := account.Delta(e, epsilon)
			if err != nil {
				t.Fatal(e, err)
			}
			if g.Delta < want || g.Delta > want*(1+1e-4) {
				t.Errorf("%+v: delta(%v) = %v, want %v", e, epsilon, g.Delta, want)
			}
		}
	}
	narrow, err := account.Epsilon(DistributedGaussian{40, 0.4, 1}, 1e-6)
	curator, err2 := account.Epsilon(DiscreteGaussian{Sigma: 0.4 * math.Sqrt(40), Sensitivity: 1}, 1e-6)
	if err != nil || err2 != nil || narrow.Epsilon <= curator.Epsilon*1.05 || narrow.Trust != Aggregated {
		t.Errorf("narrow shares %v, curator %v, %v, %v", narrow, curator, err, err2)
	}
}

// Wide shares have the curator's law, and a single one is the curator's.
func TestDistributedGaussianOfWideShares(t *testing.T) {
	for _, c := range []struct{ users, rounds int }{{1, 1}, {100, 1}, {100, 64}} {
		d, err := account.Epsilon(account.Repeat{Event: DistributedGaussian{c.users, 20 / math.Sqrt(float64(c.users)), 1}, Rounds: c.rounds}, 1e-6)
		g, err2 := account.Epsilon(account.Repeat{Event: DiscreteGaussian{Sigma: 20, Sensitivity: 1}, Rounds: c.rounds}, 1e-6)
		if err != nil || err2 != nil {
			t.Fatal(c, err, err2)
		}
		accounttest.Within(t, "epsilon", d.Epsilon, g.Epsilon, 2e-5)
	}
}

func TestDistributedLaplace(t *testing.T) {
	for _, rounds := range []int{1, 16, 768} {
		d, err := account.Epsilon(account.Repeat{Event: DistributedLaplace{100, 0.01, 1}, Rounds: rounds}, 1e-6)
		c, err2 := account.Epsilon(account.Repeat{Event: DiscreteLaplace{Noise: 0.01, Sensitivity: 1}, Rounds: rounds}, 1e-6)
		if err != nil || err2 != nil || d.Epsilon != c.Epsilon || d.Trust != Aggregated || d.Users != 100 || d.Bound != c.Bound {
			t.Errorf("%v, %v, %v, %v", d, c, err, err2)
		}
	}
}

func TestDistributedRefuses(t *testing.T) {
	for _, x := range accounttest.Hostile {
		for _, e := range []account.Event{DistributedLaplace{10, x, 1}, DistributedGaussian{100, x, 1}} {
			if g, err := account.Epsilon(e, 1e-6); err == nil {
				t.Errorf("%+v gives %v", e, g)
			}
		}
	}
	for _, e := range []account.Event{DistributedLaplace{0, 1, 1}, DistributedLaplace{10, 1, 0}, DistributedGaussian{0, 1, 1}, DistributedGaussian{100, 1, 0},
		DistributedGaussian{100, 1, 1000}, DistributedGaussian{10, 0.2, 1}, DistributedGaussian{1, 2e4, 1}, DistributedGaussian{1e9, 1, 1}} {
		if g, err := account.Epsilon(e, 1e-6); err == nil {
			t.Errorf("%+v gives %v", e, g)
		}
	}
	var unsupported *account.Unsupported
	if _, err := account.LowerEpsilon(DistributedGaussian{100, 1, 1}, 1e-6); !errors.As(err, &unsupported) {
		t.Errorf("a lower bound: %v", err)
	}
}

func BenchmarkDistributedGaussian(b *testing.B) {
	for delta := 1e-6; b.Loop(); delta = math.Nextafter(delta, 1) { // answers are remembered
		if _, err := account.Epsilon(account.Repeat{Event: DistributedGaussian{40000, 0.585, 1}, Rounds: 768}, delta); err != nil {
			b.Fatal(err)
		}
	}
}
