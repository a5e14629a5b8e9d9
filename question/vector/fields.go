package vector

import "github.com/confetti-dp/confetti/question"

// Fields are the class, where the plan names some, and the features.
func (q *Question) Fields() []question.Field { return question.LabelledFields(q.ask.Classes) }

// Value is the Record in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	features, class, errs := question.LabelledRow(q.ask.Classes, row)
	if errs != nil {
		return nil, errs
	}
	return Record{Features: features, Class: class}, nil
}
