package moments

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/stattest"
)

func unit(r *rand.Rand, d int) []float32 {
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	whiten.Normalize(v)
	return v
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

// No two messages are farther apart than is claimed, over classes and angles between the
// features; the claim is attained. Messages have norm one.
func TestMessagesAreNear(t *testing.T) {
	s := Shape{Dimension: 4, Classes: 3}
	worst := 0.0
	v, w := make([]float32, s.Len()), make([]float32, s.Len())
	for i := range 1000 {
		sin, cos := math.Sincos(math.Pi * float64(i) / 999)
		for class := range s.Classes {
			s.Message([]float32{1, 0, 0, 0}, 0, v)
			s.Message([]float32{float32(cos), float32(sin), 0, 0}, class, w)
			worst = math.Max(worst, squared(v, w))
			if norm := squared(w, nil); math.Abs(norm-1) > 1e-6 {
				t.Fatalf("a message has squared norm %v", norm)
			}
		}
	}
	if claim := SquaredDistance(); worst > claim+1e-6 || worst < claim-1e-4 || math.Abs(claim-2.0063) > 1e-4 {
		t.Errorf("messages are %v apart, claimed %v", worst, claim)
	}
	s.Message(make([]float32, 4), 0, w) // features without direction
	if far := squared(v, w); far > SquaredDistance() {
		t.Errorf("the message of no features is %v from another", far)
	}
}

// Corners of classes are of length one and equally far apart, and the classifier by exact
// sums of messages is the nearest of the class means.
func TestClassSums(t *testing.T) {
	for classes := 2; classes <= 5; classes++ {
		s := Shape{Dimension: 3, Classes: classes}
		for a := range classes {
			for b := range classes {
				dot, want := 0.0, -1/float64(classes-1)
				for k, x := range s.code(a) {
					dot += x * s.code(b)[k]
				}
				if a == b {
					want = 1
				}
				if math.Abs(dot-want) > 1e-12 {
					t.Errorf("corners %d and %d of %d: %v, want %v", a, b, classes, dot, want)
				}
			}
		}
	}
	s := Shape{Dimension: 6, Classes: 4}
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
	l, err := s.ClassSums(sum)
	if err != nil {
		t.Fatal(err)
	}
	nearest := Linear{means, make([]float64, s.Classes)}
	for i, v := range psi {
		if l.Class(v) != nearest.Class(v) {
			t.Errorf("respondent %d is of class %d, by the means %d", i, l.Class(v), nearest.Class(v))
		}
	}
	if _, err := s.ClassSums(sum[1:]); err == nil {
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

func sumsOf(t *testing.T, s Shape, psi [][]float32, labels []int, noise float64) Sums {
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
	s := Shape{Dimension: 5, Classes: 3}
	psi, labels := population(stattest.Rand(t), 400, s.Dimension, s.Classes)
	sums := sumsOf(t, s, psi, labels, 0)
	for i := range s.Dimension {
		for j := range s.Dimension {
			want := 0.0
			for _, v := range psi {
				want += float64(v[i]) * float64(v[j])
			}
			if got := sums.Second.At(i, j); math.Abs(got-want) > 1e-3 {
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
	s := Shape{Dimension: 6, Classes: 3}
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
			p := d.scores(v)
			softmax(p)
			sum -= math.Log(p[labels[i]]) / float64(len(phi))
		}
		return sum
	}
	message := make([]float32, d.MessageLen())
	for i := range 20 {
		d.Message(phi[i], labels[i], message)
		errs := d.scores(phi[i])
		softmax(errs)
		errs[labels[i]]--
		norm := 0.0
		for _, e := range errs {
			norm += e * e
		}
		if got, want := math.Sqrt(squared(message, nil)), math.Min(1, math.Sqrt(norm)/errorCut); got > 1 || math.Abs(got-want) > 1e-5 {
			t.Errorf("a message has norm %v, want %v", got, want)
		}
		// By differences, where nothing is cut.
		const h = 1e-5
		scale := errorCut / math.Max(1, math.Sqrt(norm)/errorCut) / errorCut
		for _, at := range [][2]int{{0, 0}, {3, 1}, {5, 2}} {
			w := d.weights.At(at[0], at[1])
			value := func(x float64) float64 {
				d.weights.Set(at[0], at[1], x)
				p := d.scores(phi[i])
				softmax(p)
				return -math.Log(p[labels[i]])
			}
			slope := (value(w+h) - value(w-h)) / (2 * h)
			d.weights.Set(at[0], at[1], w)
			if got := float64(message[at[1]*s.Dimension+at[0]]) * errorCut; math.Abs(got-slope*scale) > 1e-4 {
				t.Errorf("gradient %v: %v, by differences %v", at, got, slope*scale)
			}
		}
	}
	step := func(sign float64) {
		sum := make([]float64, d.MessageLen())
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
	last.Add(d.passed[2], d.passed[3])
	last.Scale(0.5, last)
	if !mat.EqualApprox(d.Classifier().Weights, last, 1e-12) {
		t.Error("the classifier is not the mean of the last two of four")
	}
	if step(-1); loss() <= after {
		t.Error("a step up was not noticed")
	}
}

func TestHostileSums(t *testing.T) {
	for _, s := range []Shape{{}, {0, 2}, {4, 1}, {1 << 20, 2}, {4, 1 << 20}} {
		if s.Validate() == nil {
			t.Errorf("%+v is a shape", s)
		}
	}
	s := Shape{Dimension: 2, Classes: 2}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := s.Decode(make([]float64, 3), 1); err == nil {
		t.Error("a short sum")
	}
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
