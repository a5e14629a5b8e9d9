package bitsum

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Grid is for sums of real numbers in [-1, 1]: each becomes a multiple of 1/Levels, an
// integer from -Levels to Levels, at random such that the mean is kept (KDE, Appendix
// B.2; Kairouz, Liu and Steinke 2021). Replacing a number moves its sum by at most
// Sensitivity.
type Grid struct {
	Levels int // 1 to 2^20
}

// Validate says what is wrong with the parameter.
func (g Grid) Validate() error {
	if g.Levels < 1 || g.Levels > 1<<20 {
		return fmt.Errorf("bitsum: grid of %d levels: give a number from 1 to 2^20", g.Levels)
	}
	return nil
}

func (g Grid) must() {
	if err := g.Validate(); err != nil {
		panic(err.Error())
	}
}

// Sensitivity is 2 Levels: from one end of the grid to the other.
func (g Grid) Sensitivity() int { return 2 * g.Levels }

// RoundAll rounds the numbers of one device to values, a slice of the same length: x
// Levels up with the probability of its fraction, else down, independently. Numbers are
// in [-1, 1]; what a float32 product left outside is cut off, and NaN panics.
//
// The product is exact in float64, and the probability is carried out to within 2^-53.
// As with RoundAll for bits its rounding costs no privacy.
func (g Grid) RoundAll(r *rand.Rand, numbers []float32, values []int) {
	g.must()
	if len(numbers) != len(values) {
		panic(fmt.Sprintf("bitsum: %d numbers for %d values", len(numbers), len(values)))
	}
	for i, x := range numbers {
		if x != x {
			panic("bitsum: number is not a number")
		}
		scaled := float64(max(-1, min(1, x))) * float64(g.Levels)
		down := math.Floor(scaled)
		values[i] = int(down)
		if r.Uint64()>>1 < uint64((scaled-down)*(1<<63)) {
			values[i]++
		}
	}
}

// Estimate is the sum of n numbers from that of their values: it divides by Levels, and
// adds the error of the rounding, of variance at most a quarter for each value.
func (g Grid) Estimate(sum estimate.Value, n int) estimate.Value {
	g.must()
	rounding := estimate.Value{StdErr: math.Sqrt(float64(max(0, n))) / 2}
	return sum.Add(rounding).Scale(1 / float64(g.Levels))
}
