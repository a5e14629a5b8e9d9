package vectors

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// SecretFlips are rounds with flip probabilities that make all of them together
// (epsilon, delta)-DP, with noise within 1e-4 of the least. Round i takes shares[i] of
// what the squares of all shifts may sum to; shares are positive and sum to one.
func SecretFlips(rounds []SecretRows, shares []float64, epsilon, delta float64) ([]SecretRows, error) {
	if err := secretName.Amplification(1, epsilon, delta); err != nil {
		return nil, err
	}
	if len(rounds) == 0 || len(rounds) != len(shares) {
		return nil, errors.New("account: give rounds, and a share of the budget for each")
	}
	sum := 0.0
	for i := range rounds {
		sum += shares[i]
		if !(shares[i] > 0) {
			return nil, fmt.Errorf("account: round %d takes the share %v of the budget: give positive shares", i+1, shares[i])
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		return nil, fmt.Errorf("account: shares of the budget sum to %v: they must sum to one", sum)
	}
	b, err := newBudget(rounds, shares)
	if err != nil {
		return nil, err
	}
	low, ok := b.within(epsilon, delta)
	if !ok {
		return nil, secretName.Outside(math.NaN(), "more respondents, answers or envelopes for epsilon %v, delta %v", epsilon, delta)
	}
	return b.at(low), nil
}

// budget turns the shift of all rounds together into flip probabilities.
type budget struct {
	rounds []SecretRows
	scale  []float64 // p(1-p)/(1-2p)^2 of a round, times the square of the shift of all
}

func newBudget(rounds []SecretRows, shares []float64) (budget, error) {
	b := budget{scale: make([]float64, len(rounds))}
	for i, e := range rounds {
		e.Flip = 0.25
		if _, err := e.Terms(); err != nil {
			return budget{}, err
		}
		b.rounds = append(b.rounds, e)
		b.scale[i] = e.thinned() / (float64(e.expected()) * shares[i])
	}
	return b, nil
}

// at gives each round the flips of a Gaussian of its counts' deviation.
func (b budget) at(shift float64) []SecretRows {
	rounds := make([]SecretRows, len(b.rounds))
	for i, e := range b.rounds {
		e.Flip = math.Min(maxVectorFlip, math.Max(minVectorFlip, shuffle.FlipFor(b.scale[i]/(shift*shift))))
		rounds[i] = e
	}
	return rounds
}

const maxVectorFlip = 0.5 - 1e-9

// within returns the largest shift, from below, whose flips the accountant finds enough. It
// starts at the shift of a Gaussian.
func (b budget) within(epsilon, delta float64) (shift float64, ok bool) {
	l := newLimit(epsilon, delta, func(shift float64) account.Event {
		var all account.All
		for _, e := range b.at(shift) {
			all.Events = append(all.Events, e)
		}
		return all
	})
	high := 100 - profile.LeastEnough(0, 100, func(x float64) bool { return profile.Normal(100-x).Hockey(epsilon) <= delta })
	low := high
	for step := 0.02; !l.enough(low); step *= 2 {
		high = low
		if low *= math.Exp(-step); low < 1e-9 {
			return 0, false
		}
	}
	if high > low {
		l.narrow()
	}
	for high-low > 1e-4*high {
		if middle := low + (high-low)/2; l.enough(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	for low != l.kept.x && !l.asked(low) { // what is given was asked itself
		low *= 1 - 1e-4
	}
	return low, true
}
