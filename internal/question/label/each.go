package label

import (
	"errors"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// each is k-ary response on the label, beside the number of the public record. The
// analyzer sees whose record it is, and so does everybody who reads the release: nothing of it
// hides among others, and the promise is that of the device alone, whoever is honest.
type each struct {
	plan    plan.Plan
	records int
	randomize.KRR
}

// kary returns how a plan says that: each is no other randomizer.
func kary(epsilon float64) plan.Randomizer {
	return plan.Randomizer{Name: "krr", Accounting: string(calibrate.Exact), Epsilon: epsilon}
}

func newEach(p plan.Plan) (*each, error) {
	ask := p.Question.Label
	e := &each{plan: p, records: ask.Records, KRR: randomize.KRR{K: len(ask.Classes), Epsilon: ask.Randomizer.Epsilon}}
	return e, e.KRR.Validate()
}

// said is a record's number and its class; -1 of one that does not fit.
type said struct{ number, class int }

var errClass = errors.New("label: the class is not one of the plan's")

func (e *each) encode(r Record) (question.Symbol, error) {
	if r.Class < 0 || r.Class >= e.K {
		return said{r.Number, -1}, &question.OutOfDomainError{Values: 1, Cause: errClass}
	}
	return said{r.Number, r.Class}, nil
}

// channel returns the message of a record's label.
func (e *each) channel(s said, reported int) uint32 { return uint32(s.number*e.K + reported) }

// reported returns a label that may be another than the true one; of the reference, any.
func (e *each) reported(r *rand.Rand, s said) uint32 {
	if s.class < 0 {
		s.class = r.IntN(e.K)
	}
	return e.channel(s, e.KRR.Randomize(r, s.class))
}

// Randomize says one message.
func (e *each) Randomize(r *rand.Rand, symbol question.Symbol, _ question.Memory) (question.Report, error) {
	m := tally.NewMessages(0)
	m.Say(e.reported(r, symbol.(said)), 0)
	return question.Report{Parts: [][][]byte{m.Bodies}}, nil
}

// NewTally counts each label of each record.
func (e *each) NewTally() tally.Tally { return tally.NewCounts(e.records*e.K, 1) }

// Event returns that of a report which stands alone.
func (e *each) Event(int, bool) account.Event { return e.KRR.Event(1) }

// Risks: nothing.
func (e *each) Risks() question.Risks { return question.Risks{} }

// Words returns the question's.
func (e *each) Words() question.Words { return question.Words{Crowds: []string{"everybody"}} }

// Guarantees all see the report as it is.
func (e *each) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	local := e.KRR.Local(account.Replacement)
	shuffled.Epsilon = min(shuffled.Epsilon, local.Epsilon)
	if e.plan.Route.Table != nil {
		return terms.HeldTable(e.plan, shuffled), nil
	}
	return terms.OneMessage(e.plan, local, shuffled), nil
}
