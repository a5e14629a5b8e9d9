package labels

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/training"
)

const classes, dimension = 3, 6

func quiet(string, int, int) {}

// drawn are examples about a corner for each class.
func drawn(r *rand.Rand, n int, spread float64) (x blas32.General, y []int) {
	x = blas32.General{Rows: n, Cols: dimension, Stride: dimension}
	for i := range n {
		y = append(y, i%classes)
		for j := range dimension {
			v := spread * r.NormFloat64()
			if j%classes == y[i] {
				v += 2
			}
			x.Data = append(x.Data, float32(v))
		}
	}
	return x, y
}

// Examples of a cluster whose likeliest label is another's are mended by those that are like
// them, in other clusters; a network that does not learn from itself gets fewer of them right.
func TestClustersAreMended(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := drawn(r, 1500, 0.5)
	// Each class has two clusters, and the last cluster holds those that are lost among others.
	of, likely := make([]int, x.Rows), make([][]float64, 2*classes+2)
	for i := range of {
		if of[i] = y[i] + classes*(i/classes%2); i%7 == 0 {
			of[i] = 2 * classes
		}
	}
	for c := range likely {
		likely[c] = make([]float64, classes)
		likely[c][c%classes] = 1
	}
	likely[2*classes+1] = nil // withheld, and empty
	test, want := drawn(r, 600, 0.5)
	accuracy := func(s Settings) float64 {
		m, err := s.InClusters(rand.New(rand.NewPCG(3, 4)), x, of, likely, classes, quiet)
		if err != nil {
			t.Fatal(err)
		}
		return training.Accuracy(m, test, want)
	}
	if got := accuracy(Usual); got < 0.99 {
		t.Errorf("accuracy %v", got)
	}
	likely[0], likely[classes] = likely[1], likely[classes+1]
	if got := accuracy(Usual); got > 0.8 {
		t.Errorf("accuracy %v of clusters with the label of another class", got)
	}
	if _, err := Usual.InClusters(r, x, of, make([][]float64, 2*classes+1), classes, quiet); err == nil {
		t.Error("learned from clusters that were all withheld")
	}
}

// Reports of which most are lies teach the labels; those of no epsilon teach nothing.
func TestOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x, y := drawn(r, 3000, 0.7)
	test, want := drawn(r, 600, 0.7)
	for epsilon, fits := range map[float64]func(accuracy float64) bool{
		1:    func(a float64) bool { return a > 0.95 },
		1e-9: func(a float64) bool { return a < 0.8 },
	} {
		m, reported := randomize.KRR{K: classes, Epsilon: epsilon}, make([]int, len(y))
		for i, class := range y {
			reported[i] = m.Randomize(r, class)
		}
		learned, err := Usual.OneByOne(r, x, reported, epsilon, classes, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if got := training.Accuracy(learned, test, want); !fits(got) {
			t.Errorf("epsilon %v: accuracy %v", epsilon, got)
		}
	}
}

// Reports of ten labels speak for themselves from an epsilon of 1.2 or so on.
func TestClearReports(t *testing.T) {
	for epsilon, want := range map[float64]bool{1: false, 1.1: false, 1.5: true, 2: true} {
		if got := clear(randomize.KRR{K: 10, Epsilon: epsilon}); got != want {
			t.Errorf("epsilon %v: clear %v", epsilon, got)
		}
	}
}
