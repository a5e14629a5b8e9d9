package density

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/plan"
)

// BitSummer is a bitsum protocol with its numbers, at both ends; counts are
// those of the symbols 0 and 1 in one channel.
type BitSummer interface {
	Validate() error
	RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8))
	DrawCounts(r *rand.Rand, ones, users int) [2]uint64
	Estimate(counts [2]uint64, users int) estimate.Value
	MessagesPerUser() float64
}

// varying is a bitsum whose number of messages depends on the data, and has to
// be filled up to a constant.
type varying interface {
	OverflowProb(channels, envelopes int) float64
	SmallestCap(channels int, target float64) (int, error)
}

// NewBitsum is the code of a plan's bitsum, and what the accountant is told of
// one of its channels, with the noise of so many users.
func NewBitsum(b plan.Bitsum, users int) (BitSummer, account.Event, error) {
	var bits BitSummer
	var event account.Event
	switch b.Name {
	case "rr":
		m := bitsum.RR{Flip: b.FlipProbability}
		bits, event = m, m.Event(users)
	case "3nb":
		m := bitsum.ThreeNB{Users: users, Noise: b.Noise, FloodShape: b.FloodShape, FloodProb: b.FloodProbability}
		bits, event = m, m.Event()
	case "pure":
		m := bitsum.Pure{Users: users, Epsilon: b.ChannelEpsilon, Theta: b.Theta, Drop: b.Drop, Size: b.Size}
		bits, event = m, m.Event()
	case "poisson":
		m := bitsum.PoissonSum{Users: users, Mean: b.Mean}
		bits, event = m, m.Event()
	case "nb":
		m := bitsum.NegativeBinomialSum{Users: users, Shape: b.Shape, Prob: b.Probability}
		bits, event = m, m.Event()
	default:
		return nil, nil, fmt.Errorf("density: no code for a bitsum named %q", b.Name)
	}
	// Narrower than the plan's own rules: what the samplers can draw.
	if err := bits.Validate(); err != nil {
		return nil, nil, fmt.Errorf("density: %w", err)
	}
	return bits, event, nil
}

// DesignBitsum fills in the least noise with which the named bitsum keeps
// (epsilon, delta) for the bits of f among so many users, and returns the
// guarantee of exactly that. Where a hop may drop messages of up to times as many
// users, single negative binomial noise allows for it; 1 where nobody does.
func DesignBitsum(b plan.Bitsum, f *encode.Features, users int, times, epsilon, delta float64) (plan.Bitsum, account.Guarantee, error) {
	t := account.Target{Users: users, Rounds: f.Sensitivity().Coordinates, Epsilon: epsilon, Delta: delta}
	accounting := account.Accounting(b.Accounting)
	if accounting != account.ExactAccounting && (b.Name == "poisson" || b.Name == "nb") {
		return b, account.Guarantee{}, fmt.Errorf("density: the paper has no accounting for %s: use %q", b.Name, account.ExactAccounting)
	}
	var g account.Guarantee
	var err error
	switch b.Name {
	case "rr":
		b.FlipProbability, g, err = kde.CalibrateRR(f, users, epsilon, delta, accounting)
	case "3nb":
		var e additive.ThreeNB
		extra := 0.0 // the paper's flood is what it is
		if accounting == account.ExactAccounting {
			if extra, err = additive.FloodMessages(t); err != nil {
				return b, g, err
			}
		}
		e, g, err = additive.CalibrateThreeNB(t, accounting, extra)
		b.Noise, b.FloodShape, b.FloodProbability = e.Noise, e.FloodShape, e.FloodProb
	case "pure":
		var e additive.Pure
		if accounting == account.ExactAccounting {
			e, g, err = additive.CalibratePure(t)
		} else if e, err = additive.PublishedPure(users, epsilon/float64(t.Rounds), paperRho); err == nil {
			g, err = e.Guarantee(t.Rounds)
		}
		b.ChannelEpsilon, b.Theta, b.Drop, b.Size = e.Epsilon, e.Theta, e.Drop, e.Size
	case "poisson":
		var e additive.PoissonSum
		if e, err = additive.PoissonMean(users, t.Rounds, epsilon, delta); err == nil {
			g, err = account.Epsilon(account.Repeat{Event: e, Rounds: t.Rounds}, delta)
		}
		b.Mean = e.Mean
	case "nb":
		var e additive.NegativeBinomialSum
		e, g, err = additive.CalibrateThinnedNegativeBinomialSum(t, singleProbability, times)
		b.Shape, b.Probability = e.Shape, e.Prob
	default:
		err = fmt.Errorf("density: no bitsum named %q", b.Name)
	}
	return b, g, err
}

const (
	// paperRho is the largest rho that Ghazi, Kumar and Manurangsi 2023 allow.
	paperRho = 0.5
	// singleProbability is p of the single negative binomial noise: at one half
	// its error is within a percent of the least, for two messages where Poisson
	// noise needs some more.
	singleProbability = 0.5
)
