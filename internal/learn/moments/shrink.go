package moments

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

const (
	shrinkSteps = 60   // of conjugate gradients, at most
	shrinkLeft  = 1e-4 // of the length of what is solved for
)

// Shrunk returns what sums of features of each class are expected to be, given the noisy ones: a
// class of which nothing is known differs from another along a direction as much as public inputs
// do, so that a sum s is normal with covariance t C beforehand, C the second moments of the public
// rows, and afterwards
//
//	C (C + noise^2/t)^-1 s
//
// in expectation. t is what makes the length of s as large as it is, less the noise. Sums stay as
// they are where there is no noise, where noise is all there is, and where rows are fewer than
// features, which leaves directions without any. sum holds vectors of features one after another.
func Shrunk(sum []float64, noise float64, public blas32.General) []float64 {
	d := public.Cols
	if d == 0 || public.Rows < d || len(sum)%d != 0 || !(noise > 0) {
		return sum
	}
	squares, trace := 0.0, 0.0
	for _, x := range sum {
		squares += x * x
	}
	for i := range public.Rows {
		n := float64(blas32.Nrm2(blas32.Vector{N: d, Inc: 1, Data: public.Data[i*public.Stride:]}))
		trace += n * n / float64(public.Rows)
	}
	t := (squares - float64(len(sum))*noise*noise) / (trace * float64(len(sum)/d))
	if !(t > 0) {
		return sum
	}
	out := make([]float64, 0, len(sum))
	p := publicMoments{public, make([]float32, public.Rows)}
	for at := 0; at < len(sum); at += d {
		out = append(out, p.times(p.solve(sum[at:at+d], noise*noise/t))...)
	}
	return out
}

// publicMoments are the second moments C of rows, which are not formed.
type publicMoments struct {
	rows blas32.General
	held []float32
}

// times is C v.
func (p publicMoments) times(v []float64) []float64 {
	x, y := make([]float32, len(v)), make([]float32, len(v))
	for i, a := range v {
		x[i] = float32(a)
	}
	held := blas32.Vector{N: p.rows.Rows, Inc: 1, Data: p.held}
	blas32.Gemv(blas.NoTrans, 1, p.rows, blas32.Vector{N: len(x), Inc: 1, Data: x}, 0, held)
	blas32.Gemv(blas.Trans, 1/float32(p.rows.Rows), p.rows, held, 0, blas32.Vector{N: len(y), Inc: 1, Data: y})
	out := make([]float64, len(v))
	for i, a := range y {
		out[i] = float64(a)
	}
	return out
}

// solve returns (C + ridge)^-1 b, by conjugate gradients.
func (p publicMoments) solve(b []float64, ridge float64) []float64 {
	x, left, along := make([]float64, len(b)), append([]float64(nil), b...), append([]float64(nil), b...)
	squares := inner(b, b)
	least := shrinkLeft * shrinkLeft * squares
	for steps := 0; steps < shrinkSteps && squares > least; steps++ {
		moved := p.times(along)
		for i, a := range along {
			moved[i] += ridge * a
		}
		step := squares / inner(along, moved)
		for i, a := range along {
			x[i] += step * a
			left[i] -= step * moved[i]
		}
		before := squares
		squares = inner(left, left)
		for i, l := range left {
			along[i] = l + squares/before*along[i]
		}
	}
	return x
}

func inner(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
