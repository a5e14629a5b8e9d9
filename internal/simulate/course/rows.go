package course

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// rows runs the rounds of a study whose rounds are correlated (plan.Correlated), one after the other. events says
// how many say each cell in each round, among so many respondents; nil: the round is withheld, and does not
// count. The aggregators' own code draws each row, once; devices, proofs and seals are left out. It
// returns the last round that was told, what was counted in it, and its model, which tells the course of all.
func rows(study plan.Study, keys simulate.Keys, events [][]int, respondents int, seed uint64, progress simulate.Progress) (last *protocol.Protocol, crowd tally.Crowd, model question.Model, err error) {
	var state []byte
	var days [2][]aggregator.Day
	for i, counts := range events {
		progress("rounds", i+1, len(events))
		name := ""
		if state != nil {
			name = plan.StateName(state)
		}
		p, err := study.Round(i+1, name, study.Times)
		if err != nil {
			return nil, crowd, nil, err
		}
		proto, err := protocol.New(p)
		if err == nil && state != nil {
			proto, err = protocol.WithState(p, state)
		}
		if err != nil {
			return nil, crowd, nil, err
		}
		if counts == nil {
			if state, err = proto.Question.(question.Misser).Missed(question.TooFew); err != nil {
				return nil, crowd, nil, err
			}
			continue
		}
		both, err := newPair(p, keys)
		if err != nil {
			return nil, crowd, nil, err
		}
		sums, err := both.row(counts, respondents, &days, func(side uint64) *rand.Rand {
			return seeded.New(seed, distribution.ForNoise, uint64(i), side)
		})
		if err != nil {
			return nil, crowd, nil, err
		}
		if crowd, err = proto.Sums(sums, respondents); err != nil {
			return nil, crowd, nil, err
		}
		learned, err := proto.Learn([]tally.Crowd{crowd})
		if err != nil {
			return nil, crowd, nil, err
		}
		if state, _, err = proto.Question.(question.Stepper).Next(learned); err != nil {
			return nil, crowd, nil, err
		}
		last, model = proto, learned
	}
	if last == nil {
		return nil, crowd, nil, errors.New("every round is withheld: leave one that tells something")
	}
	return last, crowd, model, nil
}

// pair draws for both aggregators of a round.
type pair struct {
	number int
	sides  [2]interface {
		Noisy(*rand.Rand, aggregator.Batch, ...aggregator.Day) (prio3.Vector, error)
	}
}

func newPair(p plan.Plan, keys simulate.Keys) (pair, error) {
	t, err := task.New(p, 0)
	if err != nil {
		return pair{}, err
	}
	secret := aggregator.NewPair([aggregator.PairBytes]byte{})
	both := pair{}
	both.sides[0], both.sides[1] = aggregator.NewLeader(t, keys.Leader, secret), aggregator.NewHelper(t, keys.Helper, secret, nil)
	if p.Round != nil {
		both.number = p.Round.Number
	}
	return both, nil
}

// row lets both aggregators draw the row of a round, and adds their shares. The leader has all of what was added up:
// which aggregator has how much of it does not change the sum. Where days are given, the row tells of them too, and they of it.
func (p pair) row(counts []int, respondents int, days *[2][]aggregator.Day, noise func(side uint64) *rand.Rand) ([]int64, error) {
	var shares [2]prio3.Vector
	for side, s := range p.sides {
		var sum prio3.Vector
		text := make([]byte, 16*len(counts)) // as a vector is written: 16 bytes a number
		for i, n := range counts {
			if side == 0 {
				binary.LittleEndian.PutUint64(text[16*i:], uint64(n))
			}
		}
		if err := sum.UnmarshalBinary(text); err != nil {
			return nil, err
		}
		var earlier []aggregator.Day
		if days != nil {
			earlier = days[side]
			days[side] = append(days[side], aggregator.Day{Round: p.number, Sum: sum})
		}
		var err error
		if shares[side], err = s.Noisy(noise(uint64(side)), aggregator.Batch{Reports: uint64(respondents), Sum: sum}, earlier...); err != nil {
			return nil, err
		}
	}
	return prio3.Open(shares[0], shares[1])
}
