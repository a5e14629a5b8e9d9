// Package rows reads what stands in the fields of a table's row, for kinds whose values are there (question.Parser).
// Used by question/histogram and the other packages below question.
package rows

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
)

// CrowdNamed returns the number of the crowd that a field names.
func CrowdNamed(crowds []string, field any) (int, error) {
	name, _ := field.(string)
	at := slices.Index(crowds, name)
	if at < 0 {
		return at, fmt.Errorf("is none of the plan's %d", len(crowds))
	}
	return at, nil
}

// LabelledFields returns those of features that stand beside one of these classes, or by
// themselves where there are none.
func LabelledFields(classes []string) []question.Field {
	fields := []question.Field{{Name: "class", Crowd: true}, {Name: "features", Rest: true}}
	if len(classes) == 0 {
		return fields[1:]
	}
	return fields
}

// LabelledRow returns what stands in these fields. Errors are as those of Read.
func LabelledRow(classes []string, row []any) (features []float32, class int, errs []error) {
	errs = make([]error, len(row))
	if len(classes) > 0 {
		class, errs[0] = CrowdNamed(classes, row[0])
	}
	last := len(row) - 1
	if features, errs[last] = vector(row[last]); errs[0] == nil && errs[last] == nil {
		errs = nil
	}
	return features, class, errs
}

// Text returns that in a field.
func Text(field any) (string, error) {
	text, ok := field.(string)
	if !ok {
		return "", errors.New("is not a text")
	}
	return text, nil
}

var errNoNumber = errors.New("is not a finite number")

// Number returns the finite number in a field.
func Number(field any) (float64, error) {
	x, ok := field.(float64)
	if text, isText := field.(string); isText {
		var err error
		x, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
		ok = err == nil
	}
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, errNoNumber
	}
	return x, nil
}

// Cell returns the number of a cell in a field.
func Cell(field any) (int, error) {
	x, err := Number(field)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		return 0, errors.New("is not the number of a cell")
	}
	return int(x), nil
}

// Numbers returns the finite numbers in a field.
func Numbers(field any) ([]float64, error) { return list(field, Number) }

// Cells returns the numbers of cells in a field.
func Cells(field any) ([]int, error) { return list(field, Cell) }

// Texts returns those in a field.
func Texts(field any) ([]string, error) {
	return list(field, func(item any) (string, error) {
		text, ok := item.(string)
		if !ok {
			return "", errors.New("holds an item that is not a text")
		}
		return text, nil
	})
}

// vector returns the numbers in a field, of single precision.
func vector(field any) ([]float32, error) {
	if ready, ok := field.([]float32); ok {
		return ready, nil
	}
	return list(field, func(item any) (float32, error) {
		x, err := Number(item)
		if err == nil && math.IsInf(float64(float32(x)), 0) {
			err = errNoNumber
		}
		return float32(x), err
	})
}

// list returns a list of JSON, or the parts of a text between semicolons, of which an empty
// one has none.
func list[V any](field any, one func(any) (V, error)) ([]V, error) {
	var items []any
	switch f := field.(type) {
	case []any:
		items = f
	case string:
		for part := range strings.SplitSeq(f, ";") {
			if part = strings.TrimSpace(part); part != "" {
				items = append(items, part)
			}
		}
	default:
		return nil, errors.New("is not a list")
	}
	out := make([]V, len(items))
	var err error
	for i, item := range items {
		if out[i], err = one(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}
