package histogram

import (
	"errors"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// table returns numbers: one for each channel of all attributes.
func (h *Question) table() question.Table {
	return question.Table{Channels: h.channels, Symbols: 1, Most: h.plan.MostMessages()}
}

// Circuit proves the bits that travel, or where cells go as they are, with noise, of those
// that a device holds.
func (h *Question) Circuit() (plan.Circuit, error) {
	switch {
	case h.noised():
		return h.noisedCircuit(), nil
	case h.ask.Randomizer.Fragments > 1:
		return plan.Circuit{}, errors.New("histogram: report fragments name one cell several times, and a sum of them is of one device's: leave out question.histogram.randomizer.fragments, or have answers mixed")
	}
	return h.table().Circuit(), nil
}

// Measure returns the bits of all channels.
func (h *Question) Measure(r *rand.Rand, s question.Symbol, m question.Memory) (crowd int, vector []uint64, err error) {
	if h.noised() {
		return h.measure(r, s)
	}
	return h.table().Measured(h, r, s, m)
}

// Sums returns those of the channels.
func (h *Question) Sums(sums []int64, respondents int) (tally.Tally, error) {
	if h.noised() {
		return h.noisedSums(sums, respondents)
	}
	return h.table().Counts(sums, respondents)
}
