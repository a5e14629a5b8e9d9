package moments_test

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode/gradients"
	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/dp/vector"
	"github.com/confetti-dp/confetti/dp/vector/record"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/moments"
	"github.com/confetti-dp/confetti/learn/synthetic"
)

// inParallel calls f with every index below n, and with what make gives each goroutine.
func inParallel[T any](n int, fresh func() T, f func(own T, i int)) {
	var wait sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			own := fresh()
			for i := w; i < n; i += runtime.GOMAXPROCS(0) {
				f(own, i)
			}
		})
	}
	wait.Wait()
}

func oriented(n int, image func(i int) []float32) blas32.General {
	m, _ := gradients.New(28, 28)
	x := blas32.General{Rows: n, Cols: m.Len(), Stride: m.Len(), Data: make([]float32, n*m.Len())}
	inParallel(n, func() *gradients.Map { m, _ := gradients.New(28, 28); return m },
		func(m *gradients.Map, i int) { m.Apply(image(i), x.Data[i*x.Stride:][:x.Cols]) })
	return x
}

func whitened(s *whiten.State, x blas32.General) blas32.General {
	y := blas32.General{Rows: x.Rows, Cols: s.Len(), Stride: s.Len(), Data: make([]float32, x.Rows*s.Len())}
	inParallel(x.Rows, func() []float32 { return make([]float32, x.Cols) }, func(held []float32, i int) {
		copy(held, x.Data[i*x.Stride:])
		s.Apply(held, row(y, i))
	})
	return y
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }

func accuracy(l moments.Linear, x blas32.General, y []int) float64 {
	right := make([]bool, len(y))
	inParallel(len(y), func() int { return 0 }, func(_, i int) { right[i] = l.Class(row(x, i)) == y[i] })
	sum := 0
	for _, r := range right {
		if r {
			sum++
		}
	}
	return float64(sum) / float64(len(y))
}

// study is a set of images as its respondents send it, in features that have seen
// synthetic images only.
type study struct {
	train, test blas32.General
	set         *dataset.Set
	shape       record.Shape
	first       vector.Need    // a round of moments
	overlap     vector.Overlap // of its respondents' messages, which only the test knows
}

const (
	epsilon, delta = 1, 1e-5
	bits           = 8192
)

func newStudy(t *testing.T, name string) study {
	t.Helper()
	dir := os.Getenv("CONFETTI_DATA")
	if dir == "" {
		dir = "../../../shared/data"
	}
	set, err := dataset.Load(dir, name)
	if err != nil {
		t.Skipf("%v; name the data folder with CONFETTI_DATA", err)
	}
	images := synthetic.Images(replay.New(1), 16_000)
	state, err := principal.Fit(oriented(len(images), func(i int) []float32 { return images[i] }), 351, 0.3, principal.Full)
	if err != nil {
		t.Fatal(err)
	}
	features := func(x blas32.General) blas32.General {
		return whitened(state, oriented(x.Rows, func(i int) []float32 { return row(x, i) }))
	}
	s := study{train: features(set.Train.X), test: features(set.Test.X), set: set, shape: record.Shape{Dimension: 351, Classes: len(set.Classes)}}
	samples := make([][]float32, 150)
	for i := range samples {
		samples[i] = make([]float32, s.shape.Len())
		s.shape.Message(row(s.train, i), set.Train.Y[i], samples[i])
	}
	s.overlap = vector.Overlaps(samples)
	n := s.train.Rows
	s.first = vector.Need{Respondents: n, Honest: n, Dimension: s.shape.Len(), Bits: bits, SquaredDistance: record.SquaredDistance(),
		Overlap: vector.Alike(1/float64(s.shape.Classes), 0.43)} // guessed before anything is collected
	return s
}

// collect draws every bit of a round, and compares the error with the formula: the noise and
// what clipping does to vectors that are so much alike.
func (s study) collect(t *testing.T, spec vector.Spec, round uint64, encode func(i int, v []float32)) vector.Sum {
	t.Helper()
	m, err := vector.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	n := s.train.Rows
	sum, err := m.Estimate(m.DrawAll(n, encode, func(part int) *rand.Rand { return replay.New(1, round, uint64(part)) }, nil), n)
	if err != nil {
		t.Fatal(err)
	}
	exact, v := make([]float64, spec.Dimension), make([]float32, spec.Dimension)
	for i := range n {
		encode(i, v)
		for k, x := range v {
			exact[k] += float64(x)
		}
	}
	squares := 0.0
	for k, x := range sum.Vector {
		squares += (x - exact[k]) * (x - exact[k]) / float64(len(exact))
	}
	predicted := math.Hypot(spec.Noise(n), spec.Clipping(n, s.overlap))
	t.Logf("%d of %d rows, clip %v, flip %.4f, %d envelopes: error %.3f, predicted %.3f", spec.Answered, spec.Rows, spec.Clip, spec.Flip, spec.Envelopes, math.Sqrt(squares), predicted)
	if ratio := math.Sqrt(squares) / predicted; round < 2 && (ratio < 0.95 || ratio > 1.05) {
		t.Errorf("the error is %.3f of the predicted", ratio)
	}
	return sum
}

func (s study) moments(t *testing.T, spec vector.Spec, round uint64) record.Sums {
	t.Helper()
	sum := s.collect(t, spec, round, func(i int, v []float32) { s.shape.Message(row(s.train, i), s.set.Train.Y[i], v) })
	sums, err := s.shape.Decode(sum.Vector, sum.Error)
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// oneRound is one round of 8,192 bits of each of 60,000 respondents at epsilon 1, every bit
// drawn, with labels inside and nothing public but synthetic images.
func (s study) oneRound(t *testing.T, least float64) {
	t.Helper()
	n := s.train.Rows
	spec, err := s.first.Design(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := account.Epsilon(spec.Event(n), delta); err != nil || g.Epsilon > epsilon {
		t.Fatalf("%v, %v", g, err)
	}
	ridge, err := moments.Ridge(s.moments(t, spec, 0), n)
	if err != nil {
		t.Fatal(err)
	}
	if got := accuracy(ridge, s.test, s.set.Test.Y); got < least {
		t.Errorf("one round: accuracy %.4f, want %v", got, least)
	} else {
		t.Logf("one round: accuracy %.4f", got)
	}
}

// One round and five at the same epsilon and bits in all, for the set that CONFETTI_LEARN
// names.
func TestOneAndFiveRounds(t *testing.T) {
	least := map[string][2]float64{"mnist": {0.963, 0.977}, "fashion-mnist": {0.85, 0.885}}
	name := os.Getenv("CONFETTI_LEARN")
	if _, ok := least[name]; !ok {
		t.Skip("takes minutes: set CONFETTI_LEARN to mnist or fashion-mnist")
	}
	s := newStudy(t, name)
	s.oneRound(t, least[name][0])
	n := s.train.Rows
	s.first.Bits = bits * 3 / 10
	later := vector.Need{Respondents: n, Honest: n, Dimension: s.shape.Dimension * s.shape.Classes, Bits: bits * 7 / 40, SquaredDistance: record.GradientDistance}
	specs, err := vector.Rounds([]vector.Need{s.first, later, later, later, later}, []float64{0.3, 0.175, 0.175, 0.175, 0.175}, epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	var all account.All
	for _, spec := range specs {
		all.Events = append(all.Events, spec.Event(n))
	}
	if g, err := account.Epsilon(all, delta); err != nil || g.Epsilon > epsilon {
		t.Fatal(g, err)
	}
	descent, err := moments.NewDescent(s.moments(t, specs[0], 1), n)
	if err != nil {
		t.Fatal(err)
	}
	white := func(x blas32.General) blas32.General {
		y := x
		y.Data = make([]float32, len(x.Data))
		inParallel(x.Rows, func() []float32 { return make([]float32, x.Cols) }, func(held []float32, i int) {
			copy(held, row(x, i))
			descent.Features(held, row(y, i))
		})
		return y
	}
	phi, test := white(s.train), white(s.test)
	for i, spec := range specs[1:] {
		sum := s.collect(t, spec, uint64(2+i), func(i int, v []float32) { descent.Message(row(phi, i), s.set.Train.Y[i], v) })
		if err := descent.Step(sum.Vector, n); err != nil {
			t.Fatal(err)
		}
		t.Logf("after %d rounds: accuracy %.4f", i+2, accuracy(descent.Classifier(), test, s.set.Test.Y))
	}
	if got := accuracy(descent.Classifier(), test, s.set.Test.Y); got < least[name][1] {
		t.Errorf("five rounds: accuracy %.4f, want %v", got, least[name][1])
	}
}
