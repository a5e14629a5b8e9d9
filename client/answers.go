package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
)

// Answers are what a respondent says by the names that the plan asks by, in the place of a value of
// the plan's kind of question: {"drink": "tea", "age": 31}. A crowd goes by its name, under "crowd" or
// "class", and the numbers of a density under "features". A text, any number of Go, a slice of either
// and a []float32 are taken. Every name must be there, and no other.
type Answers map[string]any

// value returns the answers as the question takes them. The errors name what is wrong, and not what
// was said.
func (a Answers) value(q question.Question) (question.Value, error) {
	reads, ok := q.(question.Parser)
	if !ok {
		return nil, errors.New("client: the plan's question does not go by names: give a value of its kind")
	}
	fields := reads.Fields()
	var errs []error
	row := make([]any, len(fields))
	for i, f := range fields {
		said, there := a[f.Name]
		if !there {
			errs = append(errs, fmt.Errorf("client: no answer to %q", f.Name))
		}
		row[i] = plain(said)
	}
	for name := range a {
		if !slices.ContainsFunc(fields, func(f question.Field) bool { return f.Name == name }) {
			errs = append(errs, fmt.Errorf("client: the plan asks for nothing of the name %q: it asks for %s", name, names(fields)))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	v, faults := reads.Value(row)
	for i, err := range faults {
		if err != nil {
			errs = append(errs, fmt.Errorf("client: %q %w", fields[i].Name, err))
		}
	}
	return v, errors.Join(errs...)
}

func names(fields []question.Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, fmt.Sprintf("%q", f.Name))
	}
	return strings.Join(all, ", ")
}

// plain returns an answer as a row has it: a text, a float64, a list of these, or a []float32.
func plain(said any) any {
	switch x := said.(type) {
	case int:
		return float64(x)
	case int32:
		return float64(x)
	case int64:
		return float64(x)
	case uint32:
		return float64(x)
	case float32:
		return float64(x)
	case []string:
		return list(x)
	case []int:
		return list(x)
	case []float64:
		return list(x)
	}
	return said
}

func list[V any](items []V) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = plain(item)
	}
	return all
}
