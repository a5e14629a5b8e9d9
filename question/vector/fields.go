package vector

import (
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
)

// Fields returns the class, where the plan names some, or the number, where it has one, and the
// features.
func (q *Question) Fields() []question.Field {
	fields := rows.LabelledFields(q.ask.Classes)
	if n := q.ask.Number; n != nil {
		fields = append([]question.Field{{Name: n.Name}}, fields...)
	}
	return fields
}

// Value returns the Record in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	var r Record
	var bad error
	rest := row
	if q.ask.Number != nil {
		r.Number, bad = rows.Number(row[0])
		rest = row[1:]
	}
	var errs []error
	if r.Features, r.Class, errs = rows.LabelledRow(q.ask.Classes, rest); bad != nil || errs != nil && len(rest) < len(row) {
		errs = append([]error{bad}, append(errs, make([]error, len(rest)-len(errs))...)...)
	}
	if errs != nil {
		return nil, errs
	}
	return r, nil
}
