package label

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Event returns the report's, under replacement of its answer, which is the label: clusters share no
// respondent, so that a label that is exchanged changes the counts of one.
func (q *Question) Event(honest int, again bool) account.Event { return q.report.Event(honest, again) }

// Risks returns the report's. Which crowd a respondent is in is public before anybody answers.
func (q *Question) Risks() question.Risks { return q.report.Risks() }

// publicNote says what is not protected.
const (
	publicNote = "Speaks of the label alone: your features are public."
	heldNote   = "Speaks of the label alone: all else of the row may be published, and that it is in the table."
)

// Guarantees state exchange of the label.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	// What the shuffled guarantee is composed with is of the report, under replacement.
	inner := shuffled
	inner.Adjacency = account.Replacement
	all, err := q.report.Guarantees(inner)
	if err != nil {
		return nil, err
	}
	for i := range all {
		s := &all[i]
		if s.Guarantee, err = s.Guarantee.Under(account.Label); err != nil {
			return nil, err
		}
		s.Note = publicNote
		if q.plan.Route.Table != nil {
			if s.Note = ""; s.Guarantee.Trust == account.Central { // of readers: the holder has the row
				s.Note = heldNote
			}
			continue
		}
		if q.ask.Report == plan.LabelEach {
			s.Note += " The analyzer sees which record a label was reported for, and the release lists it: it hides among no others, and that you answered is no secret."
		}
	}
	return all, nil
}

// Words speak of labels, and say what is public.
func (q *Question) Words() question.Words {
	w := q.report.Words()
	k := len(q.ask.Classes)
	w.Answer, w.Crowd = "label", "crowd"
	if q.plan.Route.Table != nil {
		return q.heldWords(w)
	}
	w.Assumptions = append(w.Assumptions, "Your features are public: whoever sees messages may have them, and nothing is promised of them. A promise of the label says nothing that the features tell of it.")
	reference := "one drawn at random, which adds the same to each count in expectation."
	switch q.ask.Report {
	case plan.LabelClusters:
		w.Asked = fmt.Sprintf("Which of %d labels goes with which public features? Respondents are counted in %d public clusters of their features.", k, q.ask.Clusters)
		w.Crowd = "cluster"
		w.Crowds = q.plan.Crowd.Names
		w.Assumptions = append(w.Assumptions, fmt.Sprintf("In each cluster at least %d respondents are honest: a share of dishonest ones speaks of everybody, and must hold in every cluster by itself.", q.plan.MinHonest()))
		if q.plan.State != "" {
			w.Assumptions = append(w.Assumptions, fmt.Sprintf("The clusters %.12s were made of public features before anybody answered, and no label had part in them.", q.plan.State))
		}
		if q.ask.Randomizer != nil && q.ask.Randomizer.OneHot() {
			reference = "none, which adds nothing to any count in expectation."
		}
	case plan.LabelSums:
		w.Asked = fmt.Sprintf("What is the sum of all respondents' features times their label? Each holds %d public features and one of %d labels.", q.ask.Features, k)
		reference = "the zero vector, which adds nothing to a sum in expectation."
	default:
		w.Asked = fmt.Sprintf("Which of %d labels goes with each of %d public records?", k, q.ask.Records)
	}
	w.Unfit = terms.SaysUnfit(q.plan.Question, reference)
	return w
}
