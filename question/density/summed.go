package density

import (
	"errors"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

func (d *Question) table() question.Table {
	return question.Table{Channels: d.Features.Channels(), Symbols: 2, Answered: true}
}

// Circuit proves flipped bits.
func (d *Question) Circuit() (plan.Circuit, error) {
	if _, flips := d.Bits.(flipping); !flips || d.plan.Route.Sum.Noise != plan.NoiseDevices {
		return plan.Circuit{}, errors.New(`density: sums are of flipped bits: set question.density.bitsum.name to "rr" and route.sum.noise to "devices"`)
	}
	return d.table().Circuit(), nil
}

// Measure returns a bit for each channel, flipped.
func (d *Question) Measure(r *rand.Rand, s question.Symbol, m question.Memory) (crowd int, vector []uint64, err error) {
	return d.table().Measured(d, r, s, m)
}

// Sums returns those of the bits.
func (d *Question) Sums(sums []int64, respondents int) (tally.Tally, error) {
	return d.table().Counts(sums, respondents)
}
