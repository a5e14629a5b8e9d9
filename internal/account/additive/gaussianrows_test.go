package additive

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// The distance of one number moved by one, of which another program has computed m^2 sigma^2.
func TestOneNumberMovedByOne(t *testing.T) {
	for sigma, want := range map[float64]float64{.5: 1.548011, .75: 1.184567, 1: 1.093614, 1.5: 1.038922, 2: 1.021415, 3: 1.009372, 4: 1.005244, 8: 1.001304, 16: 1.000326, 63.99: 1.00002} {
		m, _ := GaussianRows{Sigma: sigma, Draws: 1}.oneApart()
		if got := m * m * sigma * sigma; math.Abs(got-want) > 1e-6 {
			t.Errorf("sigma %v: %.6f, want %.6f", sigma, got, want)
		}
	}
	// Where the noise is wide less is computed, and a little more is charged.
	if m, _ := (GaussianRows{Sigma: 64, Draws: 1}).oneApart(); !(m*64 > 1 && m*64 < 1.0006) {
		t.Errorf("sigma 64: %v", m*64)
	}
}

// adversary is the best of all strategies that move whole numbers, one row after another, each row chosen after what
// was seen: the hockey stick of both worlds as a function of the log-likelihood ratio so far and of the squared
// budget that is left. Losses are multiples of 1/(2 sigma^2), so that they are counted exactly.
type adversary struct {
	variance float64 // of the noise, doubled to be a whole number
	epsilon  float64
	weights  []float64
	kept     map[[2]int]float64
}

const adversaryReach = 14

func newAdversary(sigma, epsilon float64) *adversary {
	a := &adversary{variance: sigma * sigma, epsilon: epsilon, kept: map[[2]int]float64{}}
	for k := -adversaryReach; k <= adversaryReach; k++ {
		a.weights = append(a.weights, math.Exp(noise.DiscreteGaussian{Sigma: sigma}.LogProb(k)))
	}
	return a
}

// best returns the largest expectation, in the world whose rows are moved by nothing, of (e^L - e^epsilon)+ with L the
// loss at the end. A row that is moved by s and shows x adds (2 s x - s^2)/(2 sigma^2).
func (a *adversary) best(halves, budget int) float64 {
	loss := float64(halves) / (2 * a.variance)
	stop := math.Max(0, math.Exp(loss)-math.Exp(a.epsilon))
	if budget == 0 {
		return stop
	}
	key := [2]int{halves, budget}
	if v, ok := a.kept[key]; ok {
		return v
	}
	most := stop
	for s := 1; s*s <= budget; s++ {
		sum := 0.0
		for i, p := range a.weights {
			x := i - adversaryReach
			sum += p * a.best(halves+2*s*x-s*s, budget-s*s)
		}
		most = math.Max(most, sum)
	}
	a.kept[key] = most
	return most
}

// The best of all adaptive strategies is within what is charged. The twin, whose distance is moved/sigma, is not.
func TestTheAdaptiveAdversary(t *testing.T) {
	caught := 0
	for _, c := range []struct {
		sigma, epsilon float64
		budget         int
		want           float64 // another program's
	}{{1.5, 6, 4, 2.1265e-5}, {1.5, 2, 4, 0}, {1, .5, 2, .4114527}, {.75, 1, 3, 0}, {2, 3, 6, 0}, {3, .5, 9, 0}} {
		got := newAdversary(c.sigma, c.epsilon).best(0, c.budget)
		if c.want > 0 && math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("sigma %v, squared budget %d, epsilon %v: the adversary reaches %.7g, want %.7g", c.sigma, c.budget, c.epsilon, got, c.want)
		}
		moved := math.Sqrt(float64(c.budget))
		d, err := account.Delta(GaussianRows{Sigma: c.sigma, Moved: moved, OneNumber: moved, Numbers: c.budget, Draws: 1}, c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if got > d.Delta {
			t.Errorf("sigma %v, squared budget %d, epsilon %v: the adversary reaches %.7g, and %.7g is charged", c.sigma, c.budget, c.epsilon, got, d.Delta)
		}
		if got > profile.Normal(moved/c.sigma).Hockey(c.epsilon) {
			caught++
		}
	}
	if caught < 3 {
		t.Errorf("the twin is caught %d times", caught)
	}
}

func TestRowsOfTwoDraws(t *testing.T) {
	// The exact law of the sum of two draws, moved by one, against what is charged.
	const h = 3.0
	one := map[int]float64{}
	for k := -60; k <= 60; k++ {
		one[k] = math.Exp(noise.DiscreteGaussian{Sigma: h}.LogProb(k))
	}
	two := map[int]float64{}
	for i, p := range one {
		for j, q := range one {
			two[i+j] += p * q
		}
	}
	e := GaussianRows{Sigma: h * math.Sqrt2, Moved: 1, OneNumber: 1, Numbers: 1, Draws: 2}
	for _, epsilon := range []float64{0, .1, .3, 1} {
		exact := 0.0
		for k, p := range two {
			exact += math.Max(0, p-math.Exp(epsilon)*two[k-1])
		}
		d, err := account.Delta(e, epsilon)
		if err != nil || d.Delta < exact-1e-15 {
			t.Errorf("epsilon %v: %v charged, %v (%v)", epsilon, d.Delta, exact, err)
		}
	}
	if _, err := (GaussianRows{Sigma: 2, Moved: 1, OneNumber: 1, Numbers: 1, Draws: 2}).Terms(); err == nil {
		t.Error("two draws of so little noise are taken for one")
	}
}

// The least noise keeps the budget, and a little less does not.
func TestCalibratedRows(t *testing.T) {
	for _, e := range []GaussianRows{{Moved: 2236, OneNumber: 1024, Numbers: 365, Draws: 1}, {Moved: 2236, OneNumber: 1024, Numbers: 365, Draws: 2}, {Moved: 2, OneNumber: 1, Numbers: 4, Draws: 1}} {
		got, err := CalibrateRows(e, 1, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		g, err := account.Epsilon(got, 1e-6)
		if err != nil || g.Epsilon > 1 {
			t.Errorf("%+v: epsilon %v, %v", got, g.Epsilon, err)
		}
		got.Sigma *= 0.999
		if g, err := account.Epsilon(got, 1e-6); err != nil || g.Epsilon <= 1 {
			t.Errorf("%+v with less noise: epsilon %v, %v", got, g.Epsilon, err)
		}
	}
	if _, err := CalibrateRows(GaussianRows{Moved: 1e9, OneNumber: 1, Numbers: 1, Draws: 1}, 1e-3, 1e-6); err == nil {
		t.Error("noise beyond what can be drawn is found")
	}
}

// Noise of other people's rows is not in what one person moves, and a second question is a second stretch.
func TestRowsAreDominated(t *testing.T) {
	e := GaussianRows{Sigma: 9445, Moved: 2236, OneNumber: 1024, Numbers: 365, Draws: 1}
	d, err := account.Dominate(e, 1e-8)
	if err != nil || math.Abs(d.Shift*9445/2236-1) > 1e-6 || d.Tail > 1e-12 || d.Tail == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	twice, err := account.Dominate(account.Repeat{Event: e, Rounds: 2}, 1e-8)
	if err != nil || math.Abs(twice.Shift/d.Shift-math.Sqrt2) > 1e-9 {
		t.Errorf("%+v, %v", twice, err)
	}
}
