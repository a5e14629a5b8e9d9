package latent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// Laplace tells of a vector the point of a public grid next to it, with discrete Laplace noise in
// every coordinate (Learning to noise, section 4, on integers). Vectors are pulled back to a length
// of at most Length in the sum of magnitudes, and points of the grid to at most Points: so no two
// points are further apart than 2 Points steps, whatever rounding did.
type Laplace struct {
	Dim     int     // in [1, MaxDim]
	Length  float64 // l, > 0
	Points  int     // steps of the grid from the centre to the ball's surface, in [1, maxPoints]
	Epsilon float64 // local, under replacement, in [minEpsilon, maxEpsilon]
}

// Bounds of reports.
const (
	MaxDim     = 1 << 12
	maxPoints  = 1 << 16
	minEpsilon = 1e-3
	maxEpsilon = 50
	wordBytes  = 4
)

// Validate says what is wrong with the parameters.
func (m Laplace) Validate() error {
	if err := validGrid(m.Dim, m.Length, m.Points); err != nil {
		return err
	}
	return validEpsilon(m.Epsilon)
}

func validGrid(dim int, length float64, points int) error {
	switch {
	case dim < 1 || dim > MaxDim:
		return fmt.Errorf("latent: %d numbers: give 1 to %d", dim, MaxDim)
	case !(length > 0 && length <= math.MaxFloat32):
		return fmt.Errorf("latent: a ball of length %v: give a positive number", length)
	case points < 1 || points > maxPoints:
		return fmt.Errorf("latent: a grid of %d points: give 1 to %d", points, maxPoints)
	}
	return nil
}

func validEpsilon(epsilon float64) error {
	if !(epsilon >= minEpsilon && epsilon <= maxEpsilon) {
		return fmt.Errorf("latent: epsilon %v: give a number from %v to %v", epsilon, minEpsilon, float64(maxEpsilon))
	}
	return nil
}

// Snap returns the grid point of a vector: no further than Points from the centre, in the sum of
// magnitudes. One with a number that is not finite is at the centre.
func (m Laplace) Snap(x []float32) []int {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	return onGrid(x, m.Dim, sum, m.Length, m.Points, m.Points, func(n int) int { return max(n, -n) })
}

// onGrid returns the point next to a vector of some length, pulled back to a ball of so many steps, whose points
// have numbers that cost at most so much together.
func onGrid(x []float32, dim int, length, ball float64, points, most int, cost func(n int) int) []int {
	point := make([]int, dim)
	if length == 0 || !(length <= math.MaxFloat64) {
		return point
	}
	pull := math.Min(1, ball/length) / (ball / float64(points))
	over := -most
	for j, v := range x {
		point[j] = int(math.Round(float64(v) * pull))
		over += cost(point[j])
	}
	for over > 0 { // rounding led beyond the ball: the number that gained most by it goes back a step
		far, gained := 0, math.Inf(-1)
		for j, n := range point {
			if gain := math.Abs(float64(n)) - math.Abs(float64(x[j])*pull); n != 0 && gain > gained {
				far, gained = j, gain
			}
		}
		over -= cost(point[far])
		if point[far] > 0 {
			point[far]--
		} else {
			point[far]++
		}
		over += cost(point[far])
	}
	return point
}

// Decay returns that of the noise: epsilon over the greatest distance of two points, rounded down.
func (m Laplace) Decay() float64 {
	return math.Nextafter(m.Epsilon/float64(2*m.Points), 0)
}

// Size returns the length of a report, in bytes.
func (m Laplace) Size() int { return wordBytes * m.Dim }

// Randomize returns the report of a vector of Dim numbers.
func (m Laplace) Randomize(r *rand.Rand, x []float32) []byte {
	z := noise.DiscreteLaplace{Decay: m.Decay()}
	return noisyGrid(m.Snap(x), func() int { return z.Sample(r) })
}

// noisyGrid returns the report of a point with noise. Sums that take more than 31 bits are cut off, which costs nothing.
func noisyGrid(point []int, noise func() int) []byte {
	report := make([]byte, 0, wordBytes*len(point))
	for _, n := range point {
		said := max(math.MinInt32, min(math.MaxInt32, n+noise()))
		report = binary.BigEndian.AppendUint32(report, uint32(int32(said)))
	}
	return report
}

var errReport = errors.New("latent: not a report of this length")

// Read returns the noisy vector that a report tells.
func (m Laplace) Read(report []byte) ([]float32, error) {
	return readGrid(report, m.Dim, m.Length/float64(m.Points))
}

// readGrid returns the vector of a report of so many steps in each number.
func readGrid(report []byte, dim int, step float64) ([]float32, error) {
	if len(report) != wordBytes*dim {
		return nil, errReport
	}
	x := make([]float32, dim)
	for j := range x {
		x[j] = float32(float64(said(report, j)) * step)
	}
	return x, nil
}

func said(report []byte, j int) int { return int(int32(binary.BigEndian.Uint32(report[wordBytes*j:]))) }

// LogProb is of a vector: the logarithm of the probability of each report of the length that Size
// says, but for a constant that is the same for all vectors. (Reports that were cut off aside.)
func (m Laplace) LogProb(x []float32) func(report []byte) float64 {
	point, decay := m.Snap(x), m.Decay()
	return func(report []byte) float64 {
		apart := 0
		for j, n := range point {
			d := said(report, j) - n
			apart += max(d, -d)
		}
		return -decay * float64(apart)
	}
}

// Event returns what the accountant is told of the shuffled reports of so many users.
func (m Laplace) Event(users int) account.Event {
	return amplify.AnyRandomizer{Users: users, Epsilon: m.Epsilon}
}

// Local returns what a device is promised against everybody else.
func (m Laplace) Local(adj account.Adjacency) account.Guarantee {
	return pure(m.Epsilon, adj, fmt.Sprintf("discrete Laplace noise on a grid, two points at most %d steps apart", 2*m.Points), "ratio of its probabilities; Ghosh, Roughgarden, Sundararajan 2009")
}

func pure(epsilon float64, adj account.Adjacency, method, source string) account.Guarantee {
	return account.Guarantee{Epsilon: epsilon, Adjacency: adj, Trust: account.Local, Users: 1, Rounds: 1, Bound: account.Exact, Method: method, Source: source}
}
