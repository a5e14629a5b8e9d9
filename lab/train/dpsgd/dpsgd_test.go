package dpsgd

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// The noise has the deviation that is accounted for, and no less than that of the grid; half
// of it is caught.
func TestNoiseIsAsAccountedFor(t *testing.T) {
	train := Training{Sampling: 0.5, NoiseMultiplier: 2, Steps: 1, Clip: 3, Expected: 1, Rate: 1}
	draws := func(train Training) []float64 {
		sum := make([]float64, 3000)
		train.Noise(stattest.Rand(t), sum)
		squares := make([]float64, len(sum))
		for i, x := range sum {
			squares[i] = x * x
		}
		return squares
	}
	far := (steps + math.Sqrt(3000)) / steps
	variance := math.Pow(2*3*far, 2)
	stattest.Mean(t, variance, 2*variance*variance, draws(train))
	half := train
	half.NoiseMultiplier = 1
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, variance, 2*variance*variance, draws(half)) })
}

// Everybody takes part as often as the sampling says.
func TestPartakers(t *testing.T) {
	train, n := Training{Sampling: 0.1}, 0
	r := stattest.Rand(t)
	for range 100 {
		n += len(train.Partakers(r, 100))
	}
	stattest.Binomial(t, 0.1, 10_000, n)
}

// With little noise a model learns; its examples are told apart.
func TestFitLearns(t *testing.T) {
	r := stattest.Rand(t)
	var examples []Example
	for i := range 60 {
		sign := float32(1 - 2*(i%2))
		examples = append(examples, Example{[]float32{sign + float32(r.NormFloat64())/4, sign}, i % 2})
	}
	m, err := nn.New(r, nn.Dense{In: 2, Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	train := Training{Sampling: 0.5, NoiseMultiplier: 1, Steps: 100, Clip: 1, Expected: 30, Rate: 1}
	if err := train.Fit(r, m, examples); err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, class := range nn.Classify(m, func(i int) []float32 { return examples[i].X }, len(examples)) {
		if class == examples[i].Class {
			right++
		}
	}
	if right < 57 {
		t.Errorf("%d of 60 right", right)
	}
	if g, err := account.Epsilon(train.Event(), 1e-5); err != nil || g.Adjacency != account.Removal || g.Rounds != 100 {
		t.Errorf("%+v: %v", g, err)
	}
}

func TestImpossibleTrainingIsRefused(t *testing.T) {
	good := Training{Sampling: 0.5, NoiseMultiplier: 1, Steps: 1, Clip: 1, Expected: 1, Rate: 1}
	for name, change := range map[string]func(*Training){
		"sampling": func(t *Training) { t.Sampling = 2 },
		"noise":    func(t *Training) { t.NoiseMultiplier = 0 },
		"steps":    func(t *Training) { t.Steps = 0 },
		"clip":     func(t *Training) { t.Clip = 0 },
		"rate":     func(t *Training) { t.Rate = math.NaN() },
	} {
		bad := good
		if change(&bad); bad.Validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// The noise that is found keeps what is asked for and is no more than that needs; what cannot be is refused.
func TestTheLeastNoiseOfAPromise(t *testing.T) {
	train, err := Batches(4500, 64, 2, 5e-4)
	if err != nil || train.Steps != 140 {
		t.Fatalf("%+v, %v", train, err)
	}
	train, g, err := train.Keeping(4500, 5, 1e-5)
	if err != nil || g.Epsilon > 5 || g.Adjacency != account.Removal {
		t.Fatalf("%+v, %+v, %v", train, g, err)
	}
	train.NoiseMultiplier *= 0.98
	if less, err := account.Epsilon(train.Event(), 1e-5); err != nil || less.Epsilon <= 5 {
		t.Errorf("less noise has epsilon %v, %v", less.Epsilon, err)
	}
	if _, _, err := train.Keeping(4500, 0, 1e-5); err == nil {
		t.Error("an epsilon of zero is kept")
	}
	for name, of := range map[string]func() (Training, error){
		"no batch":            func() (Training, error) { return Batches(4500, 0, 1, 1) },
		"more than there are": func() (Training, error) { return Batches(4500, 5000, 1, 1) },
		"no step":             func() (Training, error) { return Batches(4500, 4500, 0.5, 1) },
		"no rate":             func() (Training, error) { return Batches(4500, 10, 1, 0) },
	} {
		if _, err := of(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// One example, whatever its numbers are, leaves the model finite, and trained on all others.
func TestAnExampleThatIsNotFiniteCountsForNothing(t *testing.T) {
	for _, big := range []float32{1, 1e18, 1e25, 3e38, float32(math.Inf(-1)), float32(math.NaN()), 1e-45} {
		how := Training{Sampling: 1, NoiseMultiplier: 20, Steps: 2, Clip: 1, Expected: 100, Rate: 0.1}
		r := stattest.Rand(t)
		m, err := nn.New(r, nn.Dense{In: 3, Out: 8}, nn.ReLU{Size: 8}, nn.Dense{In: 8, Out: 2})
		if err != nil {
			t.Fatal(err)
		}
		before, examples := m.Clone(), make([]Example, 100)
		for i := range examples {
			examples[i] = Example{X: []float32{0.1, 0.2, 0.3}, Class: i % 2}
		}
		examples[99].X = []float32{big, big, -big}
		if err := how.Fit(r, m, examples); err != nil {
			t.Fatal(err)
		}
		for i, p := range m.Params {
			if p-p != 0 || p == before.Params[i] {
				t.Fatalf("one example at %g: number %d of the model is %v", big, i, p)
			}
		}
	}
}
