// Package table asks what goes with what: how many hold each value of some columns, and of every two together
// (docs/crosstabs.md). Used by question/all, protocol/design, internal/release/results and internal/simulate.
package table

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/internal/question/rows"
	"github.com/confetti-dp/confetti/plan"
)

func init() { registry.Register("table", validate, New) }

// Question is a plan's, made runnable.
type Question struct {
	plan plan.Plan
	ask  plan.Crosstab
	code *crosscode.Code
	rows *vector.Mechanism // nil where cells are summed
}

// New makes the question of a valid plan runnable.
func New(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Table, code: crosscode.New(shape(*p.Question.Table))}
	if summed(p) {
		return q, nil
	}
	spec, err := specOf(p, q.ask)
	if err != nil {
		return nil, err
	}
	q.rows, err = vector.New(spec)
	return q, err
}

// shape returns the plan's code.
func shape(ask plan.Crosstab) crosscode.Shape {
	s := crosscode.Shape{Main: ask.Main}
	for _, c := range ask.Columns {
		n := len(c.Values)
		if len(c.Cuts) > 0 {
			n = len(c.Cuts) + 1
		} else if c.Others {
			n++
		}
		s.Sizes = append(s.Sizes, n)
	}
	return s
}

// specOf returns the mechanism.
func specOf(p plan.Plan, ask plan.Crosstab) (vector.Spec, error) {
	s := vector.Spec{
		Dimension: shape(ask).Numbers(), Rows: ask.Rows, Answered: ask.Answered, Envelopes: min(p.MostMessages(), ask.Rows),
		Clip: ask.Clip, Flip: ask.Flip, SquaredDistance: shape(ask).SquaredDistance(), Rare: ask.Rare,
	}
	var err error
	if s.Seed, err = encode.ParseSeed(ask.Seed); err != nil {
		return s, fmt.Errorf("table: %w", err)
	}
	return s, s.Validate()
}

// Rows returns the mechanism of answers that are mixed.
func (q *Question) Rows() *vector.Mechanism { return q.rows }

// Code returns the code.
func (q *Question) Code() *crosscode.Code { return q.code }

// Values returns the names of a column's values.
func Values(c plan.Column) []string {
	if len(c.Cuts) == 0 {
		names := slices.Clone(c.Values)
		if c.Others {
			names = append(names, "any other")
		}
		return names
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	names := []string{"under " + number(c.Cuts[0])}
	for i, low := range c.Cuts[1:] {
		names = append(names, number(c.Cuts[i])+" to "+number(low))
	}
	return append(names, number(c.Cuts[len(c.Cuts)-1])+" and more")
}

// errUnlisted says of a value that the plan does not list it.
var errUnlisted = errors.New("a value is none of its column's")

// Record returns the number of each column's value, of what a respondent holds: a text or a number for each column.
// What does not fit is crosscode.None, which the error tells of.
func (q *Question) Record(held []any) ([]int, error) {
	if len(held) != len(q.ask.Columns) {
		return nil, fmt.Errorf("table: %d values for %d columns", len(held), len(q.ask.Columns))
	}
	record := make([]int, len(held))
	unfit := question.OutOfDomainError{}
	for i, c := range q.ask.Columns {
		at, err := valueOf(c, held[i])
		if err != nil {
			if unfit.Values++; unfit.Cause == nil {
				unfit.Cause = fmt.Errorf("column %d: %w", i+1, err)
			}
		}
		record[i] = at
	}
	if unfit.Values > 0 {
		return record, &unfit
	}
	return record, nil
}

// valueOf returns the number of a value among its column's.
func valueOf(c plan.Column, held any) (int, error) {
	if len(c.Cuts) > 0 {
		x, err := rows.Number(held)
		if err != nil {
			return crosscode.None, err
		}
		return sort.Search(len(c.Cuts), func(i int) bool { return c.Cuts[i] > x }), nil
	}
	text, err := rows.Text(held)
	at := slices.Index(c.Values, text)
	if err == nil && at < 0 && c.Others {
		return len(c.Values), nil
	}
	if err == nil && at < 0 {
		err = errUnlisted
	}
	if err != nil {
		return crosscode.None, err
	}
	return at, nil
}

// Encode writes the vector of a record, of a text or a number for each column; of sums it is the record itself.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	held, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("table: takes a list of values, not %T", v)
	}
	record, err := q.Record(held)
	if _, failed := question.Fits(err); failed != nil {
		return nil, failed
	}
	if q.Summed() {
		return record, err
	}
	out := make([]float32, q.code.Numbers())
	q.code.Write(record, out)
	return out, err
}

// Randomize answers rows that it draws and tells nobody. What is sent of them is final.
func (q *Question) Randomize(r *rand.Rand, symbol question.Symbol, _ question.Memory) (question.Report, error) {
	if q.Summed() {
		return question.Report{}, errors.New("table: what is summed is split (Measure), and not randomized")
	}
	return question.Report{Parts: [][][]byte{q.rows.Bodies(r, symbol.([]float32))}}, nil
}

// Ones gives the probability, by row, that an answer to it is a one when a device holds the symbol; nil of sums.
func (q *Question) Ones(s question.Symbol) []float64 {
	if q.Summed() {
		return nil
	}
	ones := make([]float64, q.ask.Rows)
	q.rows.Ones(s.([]float32), ones)
	return ones
}

// Fields returns the columns.
func (q *Question) Fields() []question.Field {
	var fields []question.Field
	for _, c := range q.ask.Columns {
		fields = append(fields, question.Field{Name: c.Name})
	}
	return fields
}

// Value returns the record in a row. An empty field is a value that nobody knows.
func (q *Question) Value(row []any) (question.Value, []error) {
	held, errs := slices.Clone(row), make([]error, len(row))
	failed := false
	for i, c := range q.ask.Columns {
		if held[i] == nil || held[i] == "" {
			held[i] = ""
			continue
		}
		if len(c.Cuts) > 0 {
			held[i], errs[i] = rows.Number(held[i])
		} else {
			held[i], errs[i] = rows.Text(held[i])
		}
		failed = failed || errs[i] != nil
	}
	if failed {
		return nil, errs
	}
	return held, nil
}
