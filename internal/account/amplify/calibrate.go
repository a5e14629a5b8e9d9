package amplify

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
)

// CalibrateLocal finds the largest local epsilon that meets the target, to a
// millionth of it: of whole reports, what they are told apart by is not among the
// parameters. The event is what the accountant is told of one round.
func CalibrateLocal(t calibrate.Target, event func(local float64) account.Event) (local float64, g account.Guarantee, err error) {
	if err := t.Check(); err != nil {
		return 0, account.Guarantee{}, err
	}
	// In the end a report cannot tell more alone than among others: basic composition.
	start := math.Min(maxShuffledEpsilon, math.Max(minShuffledEpsilon, t.Epsilon/float64(t.Rounds)))
	s := calibrate.Search{Noise: 1 / start, Most: 1 / minShuffledEpsilon, Tolerance: calibrate.CloseEnough}
	noise, err := t.Search(s, func(noise float64) account.Event { return event(1 / noise) })
	if err != nil {
		return 0, account.Guarantee{}, err
	}
	_, g, err = calibrate.Meets(t, event(1/noise))
	return 1 / noise, g, err
}
