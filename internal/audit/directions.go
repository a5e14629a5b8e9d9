package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// director is a mechanism that tells of a vector by one direction.
type director interface {
	Randomize(r *rand.Rand, x []float64) []byte
	// Prob is the probability of a report of a holder of x, up to a factor.
	Prob(report []byte, x []float64) float64
}

// Directions returns the shuffled reports of so many users of vectors of so many numbers, no
// longer than clip. The respondent attacked holds one of that length or its opposite, and
// all others the first.
//
// With reports y_i the likelihood ratio is that of the sum of P(y_i | second)/P(y_i | first) to
// the number of reports, exactly.
func Directions(m director, dim int, clip float64, users int) Observed {
	return directions(m, m, dim, clip, users)
}

// directions are drawn by one mechanism and scored by another.
func directions(drawn, law director, dim int, clip float64, users int) Observed {
	first, second := make([]float64, dim), make([]float64, dim)
	first[0], second[0] = clip, -clip
	return Observed{
		Sees: fmt.Sprintf("all reports, of vectors of %d numbers, every other respondent holding the opposite of the second", dim),
		Work: users * (80 + 6*dim), // devices and the score expand every seed
		New: func() View {
			return func(r *rand.Rand, other bool) float64 {
				sum, held := 0.0, first
				if other {
					held = second
				}
				for range users {
					report := drawn.Randomize(r, held)
					sum += law.Prob(report, second) / law.Prob(report, first)
					held = first
				}
				return math.Log(sum / float64(users))
			}
		},
	}
}
