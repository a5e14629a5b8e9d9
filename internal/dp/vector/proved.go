package vector

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/plan"
)

const (
	rounded = 0.02      // largest share of the noise's variance that rounding may add
	finest  = 1<<15 - 1 // steps, of 16 bits a number
)

// DesignWhole returns the coarsest steps of vectors of proved length whose rounding hardly errs. The route it returns has
// the noise that keeps a plan's budget in so many rounds of the same respondents.
func DesignWhole(p plan.Plan, rounds int, of func(steps int) (*Whole, error)) (steps int, route plan.Sum, err error) {
	for steps = 15; ; steps = 2*steps + 1 {
		w, err := of(steps)
		if err != nil {
			return 0, route, err
		}
		route, err = sumprivacy.CalibrateVectors(p, rounds, w.squaredShift(), w.Rows())
		if err == nil && w.Rounding(p.Crowd.Minimum) <= rounded*BothNoises(route) || steps == finest {
			return steps, route, err
		}
	}
}

// BothNoises returns the variance of what both aggregators add, whose sigma is 64 and more: within 1e-27 of itself.
func BothNoises(s plan.Sum) float64 { return 2 * s.Sigma * s.Sigma }

// squaredShift returns the largest squared distance of two vectors that a proof lets through, whatever rounding does.
func (w *Whole) squaredShift() float64 { return 4 * float64(w.Square()) }

// Event returns the event of a sum, seen by somebody who does not know the noise of so many aggregators.
func (w *Whole) Event(route plan.Sum, unknown int) account.Event {
	return sumprivacy.Vectors(route, unknown, w.squaredShift(), w.Rows())
}

// Circuit returns the circuit that proves the length of a vector.
func (w *Whole) Circuit() plan.Circuit {
	return plan.Circuit{Kind: plan.CircuitSumVec, Length: w.rows, Max: 2 * w.steps, Square: w.Square()}
}

// Measured returns the whole numbers that a device splits for its vector.
func (w *Whole) Measured(r *rand.Rand, v []float32) []uint64 {
	out := make([]uint64, w.rows)
	w.Round(r, v, out)
	return out
}

// Says says for how many respondents a liar counts at most.
func (w *Whole) Says(vector string) string {
	return fmt.Sprintf("A device proves how long its %s is, and not what it is of: one who lies counts for %.2f respondents at most.", vector, math.Ceil(100*w.Longest())/100)
}
