package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Event returns that of the rows that devices answer in secret, or of the noise that aggregators add.
func (q *Question) Event(honest int, _ bool) account.Event {
	if q.rows == nil {
		return q.added(sumprivacy.Promised(*q.plan.Route.Sum))
	}
	return q.rows.Spec().Event(terms.Relied(honest, q.plan.MinHonest()))
}

// added returns the event of the noise of so many aggregators who are not known.
func (q *Question) added(unknown int) account.Event {
	return sumprivacy.Vectors(*q.plan.Route.Sum, unknown, lift.SquaredShift(q.ask), lift.Numbers(q.ask))
}

// Risks returns nothing beside the loss. How many rows a device answers says nothing of what it holds.
func (q *Question) Risks() question.Risks {
	if q.rows == nil {
		return question.Risks{}
	}
	return question.Risks{Messages: float64(q.ask.Bits.Answered)}
}

// Words speak of arms and metrics.
func (q *Question) Words() question.Words {
	var metrics []string
	for _, m := range q.ask.Metrics {
		metrics = append(metrics, m.Name)
	}
	w := question.Words{
		Asked:  fmt.Sprintf("How do arms differ in %s? The arms are %s. A respondent's arm and numbers are protected together.", terms.List(metrics...), terms.List(q.ask.Arms...)),
		Answer: "whole answer", Crowd: "crowd", Crowds: []string{"everybody"},
		Unfit: terms.SaysUnfit(q.plan.Question, "zero, which adds nobody to any arm in expectation."),
		Assumptions: []string{
			"Whether a device answers depends neither on its arm nor on its metrics: who left does not answer, and is in neither arm.",
			"Who shows an arm to people knows the arm of each. The guarantee is of everybody else.",
		},
	}
	if q.ask.Looks > 1 {
		w.Assumptions = append(w.Assumptions, "How many answer a look was fixed before the look before it was read. Nobody answers two: who does is charged for both, and intervals are then too short.")
	}
	if slices.ContainsFunc(q.ask.Metrics, known) {
		w.Assumptions = append(w.Assumptions, "What is subtracted, and the ranges, were made of what is public: of other people, or of a release that these people's ledgers were charged for.")
	}
	if slices.ContainsFunc(q.ask.Metrics, func(m plan.Measure) bool { return m.Taken != 0 || m.Per != "" }) {
		w.Assumptions = append(w.Assumptions, "A lift in percent takes the mean of what is subtracted, and of what a metric is divided by, from those other people: it holds where respondents of the first arm have the same.")
	}
	if q.rows != nil && q.ask.Bits.Answered < q.ask.Bits.Rows {
		w.Thinning = terms.Thinned
		w.Assumptions = append(w.Assumptions, terms.OwnCoins)
	}
	return w
}

// Guarantees state replacement of a whole answer.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	const note = "Speaks of one respondent's arm and metrics together, exchanged for any others."
	if q.rows == nil {
		return terms.NoisedSums(q.plan, shuffled, note, q.added), nil
	}
	return terms.SecretRows(q.plan, q.Event(q.plan.MinHonest(), false), q.rows.Local(), shuffled, note)
}

// Fields returns the arm, and by metric what is held of it.
func (q *Question) Fields() []question.Field {
	fields := []question.Field{{Name: "arm"}}
	for _, m := range q.ask.Metrics {
		for _, name := range []string{m.Name, m.Before, m.Per} {
			if name != "" {
				fields = append(fields, question.Field{Name: name})
			}
		}
	}
	return fields
}

// Value returns the record in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	errs, r, wrong := make([]error, len(row)), Record{}, false
	if r.Arm, errs[0] = rows.CrowdNamed(q.ask.Arms, row[0]); errs[0] != nil {
		wrong = true
	}
	for i, field := range row[1:] {
		x, err := rows.Number(field)
		errs[i+1], wrong = err, wrong || err != nil
		r.Numbers = append(r.Numbers, x)
	}
	if wrong {
		return nil, errs
	}
	return r, nil
}

// Tell returns in how many signs an answer was said (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	if q.rows == nil {
		return terms.Nothing
	}
	signs := terms.Signs(bodies, q.ask.Bits.Rows)
	if signs == 0 {
		return terms.Nothing
	}
	return fmt.Sprintf("your arm and %s, mixed into %s; at least %s", strings.TrimPrefix(terms.Count(len(q.Fields())-1, "number"), "no "), terms.Count(signs, "sign"), terms.Coin(q.ask.Bits.Flip, "sign"))
}
