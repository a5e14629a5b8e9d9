package gradient

import (
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
)

// Fields returns the class and the features.
func (q *Question) Fields() []question.Field { return rows.LabelledFields(q.ask.Classes) }

// Value returns the Labelled in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	features, class, errs := rows.LabelledRow(q.ask.Classes, row)
	if errs != nil {
		return nil, errs
	}
	return Labelled{Features: features, Class: class}, nil
}
