package density

import "github.com/confetti-dp/confetti/question"

// Fields returns the class and the features.
func (d *Question) Fields() []question.Field { return question.LabelledFields(d.plan.Crowd.Names) }

// Value returns the Labelled in a row.
func (d *Question) Value(row []any) (question.Value, []error) {
	features, class, errs := question.LabelledRow(d.plan.Crowd.Names, row)
	if errs != nil {
		return nil, errs
	}
	return Labelled{Features: features, Class: class}, nil
}
