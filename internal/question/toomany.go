package question

import (
	"fmt"

	"github.com/confetti-dp/confetti/plan"
)

// TooManyMessages is noise that keeps the budget and that no device sends. The plan that
// a design returns with it has the noise, and is not valid.
type TooManyMessages struct{ PerDevice int }

// Error says what to change.
func (e *TooManyMessages) Error() string {
	return fmt.Sprintf("question: the noise takes %d messages a device, of at most %d: ask for fewer cells or repetitions, for a sketch, for another mechanism, or in a larger crowd", e.PerDevice, plan.MaxEnvelopes)
}
