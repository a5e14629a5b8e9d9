package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/kernel"
)

// A Layer turns In numbers of an example into Out. It is a description only:
// what it has learned are Params numbers that it is lent, what it has seen is
// lent by a Pass. A batch is n examples, one row each.
type Layer interface {
	// Shape gives the numbers an example that go in and come out, and those that are learned.
	Shape() (in, out, params int)
	// check says what is wrong with a layer that came from elsewhere.
	check() error
	// start sets what is learned before the first step.
	start(r *rand.Rand, params []float32)
	// forward sets y (n x Out) to what follows from x (n x In).
	forward(s *scratch, w, x, y []float32, n int)
	// backward sets dx (n x In) to the derivative of the loss, given dy (n x Out).
	backward(s *scratch, w, x, y, dy, dx []float32, n int)
}

// A learning layer has numbers that are learned.
type learning interface {
	Layer
	// norms adds to sq, for each example, the squared norm of the loss's derivative in the
	// layer's own numbers.
	norms(s *scratch, x, dy, sq []float32, n int)
	// gradient adds to sum (Params) each example's derivative, times its scale; nil is one. An example whose
	// scale is zero is left out, whatever its numbers are: zero times infinity is no zero. Scales follow
	// from norms, which have been asked for before.
	gradient(s *scratch, x, dy, scale, sum []float32, n int)
}

// scratch is what a layer keeps of a batch from forward on, and buffers that it needs anew
// each time.
type scratch struct {
	kept, left, right []float32
	each              []float32  // examples' own gradients, from norms to gradient; of Dense the examples that are not left out
	chance            *rand.Rand // of what is sampled; nil: nothing is
}

// room gives n numbers, of which nothing is known.
func room(b *[]float32, n int) []float32 {
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	*b = (*b)[:n]
	return *b
}

// Dense is a matrix (In x Out) and a bias (Out).
type Dense struct {
	In  int `json:"in"`
	Out int `json:"out"`
	// Silent starts the weights at zero: a linear model needs no chance.
	Silent bool `json:"silent,omitempty"`
}

func (d Dense) Shape() (in, out, params int) { return d.In, d.Out, d.In*d.Out + d.Out }

func (d Dense) check() error { return positive("dense", d.In, d.Out) }

// start draws He's initial weights (He et al. 2015, equation 10).
func (d Dense) start(r *rand.Rand, w []float32) {
	clear(w)
	if !d.Silent {
		gaussian(r, w[:d.In*d.Out], d.In)
	}
}

func (d Dense) forward(_ *scratch, w, x, y []float32, n int) {
	kernel.Gemm(y, x, w[:d.In*d.Out], n, d.In, d.Out)
	bias := w[d.In*d.Out:]
	for i := range n {
		kernel.Axpy(y[i*d.Out:(i+1)*d.Out], bias, 1)
	}
}

func (d Dense) backward(s *scratch, w, _, _, dy, dx []float32, n int) {
	turned := room(&s.right, d.In*d.Out)
	kernel.Transpose(turned, w[:d.In*d.Out], d.In, d.Out)
	kernel.Gemm(dx, dy, turned, n, d.Out, d.In)
}

// norms needs no gradient: an example's is the outer product of its input, with a
// one for the bias, and its derivative (Goodfellow 2015).
func (d Dense) norms(_ *scratch, x, dy, sq []float32, n int) {
	const small = 1e-24 // below it single precision loses squares, which a long input makes large again
	for i := range n {
		a, e := x[i*d.In:(i+1)*d.In], dy[i*d.Out:(i+1)*d.Out]
		if far := kernel.Dot(e, e); far < small {
			sq[i] += float32((float64(kernel.Dot(a, a)) + 1) * squares(e)) // infinite where an input's length is
		} else {
			sq[i] += (kernel.Dot(a, a) + 1) * far
		}
	}
}

// squares returns the squared norm in double precision.
func squares(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

func (d Dense) gradient(s *scratch, x, dy, scale, sum []float32, n int) {
	if scale != nil {
		x, dy, n = s.scaled(x, dy, scale, n)
	}
	s.products(x, dy, sum, n, d.In, d.Out)
}

// scaled returns the examples whose scale is not zero, with their derivatives times it, and how many they are.
func (s *scratch) scaled(x, dy, scale []float32, n int) (kept, scaled []float32, left int) {
	in, out := len(x)/n, len(dy)/n
	scaled = room(&s.left, len(dy))[:0]
	if slices.Contains(scale, 0) {
		kept = room(&s.each, len(x))[:0]
	}
	for i, by := range scale {
		if by == 0 {
			continue
		}
		if kept != nil {
			kept = append(kept, x[i*in:(i+1)*in]...)
		}
		scaled = append(scaled, dy[i*out:(i+1)*out]...)
		kernel.Scale(scaled[left*out:], by)
		left++
	}
	if kept == nil {
		kept = x
	}
	return kept, scaled, left
}

// products adds to sum (in x out, then a bias of out) the outer products of the rows of x and
// dy, and of a one and those of dy.
func (s *scratch) products(x, dy, sum []float32, rows, in, out int) {
	product := room(&s.right, in*out)
	kernel.TurnedGemm(product, x, dy, in, rows, out)
	kernel.Axpy(sum[:in*out], product, 1)
	for i := range rows {
		kernel.Axpy(sum[in*out:], dy[i*out:(i+1)*out], 1)
	}
}

// ReLU lets what is positive through.
type ReLU struct {
	Size int `json:"size"`
}

func (l ReLU) Shape() (in, out, params int)                 { return l.Size, l.Size, 0 }
func (l ReLU) check() error                                 { return positive("relu", l.Size) }
func (l ReLU) start(*rand.Rand, []float32)                  {}
func (l ReLU) forward(_ *scratch, _, x, y []float32, n int) { kernel.Gate(y, x[:n*l.Size], x) }
func (l ReLU) backward(_ *scratch, _, x, _, dy, dx []float32, n int) {
	kernel.Gate(dx, dy, x[:n*l.Size])
}

// gaussian draws weights of variance 2/inputs.
func gaussian(r *rand.Rand, w []float32, inputs int) {
	deviation := math.Sqrt(2 / float64(inputs))
	for i := range w {
		w[i] = float32(deviation * r.NormFloat64())
	}
}

// largest bounds each size of a layer that comes from a file.
const largest = 1 << 20

func positive(kind string, sizes ...int) error {
	for _, n := range sizes {
		if n < 1 || n > largest {
			return fmt.Errorf("nn: a %s layer has a size of %d: sizes are 1 to %d", kind, n, largest)
		}
	}
	return nil
}
