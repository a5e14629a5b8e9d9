package descent

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/lab/train/labels"
)

const classes, dimension = 3, 6

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

// The class messages of all say what sums of the classes are; where nothing hides these, descent
// is that on the labels themselves, and where they are all noise nothing is learned.
func TestSumsAreThoseOfTheLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	x, y := drawn(r, 600, 0.5)
	for i := range x.Data {
		x.Data[i] /= 6
	}
	shape := features.Shape{Dimension: dimension, Classes: classes}
	exact, messages, message := make([]float64, dimension*classes), make([]float64, shape.ClassLen()), make([]float32, shape.ClassLen())
	for i, class := range y {
		row := x.Data[i*dimension:][:dimension]
		shape.ClassMessage(row, class, message)
		for k, v := range message {
			messages[k] += float64(v)
		}
		for j, v := range row {
			exact[j*classes+class] += float64(v)
		}
	}
	sums, deviation, err := ClassSums(shape, messages, 3, x)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range exact {
		if math.Abs(sums[i]-want) > 1e-3 {
			t.Errorf("sum %d is %v, want %v", i, sums[i], want)
		}
	}
	if math.Abs(deviation-2) > 1e-9 {
		t.Errorf("error %v, want 2/3 of 3", deviation)
	}
	m, err := FromSums(labels.Usual, x, exact, 0, classes)
	if err != nil {
		t.Fatal(err)
	}
	if want := descended(x, y, labels.Usual.Steps); !near(m.Params[:dimension*classes], want) {
		t.Errorf("weights %v, by the labels %v", m.Params, want)
	}
	if m, err = FromSums(labels.Usual, x, exact, 1e9, classes); err != nil {
		t.Fatal(err)
	}
	for _, w := range m.Params {
		if math.Abs(float64(w)) > 1e-6 {
			t.Errorf("a weight of %v from noise", w)
		}
	}
	if _, err := FromSums(labels.Usual, x, exact[1:], 0, classes); err == nil {
		t.Error("sums of other features are taken")
	}
	if _, _, err := ClassSums(shape, messages[1:], 0, x); err == nil {
		t.Error("messages of other features are taken")
	}
}

// descended is FromSums without noise, by the labels of each row.
func descended(x blas32.General, y []int, steps int) []float64 {
	n, w, v := float64(x.Rows), make([]float64, dimension*classes), make([]float64, dimension*classes)
	for range steps {
		g, squares := make([]float64, len(w)), make([]float64, dimension)
		for i, class := range y {
			row, p, sum := x.Data[i*dimension:][:dimension], make([]float64, classes), 0.0
			for k := range p {
				for j, a := range row {
					p[k] += float64(a) * w[j*classes+k]
				}
				p[k] = math.Exp(p[k])
				sum += p[k]
			}
			for j, a := range row {
				squares[j] += float64(a) * float64(a) / n
				for k := range p {
					d := p[k] / sum
					if k == class {
						d--
					}
					g[j*classes+k] += d * float64(a) / n
				}
			}
		}
		for i := range w {
			step := stepSize / (2.0 / 9 * squares[i/classes]) * g[i]
			v[i] = momentum*v[i] - step
			w[i] += momentum*v[i] - step
		}
	}
	return w
}

func near(got []float32, want []float64) bool {
	for i, w := range want {
		if math.Abs(float64(got[i])-w) > 1e-3*(1+math.Abs(w)) {
			return false
		}
	}
	return true
}
