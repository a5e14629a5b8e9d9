package latent

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/direction"
)

// Cap tells of a vector, however long, a direction from a cap about it (PrivUnit: Bhowmick, Duchi,
// Freudiger, Kapoor, Rogers 2018); a vector of zeros or one with a number that is not finite has
// any direction.
type Cap struct{ direction.Cap }

// BestCap returns the cap whose reports have the least noise.
func BestCap(dim int, epsilon float64) Cap { return Cap{direction.BestCap(dim, 1, epsilon)} }

// Size returns the length of a report, in bytes.
func (m Cap) Size() int { return direction.SeedBytes }

// unit returns a vector in its direction, at length one or, by roundings, just above it, where a
// direction is certain.
func unit(x []float32) []float64 {
	out, squares := make([]float64, len(x)), 0.0
	for i, v := range x {
		out[i] = float64(v)
		squares += out[i] * out[i]
	}
	if !(squares > 0 && squares <= math.MaxFloat64) {
		clear(out)
		return out
	}
	by := (1 + 0x1p-40) / math.Sqrt(squares)
	for i := range out {
		out[i] *= by
	}
	return out
}

// Randomize returns the report of a vector.
func (m Cap) Randomize(r *rand.Rand, x []float32) []byte { return m.Cap.Randomize(r, unit(x)) }

// LogProb is as that of Laplace.
func (m Cap) LogProb(x []float32) func(report []byte) float64 {
	u := unit(x)
	return func(report []byte) float64 { return math.Log(m.Cap.Prob(report, u)) }
}
