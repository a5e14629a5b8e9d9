package strings

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Event returns that of the rows that devices answer in secret. It has in it that rows may be crowded, and that a
// device may have more answers than envelopes. Of sums it is that of the noise that is relied upon.
func (q *Question) Event(honest int, _ bool) account.Event {
	if q.Summed() {
		return q.lost(sumprivacy.Promised(*q.plan.Route.Sum))
	}
	return q.rows.Spec().Event(terms.Relied(honest, q.plan.MinHonest()))
}

// Risks returns nothing beside the loss. How many rows a device answers says nothing of its string.
func (q *Question) Risks() question.Risks {
	if q.Summed() {
		return question.Risks{}
	}
	return question.Risks{Messages: float64(q.ask.Answered)}
}

// characters says of what strings are.
func (q *Question) characters() string {
	if q.ask.Alphabet == "" {
		return fmt.Sprintf("of up to %d bytes", q.ask.Longest)
	}
	return fmt.Sprintf("of up to %d of %d characters", q.ask.Longest, q.code.Symbols()-1)
}

// Words speak of strings.
func (q *Question) Words() question.Words {
	w := question.Words{
		Asked:  fmt.Sprintf("Which strings do many respondents hold? Each holds one, %s, and nobody lists what it may be.", q.characters()),
		Answer: "whole string", Crowd: "crowd", Crowds: []string{"everybody"},
		Unfit:    terms.SaysUnfit(q.plan.Question, "one reserved string, which the release counts with noise."),
		Thinning: terms.Thinned, Assumptions: []string{terms.OwnCoins},
	}
	if q.Summed() {
		w.Thinning, w.Assumptions = "", nil
	}
	return w
}

// Guarantees state replacement of a whole string.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	const note = "Speaks of one respondent's whole string, exchanged for any other."
	if q.Summed() {
		return terms.NoisedSums(q.plan, shuffled, note, q.lost), nil
	}
	return terms.SecretRows(q.plan, q.Event(q.plan.MinHonest(), false), q.rows.Local(), shuffled, note)
}

// Fields returns the string.
func (q *Question) Fields() []question.Field { return []question.Field{{Name: "string"}} }

// Value returns the string in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	text, err := rows.Text(row[0])
	if err != nil {
		return nil, []error{err}
	}
	return text, nil
}

// Tell returns in how many signs a string was said (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	signs := terms.Signs(bodies, q.ask.Rows)
	if signs == 0 {
		return terms.Nothing
	}
	return fmt.Sprintf("one string, drowned in %s; at least %s", terms.Count(signs, "coin"), terms.Coin(q.ask.Flip, "sign"))
}
