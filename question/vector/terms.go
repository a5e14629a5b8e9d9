package vector

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Event returns that of the round, or where the plan is of a whole study, of the dearest. It has
// in it that rows may be crowded, and that a device may have more answers than envelopes.
func (q *Question) Event(honest int, _ bool) account.Event {
	if q.whole != nil {
		return q.added(sumprivacy.Promised(*q.plan.Route.Sum))
	}
	honest = terms.Relied(honest, q.plan.MinHonest())
	if q.plan.Round != nil {
		return q.spec().Event(honest)
	}
	worst, most := account.Event(q.spec().Event(honest)), -1.0
	for _, s := range q.specs {
		e := s.Event(honest)
		if len(q.specs) == 1 {
			return e
		}
		if g, err := account.Epsilon(e, q.plan.Budget.Delta); err != nil {
			return e
		} else if g.Epsilon > most {
			worst, most = e, g.Epsilon
		}
	}
	return worst
}

// added returns the event of the noise of so many aggregators who are not known. Two vectors are at most twice as far apart
// as each is long, which is what a proof allows, whatever rounding does.
func (q *Question) added(unknown int) account.Event {
	return q.whole.Event(*q.plan.Route.Sum, unknown)
}

// Rounds returns the event of so many rounds of the same respondents, from the first.
func (q *Question) Rounds(honest, rounds int) account.Event {
	if q.whole != nil {
		return account.Repeat{Event: q.Event(honest, false), Rounds: rounds}
	}
	honest = terms.Relied(honest, q.plan.MinHonest())
	var all account.All
	for i, s := range q.specs[:min(rounds, len(q.specs))] {
		e := account.Event(s.Event(honest))
		if i == len(q.specs)-1 {
			e = account.Repeat{Event: e, Rounds: rounds - i}
		}
		all.Events = append(all.Events, e)
	}
	return all
}

// Risks: nothing beside the loss. How many rows a device answers says nothing of its vector.
func (q *Question) Risks() question.Risks {
	if q.whole != nil {
		return question.Risks{}
	}
	return question.Risks{Messages: float64(q.spec().Answered)}
}

// Words speak of vectors and, where they have one, of classes.
func (q *Question) Words() question.Words {
	asked := fmt.Sprintf("What is the sum of all respondents' vectors? Each holds one of %d numbers.", q.ask.Features)
	if k := len(q.ask.Classes); k > 0 {
		protected := "both are protected together"
		if publicFeatures(q.plan) {
			protected = "its class is protected; its features are public"
		}
		asked = fmt.Sprintf("Which features go with which of %d classes? Each respondent holds %d features and its class, and %s.", k, q.ask.Features, protected)
	}
	if n := q.ask.Number; n != nil {
		asked = fmt.Sprintf("What is a respondent's %s, from %g to %g, by its %d features? Number and features are protected together.", n.Name, n.Low, n.High, q.ask.Features)
	}
	w := question.Words{
		Asked: asked, Answer: "whole record", Crowd: "crowd", Crowds: []string{"everybody"},
		Unfit: terms.SaysUnfit(q.plan.Question, "the zero vector, which adds nothing to a sum in expectation."),
	}
	if q.whole != nil {
		w.Assumptions = append(w.Assumptions, q.whole.Says("vector"))
	} else if s := q.spec(); s.Answered < s.Rows {
		w.Thinning = terms.Thinned
		w.Assumptions = append(w.Assumptions, "Each device draws the rows that it answers by coins of its own, afresh in each round, and tells nobody (docs/vector-rr.md, section 6).")
	}
	if q.plan.State != "" {
		w.Assumptions = append(w.Assumptions, fmt.Sprintf("The public state %.12s was made of nothing private but earlier releases of this study.", q.plan.State))
	}
	return w
}

// Guarantees state replacement of a whole record.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	const note = "Speaks of one respondent's whole record, features and class, exchanged for any other."
	if q.whole != nil {
		return terms.NoisedSums(q.plan, shuffled, note, q.added), nil
	}
	local := q.rows.Local()
	for _, s := range q.specs {
		if e := s.Event(1).Losses(); e.Report > local.Epsilon {
			local.Epsilon = e.Report
		}
	}
	all, err := terms.SecretRows(q.plan, q.Event(q.plan.MinHonest(), false), local, shuffled, note)
	if err != nil || !publicFeatures(q.plan) {
		return all, err
	}
	for i := range all {
		if all[i].Guarantee, err = all[i].Guarantee.Under(account.Label); err != nil {
			return nil, err
		}
		all[i].Note = "Speaks of the class alone, exchanged for any other: the features are public."
	}
	return all, nil
}
