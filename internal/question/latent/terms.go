package latent

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Event returns that of the reports, shuffled.
func (q *Question) Event(honest int, again bool) account.Event { return q.report.Event(honest, again) }

// Risks returns the report's.
func (q *Question) Risks() question.Risks { return q.report.Risks() }

// Guarantees state exchange of a whole record, the class included. The first is what a
// respondent is to go by.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	all, err := q.report.Guarantees(shuffled)
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
		if q.ask.Records > 0 {
			s.Note += " The analyzer sees which public record a report is of, and the release lists it: it hides among no others, and that you answered is no secret."
		}
		if sent := terms.CrowdSent("It does not speak of groups", q.plan); sent != "" {
			s.Note += " " + sent
		}
	}
	return all, nil
}

// Words speak of records.
func (q *Question) Words() question.Words {
	w := q.report.Words()
	w.Answer = "record"
	reference := "a symbol drawn at random, which adds the same to each count in expectation."
	what := fmt.Sprintf("In which of %d public clusters do records lie", q.ask.Clusters)
	made, claim := "clusters", "The inputs that they were made of are public, and are promised nothing."
	if q.ask.Report == plan.LatentVector {
		what = fmt.Sprintf("Which %d numbers does a public encoder make of records", q.ask.Vector.Dim)
		made, claim = "encoder", "Which records it was trained on, and what they were promised, stands in its file and not here."
		reference = "the vector zero with a class drawn at random."
	}
	w.Asked = what + "?"
	if q.ask.Report == plan.LatentRight {
		w.Asked, made, claim = fmt.Sprintf("Is the class of a record, of %d, the one that a published model gives it?", len(q.ask.Classes)), "model", "What it was learned from is its own matter, and the respondents who are asked here had no part in it."
		reference = "yes or no, drawn at random."
	} else if k := len(q.ask.Classes); k > 0 {
		w.Asked = fmt.Sprintf("%s, and which of %d classes do they have?", what, k)
	}
	if q.ask.Records > 0 {
		w.Asked += fmt.Sprintf(" Each answer stands beside the number of its record, one of %d, so that other columns of the same records can be joined to it.", q.ask.Records)
		w.Assumptions = append(w.Assumptions, "Nothing keeps a respondent from naming the number of another's record: what is joined is as right as respondents are.")
	}
	if q.plan.State != "" {
		w.Assumptions = append(w.Assumptions, fmt.Sprintf("The %s %.12s came before anybody answered, and no respondent had part in the making. %s", made, q.plan.State, claim))
	}
	w.Unfit = terms.SaysUnfit(q.plan.Question, reference)
	return w
}
