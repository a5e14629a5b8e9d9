package question

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
)

// Summer is a question whose answers can be added up without being seen.
type Summer interface {
	// Circuit says which vectors there are. It is an error if the plan asks for what has
	// none; the error says what to change.
	Circuit() (plan.Circuit, error)
	// Measure is what a device splits, and the crowd that it reports: private already where
	// devices add noise. It draws what Randomize would.
	Measure(*rand.Rand, Symbol, Memory) (crowd int, vector []uint64, err error)
	// Sums is the tally of a crowd of so many, whose vectors have these sums. It is an
	// error if no vectors have.
	Sums(sums []int64, respondents int) (tally.Tally, error)
}

// Table is how messages for a tally of counts are written as a vector of zeros and ones.
type Table struct {
	Channels, Symbols int
	// Answered says that a report has one message of two symbols for every channel: the
	// vector then has one number a channel, and else one for each symbol of each.
	Answered bool
	Most     int // messages of a report that are counted
}

// Circuit allows as many ones as a report has messages.
func (t Table) Circuit() plan.Circuit {
	if t.Answered {
		return plan.Circuit{Kind: plan.CircuitSumVec, Length: t.Channels, Max: 1}
	}
	length := t.Channels * t.Symbols
	return plan.Circuit{Kind: plan.CircuitMultihot, Length: length, Weight: max(1, min(t.Most, length))}
}

// Vector writes a report. Of more messages than are counted a random rest is left out, as
// of those that outgrow their envelopes.
func (t Table) Vector(r *rand.Rand, bodies [][]byte) ([]uint64, error) {
	if most := t.Circuit().Weight; most > 0 && len(bodies) > most {
		r.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
		bodies = bodies[:most]
	}
	vector := make([]uint64, t.Circuit().Length)
	for _, body := range bodies {
		channel, symbol, err := tally.ParseMessage(body)
		if err != nil {
			return nil, err
		}
		if t.Answered {
			vector[channel] |= uint64(symbol)
			continue
		}
		vector[int(channel)*t.Symbols+int(symbol)] = 1
	}
	return vector, nil
}

var errNoSums = errors.New("question: the sums are not those of so many respondents' answers: the aggregators' shares are not of one batch, or one of them is false")

// Counts returns those that the sums of so many reports say.
func (t Table) Counts(sums []int64, respondents int) (*tally.Counts, error) {
	if len(sums) != t.Circuit().Length {
		return nil, fmt.Errorf("question: sums of %d numbers: the plan's vectors have %d", len(sums), t.Circuit().Length)
	}
	c := tally.NewCounts(t.Channels, t.Symbols)
	for i, n := range sums {
		switch {
		case n < 0 || n > int64(respondents):
			return nil, errNoSums
		case t.Answered:
			c.N[2*i], c.N[2*i+1] = uint64(int64(respondents)-n), uint64(n)
		default:
			c.N[i] = uint64(n)
		}
	}
	return c, nil
}

// Measured returns the vector of a question's own report.
func (t Table) Measured(q Randomizer, r *rand.Rand, s Symbol, m Memory) (crowd int, vector []uint64, err error) {
	report, err := q.Randomize(r, s, m)
	if err != nil {
		return 0, nil, err
	}
	vector, err = t.Vector(r, report.Parts[0])
	return report.Crowd, vector, err
}
