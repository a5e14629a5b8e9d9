package account_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/rdp"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// A k-fold discrete Laplace of unit shift has losses +-e: KOV is its exact composition.
func TestDiscreteLaplaceEqualsKOV(t *testing.T) {
	for _, c := range []struct {
		e float64
		k int
	}{{0.01, 768}, {0.05, 768}, {0.1, 100}, {0.5, 10}, {1, 3}} {
		up := 1 / (1 + math.Exp(-c.e))
		d, err := pld.FromAtoms([]pld.Atom{{Loss: c.e, Mass: up}, {Loss: -c.e, Mass: 1 - up}}, 0, c.e)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := pld.Compose(d, c.k)
		if err != nil {
			t.Fatal(err)
		}
		for _, delta := range []float64{1e-2, 1e-5, 1e-8} {
			want, err := profile.KairouzOhViswanath(c.e, 0, c.k, delta)
			if err != nil {
				t.Fatal(err)
			}
			got, err := sum.Epsilon(delta)
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, "k-fold discrete Laplace", got, want, 1e-9)
		}
	}
}

func TestOneUserHasNoAmplification(t *testing.T) {
	for _, p := range []float64{0.01, 0.2, 0.45} {
		e := shuffle.RandomizedResponse{Users: 1, Flip: p}
		for _, k := range []int{1, 5} {
			want, err := profile.KairouzOhViswanath(e.Losses().Report, 0, k, 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			g, err := account.Epsilon(account.Repeat{Event: e, Rounds: k}, 1e-6)
			// Off the grid, connect-the-dots is a little above.
			if got := accounttest.EpsilonOf(t, g, err); got < want*(1-1e-9) || got > want*1.001 {
				t.Errorf("p=%v k=%d: %v, want %v", p, k, got, want)
			}
		}
	}
}

func TestRandomizedResponseLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 3000).Draw(t, "n")
		p := rapid.Float64Range(0.005, 0.49).Draw(t, "p")
		k := rapid.IntRange(1, 500).Draw(t, "k")
		delta := math.Pow(10, -rapid.Float64Range(2, 12).Draw(t, "-log10 delta"))
		epsilon := func(e account.Event) float64 {
			g, err := account.Epsilon(e, delta)
			if err != nil {
				t.Fatal(err)
			}
			return g.Epsilon
		}
		base := epsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: n, Flip: p}, Rounds: k})
		// The grid changes with the event, so neighbours agree to its error only:
		// with few users, whose losses are few, that of the grid's pitch.
		pitch := (shuffle.RandomizedResponse{Users: n, Flip: p}).Spread() / account.PointsPerSpread
		for what, other := range map[string]float64{
			"more users":     epsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: n + 1 + n/50, Flip: p}, Rounds: k}),
			"more flips":     epsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: n, Flip: p * 1.01}, Rounds: k}),
			"one round less": epsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: n, Flip: p}, Rounds: max(1, k-1)}),
		} {
			if other > base*(1+5e-5)+float64(min(k, 16))*pitch {
				t.Fatalf("%s: %v above %v", what, other, base)
			}
		}
		if local := float64(k) * (shuffle.RandomizedResponse{Users: n, Flip: p}).Losses().Report; base > local*(1+5e-5) {
			t.Fatalf("above the local epsilon: %v > %v", base, local)
		}
		low, err := account.LowerEpsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: n, Flip: p}, Rounds: k}, delta)
		if err != nil || low.Epsilon > base*(1+1e-12) {
			t.Fatalf("lower %v above upper %v (%v)", low.Epsilon, base, err)
		}
		if k > 1 {
			j := rapid.IntRange(1, k-1).Draw(t, "j")
			e := shuffle.RandomizedResponse{Users: n, Flip: p}
			split := epsilon(account.All{Events: []account.Event{account.Repeat{Event: e, Rounds: j}, account.Repeat{Event: account.Repeat{Event: e, Rounds: 1}, Rounds: k - j}}})
			if math.Abs(split/base-1) > 1e-9 {
				t.Fatalf("%d then %d rounds: %v, together %v", j, k-j, split, base)
			}
		}
		g, err := account.Delta(account.Repeat{Event: shuffle.RandomizedResponse{Users: n, Flip: p}, Rounds: k}, base)
		// Each question is convolved with a tilt of its own, whose rounding is charged.
		if base > 0 && (err != nil || g.Delta > delta*(1+1e-2)+1e-15) {
			t.Fatalf("delta at epsilon(%v) is %v (%v)", delta, g.Delta, err)
		}
	})
}

func TestThreeNBLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := bitnoise.ThreeNB{
			Noise:      rapid.Float64Range(0.02, 2).Draw(t, "noise"),
			FloodShape: rapid.Float64Range(0.3, 30).Draw(t, "shape"),
			FloodProb:  rapid.Float64Range(0.2, 0.99).Draw(t, "p"),
		}
		k := rapid.IntRange(1, 20).Draw(t, "k")
		at := func(e bitnoise.ThreeNB, k int, epsilon float64) float64 {
			g, err := account.Delta(account.Repeat{Event: e, Rounds: k}, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			return g.Delta
		}
		epsilon := rapid.Float64Range(0, 2).Draw(t, "epsilon") * e.Noise * math.Sqrt(float64(k))
		base := at(e, k, epsilon)
		more := e
		more.FloodShape *= 1.3
		if d := at(more, k, epsilon); d > base*(1+1e-3)+1e-15 {
			t.Fatalf("more flood: delta %v above %v", d, base)
		}
		// Never below the central discrete Laplace, which sees the difference only.
		central, err := profile.NewOptimal(e.Noise, 0, k)
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := central.Delta(epsilon); base < d*(1-1e-9) {
			t.Fatalf("delta %v below the central %v", base, d)
		}
		low, err := account.Options{Lower: true}.Delta(account.Repeat{Event: e, Rounds: k}, epsilon)
		if err != nil || low.Delta > base*(1+1e-9)+1e-300 || low.Delta < base*0.5-1e-3 {
			t.Fatalf("lower %v, upper %v (%v)", low.Delta, base, err)
		}
		if k == 1 {
			// The closed form, where there is one, against the composed atoms.
			o := account.Options{Step: e.Noise / 2000, Neglect: 1e-18}
			c, err := o.Composed(e)
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.Delta(epsilon)
			// Where there is none, base is composed too, on a coarser grid.
			if err != nil || d < base*(1-5e-3)-1e-16 || d > base*(1+1e-3)+1e-12 {
				t.Fatalf("by atoms %v, closed form %v (%v)", d, base, err)
			}
		}
	})
}

// brute is delta of one release of 3NB, from the joint law of both counts.
func brute(e bitnoise.ThreeNB, epsilon float64, rise bool) float64 {
	const most = 160
	nb := func(r, p float64) []float64 {
		w := make([]float64, most)
		w[0] = math.Pow(1-p, r)
		for k := 1; k < most; k++ {
			w[k] = w[k-1] * p * (r + float64(k-1)) / float64(k)
		}
		return w
	}
	noise, flood := nb(1, math.Exp(-e.Noise)), nb(e.FloodShape, e.FloodProb)
	g := func(a, b int) float64 {
		sum := 0.0
		for c := 0; c <= min(a, b); c++ {
			sum += flood[c] * noise[a-c] * noise[b-c]
		}
		return sum
	}
	sum := 0.0
	for a := range most {
		for b := range most {
			p, q := g(a, b), 0.0
			if a > 0 {
				q = g(a-1, b)
			}
			if rise {
				p, q = q, p
			}
			sum += math.Max(0, p-math.Exp(epsilon)*q)
		}
	}
	return sum
}

func TestThreeNBAgainstTheJointLaw(t *testing.T) {
	for _, e := range []bitnoise.ThreeNB{{Users: 0, Noise: 0.5, FloodShape: 3, FloodProb: 0.8}, {Users: 0, Noise: 1, FloodShape: 1.5, FloodProb: 0.7}, {Users: 0, Noise: 0.8, FloodShape: 0.5, FloodProb: 0.6}, {Users: 0, Noise: 0.6, FloodShape: 4, FloodProb: 0.3}} {
		for _, epsilon := range []float64{0, 0.2, 0.55, 0.9, 1.6} {
			want := math.Max(brute(e, epsilon, false), brute(e, epsilon, true))
			c, err := account.Options{Step: 1e-4, Neglect: 1e-18}.Composed(e)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Delta(epsilon)
			if err != nil || math.Abs(got-want) > 1e-7*want+1e-12 {
				t.Errorf("%+v epsilon=%v: %v, brute force %v (%v)", e, epsilon, got, want, err)
			}
		}
	}
}

func TestGaussianComposesTheSameByEveryRoute(t *testing.T) {
	e := central.Gaussian{Sigma: 30, Sensitivity: 1}
	closed, err := account.Epsilon(account.Repeat{Event: e, Rounds: 100}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	// Two different sigmas force loss distributions; their squares add up.
	mixed, err := account.Epsilon(account.All{Events: []account.Event{account.Repeat{Event: central.Gaussian{Sigma: 30 * math.Sqrt2, Sensitivity: 1}, Rounds: 100}, account.Repeat{Event: central.Gaussian{Sigma: 60, Sensitivity: 1}, Rounds: 200}}}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	accounttest.Within(t, "loss distributions", mixed.Epsilon, closed.Epsilon, 2e-5)
	if mixed.Epsilon < closed.Epsilon {
		t.Errorf("upper bound %v below the exact %v", mixed.Epsilon, closed.Epsilon)
	}
	renyi, err := rdp.Curve(func(order float64) float64 { return 100 * e.Renyi(order) }).Epsilon(1e-6)
	if err != nil || renyi < closed.Epsilon || renyi > 1.1*closed.Epsilon {
		t.Errorf("Renyi %v, exact %v (%v)", renyi, closed.Epsilon, err)
	}
	full, err := account.Epsilon(account.Repeat{Event: central.SubsampledGaussian{Sampling: 1, NoiseMultiplier: 30}, Rounds: 100}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	accounttest.Within(t, "sampling everybody", full.Epsilon, closed.Epsilon, 2e-5)
}

func TestMixturesAreRefused(t *testing.T) {
	for what, e := range map[string]account.Event{
		"adjacency": account.All{Events: []account.Event{shuffle.OneHot{Users: 100, Flip: 0.2, Adjacency: account.Removal, Keep: 0}, shuffle.OneHot{Users: 100, Flip: 0.2, Adjacency: account.Replacement, Keep: 0}}},
		"trust":     account.All{Events: []account.Event{shuffle.RandomizedResponse{Users: 100, Flip: 0.2}, central.Gaussian{Sigma: 1, Sensitivity: 1}}},
	} {
		if _, err := account.Epsilon(e, 1e-6); err == nil || !strings.Contains(err.Error(), "cannot compose") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	device, err := account.Epsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: 20000, Flip: 0.3}, Rounds: 4}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	full, err := account.Certify(account.Repeat{Event: shuffle.RandomizedResponse{Users: 20000, Flip: 0.3}, Rounds: 4}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(device.Certified, "left out") || strings.Contains(full.Certified, "left out") || full.Certified == "" {
		t.Errorf("device: %q, full: %q", device.Certified, full.Certified)
	}
	if full.Epsilon > device.Epsilon || device.Epsilon > full.Epsilon*1.001 {
		t.Errorf("device %v, full %v", device.Epsilon, full.Epsilon)
	}
}
