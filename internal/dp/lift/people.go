package lift

import (
	"math"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/plan"
)

// Fewest is how many people a look needs for intervals that hold where tails are heavy.
const Fewest = 5000

// UsualBits are how many a device sends where nobody says how many.
const UsualBits = 1024

// excess is about what the accountant charges for bits above a Gaussian of the counts' deviation.
const excess = 1.06

// Deviation returns about what the noise in each number of the sums of so many is, before a plan of so many is designed.
func Deviation(e plan.Experiment, r plan.Route, b plan.Budget, people int) float64 {
	t := calibrate.Target{Users: 1, Rounds: 1, Epsilon: b.Epsilon, Delta: b.Delta}
	metrics, distance := float64(len(e.Metrics)), t.Distance()
	private := SquaredGap * metrics / (distance * distance)
	if s := r.Sum; s != nil {
		if s.Noise == plan.NoiseShared {
			return math.Sqrt(private)
		}
		return math.Sqrt(2 * private)
	}
	answered := UsualBits
	if e.Bits != nil {
		answered = e.Bits.Answered
	}
	n, rows, reach := float64(people), float64(vector.LeastRows(Numbers(e), answered)), Reach(e)
	honest := 1 - b.DishonestShare
	return math.Sqrt(excess*excess*private/honest + metrics*n*(reach*reach/float64(answered)-1/rows))
}
