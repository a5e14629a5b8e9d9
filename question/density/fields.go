package density

import (
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
)

// Fields returns the class and the features.
func (d *Question) Fields() []question.Field { return rows.LabelledFields(d.plan.Crowd.Names) }

// Value returns the Labelled in a row.
func (d *Question) Value(row []any) (question.Value, []error) {
	features, class, errs := rows.LabelledRow(d.plan.Crowd.Names, row)
	if errs != nil {
		return nil, errs
	}
	return Labelled{Features: features, Class: class}, nil
}
