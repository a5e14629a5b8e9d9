package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// drawn is a record of features of norm at most one and a target in [-1, 1].
func drawn(r *rand.Rand, d int) ([]float32, float64) {
	x, norm := make([]float32, d), 0.0
	for i := range x {
		v := r.NormFloat64()
		x[i], norm = float32(v), norm+v*v
	}
	scale := r.Float64() / math.Sqrt(norm)
	for i := range x {
		x[i] *= float32(scale)
	}
	return x, 2*r.Float64() - 1
}

// Messages for least squares are of length one, no two farther apart than is claimed, which
// opposite records attain nearly; what is decoded from their exact sum are the moments.
func TestSquares(t *testing.T) {
	s, r := Squares{Dimension: 3}, stattest.Rand(t)
	const n = 300
	sum, messages := make([]float64, s.Len()), make([][]float32, n)
	var second, cross, first [3]float64
	var squares, total float64
	for k := range messages {
		x, target := drawn(r, s.Dimension)
		v := make([]float32, s.Len())
		s.Message(x, target, v)
		messages[k] = v
		norm := 0.0
		for i, c := range v {
			norm += float64(c) * float64(c)
			sum[i] += float64(c)
		}
		if norm > 1 || norm < 1-1e-5 {
			t.Fatalf("a message has squared norm %v", norm)
		}
		for i := range 3 {
			second[i] += float64(x[i]) * float64(x[(i+1)%3])
			cross[i] += float64(x[i]) * target
			first[i] += float64(x[i])
		}
		squares, total = squares+target*target, total+target
	}
	got, err := s.Decode(sum, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for what, d := range map[string]float64{"second": got.Second[i*3+(i+1)%3] - second[i], "with the target": got.Class[i] - cross[i], "first": got.First[i] - first[i]} {
			if math.Abs(d) > 1e-3 {
				t.Errorf("%s moment %d is %v off", what, i, d)
			}
		}
	}
	if math.Abs(got.Target-squares) > 1e-3 || math.Abs(got.Count[0]-total) > 1e-3 {
		t.Errorf("targets: %v and %v, want %v and %v", got.Target, got.Count[0], squares, total)
	}
	worst := 0.0
	for i, v := range messages {
		for _, w := range messages[:i] {
			d := 0.0
			for k, x := range v {
				d += (float64(x) - float64(w[k])) * (float64(x) - float64(w[k]))
			}
			worst = math.Max(worst, d)
		}
	}
	if worst > SquaresDistance || worst < 1.8 {
		t.Errorf("messages are %v apart, claimed %v", worst, SquaresDistance)
	}
	far := make([]float32, s.Len())
	s.Message([]float32{0, 0, 0}, 7, far) // a target that is cut off
	if again := append([]float32(nil), far...); true {
		s.Message([]float32{0, 0, 0}, 1, again)
		for i := range far {
			if far[i] != again[i] {
				t.Error("a target beyond 1 is not 1")
			}
		}
	}
	if _, err := s.Decode(sum[1:], 0); err == nil {
		t.Error("a short sum")
	}
	if (Squares{}).Validate() == nil || s.Validate() != nil {
		t.Error("validation")
	}
}
