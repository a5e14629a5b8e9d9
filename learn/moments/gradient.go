package moments

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/dp/encode/whiten"
)

// Descent improves a classifier by rounds of gradients of the logistic loss, in features
// that the sums of a first round have made white:
//
//	phi = M (psi - m)/|M (psi - m)|,   M = (covariance + lambda)^-1/2.
type Descent struct {
	shape   Shape
	mean    []float32
	whiten  blas32.General // M
	weights *mat.Dense     // of phi
	passed  []*mat.Dense   // weights after each round
}

const (
	errorCut = 0.6 // norm to which a respondent's error of the scores is cut
	stepSize = 2.5 // times the dimension
	startUp  = 4   // times the least-squares classifier, whose scores are too small for the loss
)

// NewDescent starts at the classifier of the sums of n respondents: 4 s M X, X the
// covariance of features and classes, s^2 the mean of |M (psi - m)|^2.
func NewDescent(s Sums, n int) (*Descent, error) {
	c, err := newCentred(s, n)
	if err != nil {
		return nil, err
	}
	d, classes := s.Class.Dims()
	m := c.power(0.5)
	descent := &Descent{shape: Shape{d, classes}, mean: make([]float32, d), weights: new(mat.Dense),
		whiten: blas32.General{Rows: d, Cols: d, Stride: d, Data: make([]float32, d*d)}}
	for i := range d {
		descent.mean[i] = float32(c.mean.AtVec(i))
		for j := range d {
			descent.whiten.Data[i*d+j] = float32(m.At(i, j))
		}
	}
	squares := 0.0
	for _, v := range c.values {
		squares += v / (v + c.ridge)
	}
	descent.weights.Mul(m, c.cross)
	descent.weights.Scale(startUp*math.Sqrt(squares), descent.weights)
	return descent, nil
}

// Features writes phi of psi, which is overwritten; both have the dimension's length.
func (d *Descent) Features(psi, phi []float32) {
	for i, m := range d.mean {
		psi[i] -= m
	}
	blas32.Gemv(blas.NoTrans, 1, d.whiten, blas32.Vector{N: len(psi), Inc: 1, Data: psi}, 0, blas32.Vector{N: len(phi), Inc: 1, Data: phi})
	whiten.Normalize(phi)
}

// MessageLen is the number of coordinates of a round's message.
func (d *Descent) MessageLen() int { return d.shape.Dimension * d.shape.Classes }

// MessageDistance is the largest squared distance of two messages of a round: gradients can
// be opposite.
const MessageDistance = 4

// Message writes E (x) phi/0.6, E the softmax of the scores less one at the class, cut to
// norm 0.6: a row of features for each class.
func (d *Descent) Message(phi []float32, class int, out []float32) {
	errs := d.scores(phi)
	softmax(errs)
	errs[class]--
	squares := 0.0
	for _, e := range errs {
		squares += e * e
	}
	scale := (1 - 0x1p-22) / math.Max(errorCut, math.Sqrt(squares))
	for k, e := range errs {
		row := out[k*len(phi) : (k+1)*len(phi)]
		factor := float32(scale * e)
		for i, x := range phi {
			row[i] = factor * x
		}
	}
}

func (d *Descent) scores(phi []float32) []float64 {
	scores := make([]float64, d.shape.Classes)
	raw := d.weights.RawMatrix()
	for i, x := range phi {
		for k, w := range raw.Data[i*raw.Stride:][:raw.Cols] {
			scores[k] += w * float64(x)
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

// Step goes down the mean gradient of n respondents, from the sum of their messages.
func (d *Descent) Step(sum []float64, n int) error {
	if len(sum) != d.MessageLen() || n < 1 {
		return fmt.Errorf("moments: a gradient of %d numbers over %d respondents, want %d numbers", len(sum), n, d.MessageLen())
	}
	features := d.shape.Dimension
	next := mat.NewDense(features, d.shape.Classes, nil)
	rate := stepSize * float64(features) * errorCut / float64(n)
	next.Apply(func(i, k int, w float64) float64 { return w - rate*sum[k*features+i] }, d.weights)
	d.weights = next
	d.passed = append(d.passed, next)
	return nil
}

// Classifier is of phi: the mean of the weights after the last half of the rounds,
// rounded up, and those at the start if there were none.
func (d *Descent) Classifier() Linear {
	l := Linear{Weights: mat.DenseCopyOf(d.weights), Offset: make([]float64, d.shape.Classes)}
	if last := d.passed[len(d.passed)/2:]; len(last) > 0 {
		l.Weights.Zero()
		for _, w := range last {
			l.Weights.Add(l.Weights, w)
		}
		l.Weights.Scale(1/float64(len(last)), l.Weights)
	}
	return l
}
