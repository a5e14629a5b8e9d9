package latent

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Gaussian tells of a vector the point of a public grid next to it, with discrete Gaussian noise in every coordinate
// (LTN's Gaussian mechanism, on integers). Vectors are pulled back to a length of at most Length in the
// two-norm, and points of the grid to at most Points: so no two points are further apart than 2 Points steps.
type Gaussian struct {
	Dim    int     // in [1, MaxDim]
	Length float64 // of the ball, in the two-norm, > 0
	Points int     // steps of the grid from the centre to the ball's surface, in [1, maxPoints]
	Sigma  float64 // of the noise, in steps
	Delta  float64 // of what is promised of a report by itself
}

// NewGaussian returns the mechanism with the least noise of which a report, with a class where one is told, keeps a
// local epsilon at a delta.
func NewGaussian(dim int, length float64, points int, class randomize.KRR, epsilon, delta float64) (Gaussian, error) {
	m := Gaussian{Dim: dim, Length: length, Points: points, Delta: delta}
	if err := validGrid(dim, length, points); err != nil {
		return m, err
	}
	e, err := amplify.CalibrateGaussianReport(m.event(class), epsilon, delta)
	m.Sigma = e.Sigma
	return m, err
}

// Validate says what is wrong with the parameters.
func (m Gaussian) Validate() error {
	if err := validGrid(m.Dim, m.Length, m.Points); err != nil {
		return err
	}
	if !(m.Delta > 0 && m.Delta < 1) {
		return fmt.Errorf("latent: delta %v: give a number between 0 and 1", m.Delta)
	}
	if _, err := m.event(randomize.KRR{}).Terms(); err != nil {
		return fmt.Errorf("latent: %w", err)
	}
	return nil
}

// Snap returns the grid point of a vector: no further than Points from the centre, in the two-norm. One with a
// number that is not finite is at the centre.
func (m Gaussian) Snap(x []float32) []int {
	return onGrid(x, m.Dim, norm(x), m.Length, m.Points, m.Points*m.Points, func(n int) int { return n * n })
}

// norm returns the two-norm.
func norm(x []float32) float64 {
	squares := 0.0
	for _, v := range x {
		squares += float64(v) * float64(v)
	}
	return math.Sqrt(squares)
}

// Size returns the length of a report, in bytes.
func (m Gaussian) Size() int { return wordBytes * m.Dim }

// Randomize returns the report of a vector of Dim numbers.
func (m Gaussian) Randomize(r *rand.Rand, x []float32) []byte {
	z := noise.DiscreteGaussian{Sigma: m.Sigma}
	return noisyGrid(m.Snap(x), func() int { return z.Sample(r) })
}

// Read returns the noisy vector that a report tells.
func (m Gaussian) Read(report []byte) ([]float32, error) {
	return readGrid(report, m.Dim, m.Length/float64(m.Points))
}

// LogProb returns what Laplace's does, of this law.
func (m Gaussian) LogProb(x []float32) func(report []byte) float64 {
	point := m.Snap(x)
	return func(report []byte) float64 {
		squares := 0.0
		for j, n := range point {
			d := float64(said(report, j) - n)
			squares += d * d
		}
		return -squares / (2 * m.Sigma * m.Sigma)
	}
}

// event returns that of a report with a class, or with K 0 of the vector alone.
func (m Gaussian) event(class randomize.KRR) amplify.GaussianReport {
	return amplify.GaussianReport{Sigma: m.Sigma, Apart: 2 * m.Points, Numbers: m.Dim, Classes: class.K, ClassEpsilon: class.Epsilon}
}

// Event returns what the accountant is told: of a report by itself, however many others there are.
func (m Gaussian) Event(int) account.Event { return m.event(randomize.KRR{}) }

// Local returns what a device is promised against everybody else.
func (m Gaussian) Local(adj account.Adjacency) account.Guarantee {
	return m.local(randomize.KRR{}, adj)
}

// local returns the promise of a report with a class; an infinite epsilon where the accountant has none.
func (m Gaussian) local(class randomize.KRR, adj account.Adjacency) account.Guarantee {
	g, err := account.Epsilon(m.event(class), m.Delta)
	if err != nil {
		g.Epsilon, g.Delta = math.Inf(1), m.Delta
	}
	g.Adjacency, g.Trust, g.Users, g.Rounds = adj, account.Local, 1, 1
	return g
}

// Ball returns the length of the ball that a mechanism pulls vectors back to; 0 of a direction, which has none.
func (e *Encoder) Ball(mechanism string) float64 {
	switch mechanism {
	case NameLaplace:
		return e.Length
	case NameGaussian:
		return e.radius()
	}
	return 0
}

// radius returns the least length, in the two-norm, that holds the prototypes of nine in ten public records: the ball
// that Gaussian noise is added in.
func (e *Encoder) radius() float64 {
	type ball struct {
		length float64
		size   int
	}
	all, total := make([]ball, e.Prototypes.Rows), 0
	for i := range all {
		all[i] = ball{norm(e.Prototypes.Data[i*e.Prototypes.Stride:][:e.Prototypes.Cols]), e.Sizes[i]}
		total += e.Sizes[i]
	}
	slices.SortFunc(all, func(a, b ball) int { return cmp.Compare(a.length, b.length) })
	held := 0
	for _, b := range all {
		if held += b.size; 10*held >= 9*total && b.length > 0 {
			return b.length
		}
	}
	return e.Length // prototypes are all zero
}
