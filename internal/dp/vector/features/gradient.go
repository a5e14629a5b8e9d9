package features

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
)

// Point is where a descent of the logistic loss stands, in features that the sums of an
// earlier round have made white:
//
//	phi = M (psi - m)/|M (psi - m)|.
//
// It is all that a device needs for its gradient there.
type Point struct {
	Shape
	Mean    []float32      // m
	Whiten  blas32.General // M
	Weights []float64      // of phi: a row of classes for each feature
}

// Check says what is wrong with a point that was read.
func (p *Point) Check() error {
	d := p.Dimension
	if err := p.Validate(); err != nil {
		return err
	}
	m := p.Whiten
	if len(p.Mean) != d || m.Rows != d || m.Cols != d || m.Stride != d || len(m.Data) != d*d || len(p.Weights) != d*p.Classes {
		return fmt.Errorf("features: a point of a descent that is not of %d features and %d classes", d, p.Classes)
	}
	for _, part := range [][]float32{p.Mean, m.Data} {
		for _, x := range part {
			if x-x != 0 {
				return errors.New("features: a number of the point is not finite")
			}
		}
	}
	for _, x := range p.Weights {
		if x-x != 0 {
			return errors.New("features: a weight of the point is not finite")
		}
	}
	return nil
}

// Features writes phi of psi, which is overwritten; both have the dimension's length.
func (p *Point) Features(psi, phi []float32) {
	for i, m := range p.Mean {
		psi[i] -= m
	}
	blas32.Gemv(blas.NoTrans, 1, p.Whiten, blas32.Vector{N: len(psi), Inc: 1, Data: psi}, 0, blas32.Vector{N: len(phi), Inc: 1, Data: phi})
	whiten.Normalize(phi)
}

// ErrorCut is the norm to which a respondent's error of the scores is cut: a message is the
// gradient divided by it.
const ErrorCut = 0.6

// GradientLen returns the number of coordinates of a gradient.
func (s Shape) GradientLen() int { return s.Dimension * s.Classes }

// GradientDistance is the largest squared distance of two gradients: they can be opposite.
const GradientDistance = 4

// Message writes E (x) phi/0.6, E the softmax of the scores less one at the class, cut to
// norm 0.6: a row of features for each class.
func (p *Point) Message(phi []float32, class int, out []float32) {
	errs := p.Scores(phi)
	softmax(errs)
	errs[class]--
	squares := 0.0
	for _, e := range errs {
		squares += e * e
	}
	scale := (1 - 0x1p-22) / math.Max(ErrorCut, math.Sqrt(squares))
	for k, e := range errs {
		row := out[k*len(phi) : (k+1)*len(phi)]
		factor := float32(scale * e)
		for i, x := range phi {
			row[i] = factor * x
		}
	}
}

// Scores are of every class.
func (p *Point) Scores(phi []float32) []float64 {
	scores, n := make([]float64, p.Classes), p.Classes
	i := 0
	for ; i+4 <= len(phi); i += 4 { // four at a time: a sum waits for its last term
		x, w := phi[i:i+4], p.Weights[i*n:][:4*n]
		a, b, c, d := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		for k := range scores {
			scores[k] += (a*w[k] + b*w[n+k]) + (c*w[2*n+k] + d*w[3*n+k])
		}
	}
	for ; i < len(phi); i++ {
		for k, w := range p.Weights[i*n:][:n] {
			scores[k] += w * float64(phi[i])
		}
	}
	return scores
}

func softmax(scores []float64) {
	most, sum := math.Inf(-1), 0.0
	for _, s := range scores {
		most = math.Max(most, s)
	}
	for k, s := range scores {
		scores[k] = math.Exp(s - most)
		sum += scores[k]
	}
	for k := range scores {
		scores[k] /= sum
	}
}
