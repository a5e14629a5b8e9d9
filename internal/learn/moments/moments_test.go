package moments

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func unit(r *rand.Rand, d int) []float32 {
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	whiten.Normalize(v)
	return v
}

func softmax(scores []float64) {
	sum := 0.0
	for k, s := range scores {
		scores[k] = math.Exp(s)
		sum += scores[k]
	}
	for k := range scores {
		scores[k] /= sum
	}
}

func squared(v, w []float32) (sum float64) {
	for i, x := range v {
		y := 0.0
		if w != nil {
			y = float64(w[i])
		}
		sum += (float64(x) - y) * (float64(x) - y)
	}
	return sum
}

// The classifier by exact sums of messages is the nearest of the class means.
func TestClassSums(t *testing.T) {
	s := features.Shape{Dimension: 6, Classes: 4}
	psi, labels := population(stattest.Rand(t), 400, s.Dimension, s.Classes)
	sum, v := make([]float64, s.ClassLen()), make([]float32, s.ClassLen())
	means := mat.NewDense(s.Dimension, s.Classes, nil)
	for i := range psi {
		s.ClassMessage(psi[i], labels[i], v)
		if norm := squared(v, nil); norm > 1 || norm < 1-1e-5 {
			t.Fatalf("a message has squared norm %v", norm)
		}
		for k, x := range v {
			sum[k] += float64(x)
		}
		for j, x := range psi[i] {
			means.Set(j, labels[i], means.At(j, labels[i])+float64(x))
		}
	}
	l, err := ClassSums(s, sum)
	if err != nil {
		t.Fatal(err)
	}
	nearest := Linear{means, make([]float64, s.Classes)}
	for i, v := range psi {
		if l.Class(v) != nearest.Class(v) {
			t.Errorf("respondent %d is of class %d, by the means %d", i, l.Class(v), nearest.Class(v))
		}
	}
	if _, err := ClassSums(s, sum[1:]); err == nil {
		t.Error("short sums")
	}
}

// population are features of classes around centres, and labels.
func population(r *rand.Rand, n, d, classes int) (psi [][]float32, labels []int) {
	centres := make([][]float32, classes)
	for k := range centres {
		centres[k] = unit(r, d)
	}
	for range n {
		k := r.IntN(classes)
		v := unit(r, d)
		for i := range v {
			v[i] = 0.7*v[i] + centres[k][i]
		}
		whiten.Normalize(v)
		psi, labels = append(psi, v), append(labels, k)
	}
	return psi, labels
}

func sumsOf(t *testing.T, s features.Shape, psi [][]float32, labels []int, noise float64) features.Sums {
	t.Helper()
	sum, v := make([]float64, s.Len()), make([]float32, s.Len())
	for i := range psi {
		s.Message(psi[i], labels[i], v)
		for k, x := range v {
			sum[k] += float64(x)
		}
	}
	sums, err := s.Decode(sum, noise)
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// What is decoded from exact sums of messages are the moments, and least squares on them
// solves the normal equations.
func TestExactSums(t *testing.T) {
	s := features.Shape{Dimension: 5, Classes: 3}
	psi, labels := population(stattest.Rand(t), 400, s.Dimension, s.Classes)
	sums := sumsOf(t, s, psi, labels, 0)
	for i := range s.Dimension {
		for j := range s.Dimension {
			want := 0.0
			for _, v := range psi {
				want += float64(v[i]) * float64(v[j])
			}
			if got := sums.Second[i*s.Dimension+j]; math.Abs(got-want) > 1e-3 {
				t.Errorf("second moment %d, %d: %v, want %v", i, j, got, want)
			}
		}
	}
	var count [3]float64
	for _, k := range labels {
		count[k]++
	}
	for k, got := range sums.Count {
		if math.Abs(got-count[k]) > 1e-3 {
			t.Errorf("class %d has %v, want %v", k, got, count[k])
		}
	}
	l, err := Ridge(sums, len(psi))
	if err != nil {
		t.Fatal(err)
	}
	// Residuals of least squares are orthogonal to the features and sum to zero.
	for k := range s.Classes {
		var orthogonal [6]float64
		for i, v := range psi {
			residual := l.Offset[k]
			if labels[i] == k {
				residual--
			}
			for j, x := range v {
				residual += l.Weights.At(j, k) * float64(x)
			}
			orthogonal[5] += residual
			for j, x := range v {
				orthogonal[j] += residual * float64(x)
			}
		}
		for j, o := range orthogonal {
			if math.Abs(o) > 0.01 {
				t.Errorf("class %d: residuals along feature %d sum to %v", k, j, o)
			}
		}
	}
	right := 0
	for i, v := range psi {
		if l.Class(v) == labels[i] {
			right++
		}
	}
	if right < 320 {
		t.Errorf("%d of 400 right", right)
	}
}

// A message is the gradient of the logistic loss, cut; steps lower the loss. The twin steps
// up.
func TestDescent(t *testing.T) {
	s := features.Shape{Dimension: 6, Classes: 3}
	psi, labels := population(stattest.Rand(t), 300, s.Dimension, s.Classes)
	d, err := NewDescent(sumsOf(t, s, psi, labels, 0), len(psi))
	if err != nil {
		t.Fatal(err)
	}
	phi := make([][]float32, len(psi))
	for i, v := range psi {
		phi[i] = make([]float32, s.Dimension)
		d.Features(append([]float32(nil), v...), phi[i])
	}
	loss := func() (sum float64) {
		for i, v := range phi {
			p := d.Scores(v)
			softmax(p)
			sum -= math.Log(p[labels[i]]) / float64(len(phi))
		}
		return sum
	}
	message := make([]float32, d.GradientLen())
	for i := range 20 {
		d.Message(phi[i], labels[i], message)
		errs := d.Scores(phi[i])
		softmax(errs)
		errs[labels[i]]--
		norm := 0.0
		for _, e := range errs {
			norm += e * e
		}
		if got, want := math.Sqrt(squared(message, nil)), math.Min(1, math.Sqrt(norm)/features.ErrorCut); got > 1 || math.Abs(got-want) > 1e-5 {
			t.Errorf("a message has norm %v, want %v", got, want)
		}
		// By differences, where nothing is cut.
		const h = 1e-5
		scale := features.ErrorCut / math.Max(1, math.Sqrt(norm)/features.ErrorCut) / features.ErrorCut
		for _, at := range [][2]int{{0, 0}, {3, 1}, {5, 2}} {
			w := &d.Weights[at[0]*s.Classes+at[1]]
			before := *w
			value := func(x float64) float64 {
				*w = x
				p := d.Scores(phi[i])
				softmax(p)
				return -math.Log(p[labels[i]])
			}
			slope := (value(before+h) - value(before-h)) / (2 * h)
			*w = before
			if got := float64(message[at[1]*s.Dimension+at[0]]) * features.ErrorCut; math.Abs(got-slope*scale) > 1e-4 {
				t.Errorf("gradient %v: %v, by differences %v", at, got, slope*scale)
			}
		}
	}
	step := func(sign float64) {
		sum := make([]float64, d.GradientLen())
		for i, v := range phi {
			d.Message(v, labels[i], message)
			for k, x := range message {
				sum[k] += sign * float64(x)
			}
		}
		if err := d.Step(sum, len(phi)); err != nil {
			t.Fatal(err)
		}
	}
	before := loss()
	for range 4 {
		step(1)
	}
	after := loss()
	if after >= before {
		t.Errorf("the loss goes from %v to %v", before, after)
	}
	last := mat.NewDense(s.Dimension, s.Classes, nil)
	last.Add(mat.NewDense(s.Dimension, s.Classes, d.Passed[2]), mat.NewDense(s.Dimension, s.Classes, d.Passed[3]))
	last.Scale(0.5, last)
	if !mat.EqualApprox(d.Classifier().Weights, last, 1e-12) {
		t.Error("the classifier is not the mean of the last two of four")
	}
	if step(-1); loss() <= after {
		t.Error("a step up was not noticed")
	}
}

func TestHostileSums(t *testing.T) {
	s := features.Shape{Dimension: 2, Classes: 2}
	sums, err := s.Decode(make([]float64, s.Len()), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ridge(sums, 10); err == nil {
		t.Error("features that do not vary")
	}
	if _, err := Ridge(sums, 0); err == nil {
		t.Error("nobody")
	}
	if d, err := NewDescent(sumsOf(t, s, [][]float32{{1, 0}, {0, 1}}, []int{0, 1}, 0), 2); err != nil || d.Step(nil, 2) == nil {
		t.Errorf("a gradient of nothing: %v", err)
	}
}

// Least squares on exact sums find the line that numbers lie on, and how far they lie from
// it; a sum that misses a part does not.
func TestLeast(t *testing.T) {
	s, r := features.Squares{Dimension: 3}, stattest.Rand(t)
	sum, v := make([]float64, s.Len()), make([]float32, s.Len())
	const n, deviation = 3000, 0.1
	for range n {
		x := unit(r, 3)
		for i := range x {
			x[i] *= 0.9
		}
		target := 0.2 + 0.4*float64(x[0]) - 0.3*float64(x[2]) + deviation*math.Sqrt(3)*(2*r.Float64()-1)
		s.Message(x, target, v)
		for k, c := range v {
			sum[k] += float64(c)
		}
	}
	fit := func(sum []float64) Regression {
		sums, err := s.Decode(sum, 0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Least(sums, n)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	right := func(f Regression) bool {
		got := []float64{f.Offset[0], f.Weights.At(0, 0), f.Weights.At(1, 0), f.Weights.At(2, 0), f.Deviation}
		for i, want := range []float64{0.2, 0.4, 0, -0.3, deviation} {
			if math.Abs(got[i]-want) > 0.02 {
				return false
			}
		}
		return math.Abs(f.Value([]float32{0.5, 0, 0})-0.4) < 0.02
	}
	if f := fit(sum); !right(f) {
		t.Errorf("offset %v, deviation %v", f.Offset, f.Deviation)
	}
	sum[len(sum)-8] = 0 // the sum of targets
	if right(fit(sum)) {
		t.Error("a missing part was not noticed")
	}
}
