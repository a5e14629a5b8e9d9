package density

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/plan"
)

// summer is a bitsum protocol with its numbers, at both ends; counts are those of the symbols 0 and 1
// in one channel. What else it can do, it says by the methods of varying, flipping, published and
// computed: one that lacks them is refused.
type summer interface {
	Validate() error
	RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8))
	DrawCounts(r *rand.Rand, ones, users int) [2]uint64
	Estimate(counts [2]uint64, users int) estimate.Value
	MessagesPerUser() float64
	// Event describes one channel to the accountant.
	Event() account.Event
	// least fills in the least noise with which the bits of f keep a target, and returns the
	// guarantee of exactly that. Where a hop may drop messages, these are of up to times as many users.
	least(b plan.Bitsum, f *kernelmap.Features, t calibrate.Target, times float64) (plan.Bitsum, account.Guarantee, error)
}

// varying is a bitsum whose number of messages depends on the data, and has to
// be filled up to a constant.
type varying interface {
	OverflowProb(channels, envelopes int) float64
	SmallestCap(channels int, target float64) (int, error)
}

// flipping is a bitsum of one message a channel, always, which hides a device's bit by itself.
type flipping interface {
	// RoundAndRandomize rounds features to bits and flips these, in one draw for each.
	RoundAndRandomize(r *rand.Rand, mapped []float32, symbols []uint8)
	// flipped returns the chance that a bit is.
	flipped() float64
	// LocalEpsilon returns what all of one device's bits of f tell; infinity where none is flipped.
	LocalEpsilon(f *kernelmap.Features) float64
	// within fills in at least the noise with which these tell no more than epsilon.
	within(b plan.Bitsum, f *kernelmap.Features, epsilon float64) (plan.Bitsum, error)
}

// published is a bitsum that a paper has an accounting of its own for.
type published interface {
	paper(b plan.Bitsum, f *kernelmap.Features, t calibrate.Target, a calibrate.Accounting) (plan.Bitsum, account.Guarantee, error)
}

// computed is a bitsum that loses nothing, in cases that were computed, by drops among up to so many
// times the respondents whose noise is relied upon.
type computed interface{ unharmed() float64 }

// summerOf returns a plan's bitsum, with the noise of so many users. Nothing else of this package
// knows bitsums by name.
func summerOf(b plan.Bitsum, users int) (summer, error) {
	switch b.Name {
	case "rr":
		return flips{bitsum.RR{Flip: b.FlipProbability}, users}, nil
	case "3nb":
		return threeNoises{bitsum.ThreeNB{Users: users, Noise: b.Noise, FloodShape: b.FloodShape, FloodProb: b.FloodProbability}}, nil
	case "pure":
		return pure{bitsum.Pure{Users: users, Epsilon: b.ChannelEpsilon, Theta: b.Theta, Drop: b.Drop, Size: b.Size}}, nil
	case "poisson":
		return poisson{bitsum.PoissonSum{Users: users, Mean: b.Mean}}, nil
	case "nb":
		return negativeBinomial{bitsum.NegativeBinomialSum{Users: users, Shape: b.Shape, Prob: b.Probability}}, nil
	}
	return nil, fmt.Errorf("no code for a bitsum named %q", b.Name)
}

// NewBitsum returns the code of a plan's bitsum, with the noise of so many users.
func NewBitsum(b plan.Bitsum, users int) (summer, error) {
	m, err := summerOf(b, users)
	if err == nil { // narrower than the plan's own rules: what the samplers can draw
		err = m.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("density: %w", err)
	}
	return m, nil
}

// Flips reports whether devices flip the bits of a bitsum and send each by itself, so that it hides
// what they hold without the messages of others.
func Flips(b plan.Bitsum) bool {
	m, _ := summerOf(b, 1)
	_, ok := m.(flipping)
	return ok
}

// DesignBitsum fills in the least noise with which the named bitsum keeps
// (epsilon, delta) for the bits of f among so many users, and returns the
// guarantee of exactly that. Where a hop may drop messages of up to times as many
// users, single negative binomial noise allows for it; 1 where nobody does.
func DesignBitsum(b plan.Bitsum, f *kernelmap.Features, users int, times, epsilon, delta float64) (plan.Bitsum, account.Guarantee, error) {
	m, err := summerOf(b, users)
	if err != nil {
		return b, account.Guarantee{}, fmt.Errorf("density: %w", err)
	}
	t := calibrate.Target{Users: users, Rounds: f.Sensitivity().Coordinates, Epsilon: epsilon, Delta: delta}
	accounting := calibrate.Accounting(b.Accounting)
	if accounting == calibrate.Exact {
		return m.least(b, f, t, times)
	}
	p, ok := m.(published)
	if !ok {
		return b, account.Guarantee{}, fmt.Errorf("density: the paper has no accounting for %s: use %q", b.Name, calibrate.Exact)
	}
	return p.paper(b, f, t, accounting)
}
