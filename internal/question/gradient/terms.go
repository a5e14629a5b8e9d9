package gradient

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Event: all who answer add noise, in every round afresh.
func (q *Question) Event(honest int, _ bool) account.Event { return q.report.event(honest) }

// Risks: what can go wrong with a report is in its event, and everybody is in one crowd.
func (q *Question) Risks() question.Risks { return question.Risks{} }

// Words speak of gradients.
func (q *Question) Words() question.Words {
	w := question.Words{
		Asked: fmt.Sprintf("How would each respondent's example, %d numbers and which of %d classes it is of, change a model that learns %d numbers?",
			q.ask.Dimension, len(q.ask.Classes), q.Params()),
		Answer: "gradients", Crowd: "crowd", Crowds: []string{"everybody"},
		Unfit:       terms.SaysUnfit(q.plan.Question, "a gradient of zero, which adds nothing to the mean in expectation."),
		Assumptions: []string{"The class of an example is as private as the example: the guarantees speak of both."},
	}
	if v, ok := q.report.(proved); ok {
		w.Assumptions = append(w.Assumptions, v.says())
	}
	if q.ask.Report.Name == Cap {
		w.Assumptions = append(w.Assumptions, "Every cap has its share of all seeds, as of directions drawn from the sphere.")
	}
	return w
}

// Compare says for how many respondents a liar counts.
func (q *Question) Compare() []question.Comparison {
	const hostile = "where people are hostile, have two aggregators add up gradients whose length devices prove (--hostile)."
	var says string
	switch v := q.report.(type) {
	case proved:
		says = v.says() + " So clip far below what a wrong example says, and raise the rate as much (--clip 0.01 --rate 240)."
	case vectors:
		says = fmt.Sprintf("One who lies about its bits counts for up to %.0f respondents: %s", math.Ceil(v.mechanism.Spec().Liar()), hostile)
	case directions:
		says = fmt.Sprintf("One who says the direction that it likes counts for up to %.0f respondents: %s", math.Ceil(v.reach()/q.ask.Clip), hostile)
	}
	return []question.Comparison{{Key: "liars", Title: "What a liar counts for", Says: says}}
}

// Guarantees: a direction is one message, a vector one message for each bit.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	const note = "Includes the class of the example."
	mixed, ok := q.report.(randomizer)
	if !ok {
		return terms.NoisedSums(q.plan, shuffled, note, q.report.(proved).unknown), nil
	}
	local := mixed.local()
	one := local
	one.Trust = account.OneFragment
	if q.ask.Report.Name == Vector {
		var err error
		if one, err = account.OneMessage(q.Event(q.plan.MinHonest(), true), shuffled.Delta); err != nil {
			return nil, err
		}
	}
	return []account.Statement{
		{Observer: account.EveryoneColludes, Who: terms.Everyone, Guarantee: local, Note: note},
		{Observer: account.OneFragmentSeen, Who: terms.OneFragment, Guarantee: one, Note: note},
		{Observer: account.ShufflerHonest, Who: terms.ShufflerHonest(q.plan), Guarantee: shuffled, Note: note},
	}, nil
}
