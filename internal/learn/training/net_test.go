package training

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/nn"
)

func quiet(string, int, int) {}

// rings are points of three classes by their distance from the middle: no linear model tells them.
func rings(r *rand.Rand, n int) (x blas32.General, y []int) {
	x = blas32.General{Rows: n, Cols: 2, Stride: 2}
	for range n {
		class, turn := r.IntN(3), 2*math.Pi*r.Float64()
		far := float64(class) + 0.3*r.Float64()
		x.Data = append(x.Data, float32(far*math.Cos(turn)), float32(far*math.Sin(turn)))
		y = append(y, class)
	}
	return x, y
}

func TestNetworksLearnFromLabelsAndFromReports(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := rings(r, 3000)
	how := Training{Hidden: 32, Epochs: 30, Batch: 50, Rate: 0.02, Loss: nn.CrossEntropy}
	m, err := Fit(r, x, OneHot(y, 3), 3, how, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if a := Accuracy(m, x, y); a < 0.97 {
		t.Errorf("accuracy %v on labels", a)
	}
	likely := make([]float32, 0, 3*len(y)) // of reports that are the label with 0.6
	for _, c := range y {
		if r.Float64() < 0.4 {
			c = (c + 1 + r.IntN(2)) % 3
		}
		row := []float32{0.2, 0.2, 0.2}
		row[c] = 0.6
		likely = append(likely, row...)
	}
	how.Loss = nn.Likelihood
	if m, err = Fit(r, x, likely, 3, how, quiet); err != nil {
		t.Fatal(err)
	}
	if a := Accuracy(m, x, y); a < 0.9 {
		t.Errorf("accuracy %v on reports", a)
	}
	how.Hidden = 0
	if m, err = Fit(r, x, likely, 3, how, quiet); err != nil || len(m.Params) != 9 || Accuracy(m, x, y) > 0.7 {
		t.Errorf("a linear model of %d numbers (%v) is right for %v of rings", len(m.Params), err, Accuracy(m, x, y))
	}
}

func TestWrongTraining(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y := rings(r, 9)
	good := Training{Epochs: 1, Batch: 3, Rate: 1, Loss: nn.CrossEntropy}
	if _, err := Fit(r, x, OneHot(y, 3), 3, good, quiet); err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(*Training){
		func(t *Training) { t.Epochs = 0 }, func(t *Training) { t.Batch = 0 }, func(t *Training) { t.Rate = 0 },
		func(t *Training) { t.Decay = -1 }, func(t *Training) { t.Loss = nil }, func(t *Training) { t.Hidden = -1 },
	} {
		how := good
		if change(&how); how.Loss == nil == (i != 4) {
			t.Fatal("another change than meant")
		}
		if _, err := Fit(r, x, OneHot(y, 3), 3, how, quiet); err == nil {
			t.Errorf("%+v is taken", how)
		}
	}
	if _, err := Fit(r, x, OneHot(y, 3)[1:], 3, good, quiet); err == nil {
		t.Error("a target too few is taken")
	}
}
