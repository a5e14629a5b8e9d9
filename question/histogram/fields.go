package histogram

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
	"github.com/confetti-dp/confetti/plan"
)

// Fields returns the crowd, where there are several, and the attributes.
func (h *Question) Fields() []question.Field {
	var fields []question.Field
	if len(h.plan.Crowd.Names) > 0 {
		fields = append(fields, question.Field{Name: "crowd", Crowd: true})
	}
	for _, a := range h.ask.Attributes {
		f := question.Field{Name: a.Name, List: a.Kind == "set", Numbers: 1}
		switch {
		case a.Kind == "grid":
			f.Numbers = 2
		case a.Kind == "set" || a.Kind == "categories" && a.Size == 0:
			f.Numbers = 0
		}
		fields = append(fields, f)
	}
	return fields
}

// Value returns the Answers in a row.
func (h *Question) Value(row []any) (question.Value, []error) {
	v := Answers{Values: make([]any, len(h.ask.Attributes))}
	var errs []error
	fault := func(field int, err error) {
		if err != nil && errs == nil {
			errs = make([]error, len(row))
		}
		if err != nil {
			errs[field] = err
		}
	}
	first := len(row) - len(v.Values)
	if first > 0 {
		var err error
		v.Crowd, err = rows.CrowdNamed(h.plan.Crowd.Names, row[0])
		fault(0, err)
	}
	for i, a := range h.ask.Attributes {
		var err error
		v.Values[i], err = answer(a, row[first+i])
		fault(first+i, err)
	}
	return v, errs
}

// answer returns a field as the attribute takes it.
func answer(a plan.Attribute, field any) (any, error) {
	switch a.Kind {
	case "buckets":
		return rows.Number(field)
	case "grid":
		xy, err := rows.Numbers(field)
		if err != nil || len(xy) != 2 {
			return nil, errors.New("is not a point of two numbers")
		}
		return encode.Point{X: xy[0], Y: xy[1]}, nil
	case "set":
		if a.Size == 0 {
			return rows.Texts(field)
		}
		return rows.Cells(field)
	case "categories":
		if a.Size > 0 {
			return rows.Cell(field)
		}
	}
	return rows.Text(field)
}
