package latent

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/question"
)

// Loss is that of the symbols, shuffled.
func (q *Question) Loss(honest int, again bool) account.Event { return q.counts.Loss(honest, again) }

// Risks are the symbols'.
func (q *Question) Risks() question.Risks { return q.counts.Risks() }

// Observers state exchange of a whole record, the class included. The first is what a
// respondent is to go by.
func (q *Question) Observers(shuffled account.Guarantee) ([]account.Statement, error) {
	all, err := q.counts.Observers(shuffled)
	if err != nil {
		return nil, err
	}
	what := "Speaks of the whole record"
	if len(q.ask.Classes) > 0 {
		what += ", its class included"
	}
	for i := range all {
		s := &all[i]
		switch s.Guarantee.Trust {
		case account.Local:
			s.Note = what + ". This is the promise to go by: it needs nobody's honesty, and the device keeps it by itself."
		default:
			s.Note = what + ", and rests on who is honest; what holds though everyone colludes holds here too."
		}
		if len(q.plan.Crowd.Names) > 0 {
			s.Note += " Which group a respondent is in is sent as it is."
		}
	}
	return all, nil
}

// Words speak of records.
func (q *Question) Words() question.Words {
	w := q.counts.Words()
	w.Answer = "record"
	w.Asked = fmt.Sprintf("In which of %d public clusters do records lie?", q.ask.Clusters)
	if k := len(q.ask.Classes); k > 0 {
		w.Asked = fmt.Sprintf("In which of %d public clusters do records lie, and which of %d classes do they have?", q.ask.Clusters, k)
	}
	if q.plan.State != "" {
		w.Assumptions = append(w.Assumptions, fmt.Sprintf("The clusters %.12s were made of public inputs before anybody answered: no respondent had part in them, and nothing is promised to whoever had.", q.plan.State))
	}
	w.Unfit = question.SaysUnfit(q.plan.Question, "a symbol drawn at random, which adds the same to each count in expectation.")
	return w
}
