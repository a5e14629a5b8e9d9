package vector

import "github.com/confetti-dp/confetti/question"

// Fields are the class, where the plan names some, and the features.
func (q *Question) Fields() []question.Field {
	fields := []question.Field{{Name: "class", Crowd: true}, {Name: "features", Rest: true}}
	if len(q.ask.Classes) == 0 {
		return fields[1:]
	}
	return fields
}

// Value is the Record in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	var r Record
	errs := make([]error, len(row))
	if len(q.ask.Classes) > 0 {
		r.Class, errs[0] = question.CrowdNamed(q.ask.Classes, row[0])
	}
	last := len(row) - 1
	if r.Features, errs[last] = question.Vector(row[last]); errs[0] != nil || errs[last] != nil {
		return nil, errs
	}
	return r, nil
}
