package audit

import (
	"fmt"
	"math"
	"reflect"

	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
)

// likely is a question whose reports are single messages that it knows the law of.
type likely interface {
	// Prob is the probability of a message when a device holds the symbol, up to a factor.
	Prob(body []byte, s question.Symbol) float64
}

// reader scores reports that say nothing in sum by their law, with what the three records
// come to in the round's state, which is public.
type reader struct {
	law   likely
	holds [3]question.Symbol
	alike bool // all others hold the first record
	apart float64
	work  int // as leg.work
}

// reads is how many reports of either record say how far a pair is apart.
const reads = 100

// read returns the reader of a pair of records.
func (g *leg) read(d device, pair kinds.Records) (eye, error) {
	law, ok := g.protocol.Question.(likely)
	if !ok {
		return nil, fmt.Errorf("audit: no attack is known of a question of kind %q, whose messages have no known law", g.protocol.Plan.Question.Kind)
	}
	e := reader{law: law, work: 100, alike: reflect.DeepEqual(pair[0], pair[2])}
	for i, v := range pair {
		var err error
		if e.holds[i], err = kinds.Encode(g.protocol, v); err != nil {
			return nil, err
		}
	}
	e.work += kinds.Work(g.protocol)
	for i := range 2 * reads {
		t := g.protocol.NewTally()
		if _, err := d.answer(pair[i%2], t, nil); err != nil {
			return nil, err
		}
		e.apart += (2*float64(i%2) - 1) * e.own(t) / reads
	}
	return e, nil
}

func (e reader) crowd(int) float64 { return 0 } // there is one

func (e reader) share() float64 { return 1 }

func (e reader) distance() float64 { return e.apart }

// own is exact.
func (e reader) own(report tally.Tally) (score float64) {
	for body := range report.(*tally.Rows).All() {
		score += math.Log(e.law.Prob(body, e.holds[1])) - math.Log(e.law.Prob(body, e.holds[0]))
	}
	return score
}

// message returns the whole report.
func (e reader) message(report tally.Tally, _ []byte) float64 { return e.own(report) }

// sum is exact: with q the law of the others' reports y_i, the ratio of the sums of
// P(y_i | second)/q(y_i) and P(y_i | first)/q(y_i). A report that no other could have made is the one
// attacked.
func (e reader) sum(batch tally.Tally, _ int) float64 {
	var sum [2]float64
	for body := range batch.(*tally.Rows).All() {
		first, second := e.law.Prob(body, e.holds[0]), e.law.Prob(body, e.holds[1])
		q := first
		if !e.alike {
			q = e.law.Prob(body, e.holds[2])
		}
		switch {
		case first == 0 && second == 0: // another's
			continue
		case q == 0:
			return math.Log(second) - math.Log(first)
		}
		sum[0] += first / q
		sum[1] += second / q
	}
	return math.Log(sum[1]) - math.Log(sum[0])
}
