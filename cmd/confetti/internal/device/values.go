package device

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/sanitize/meant"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// answersHelp says how answers are written.
const answersHelp = `Each row is one respondent's answer. A .csv file has a column for each thing that
the plan asks, by its name, and for the crowd, or class, where the plan has several;
a .jsonl file has an object a line with the same keys; a .npy matrix has the columns
in the plan's order, in numbers. A set is written as "a;b" or ["a","b"], a point as
"x;y" or [x,y]. Where a plan asks for a vector, a .csv, .parquet or .npy file has a
number for each feature beside the class, and a .jsonl line
{"features": [0.5, 1], "class": "a"}. Text may be gzipped (.csv.gz).`

// columns name what is not asked about by its own name, and what is not there.
type columns struct {
	Crowd   string `help:"Column that names the crowd, or class (without: crowd, or class); for a .npy of vectors, the path of a second .npy with class numbers." aliases:"label" placeholder:"NAME"`
	Missing string `help:"What an empty cell (of JSON: null, or no such key) is: refuse, a fault of the file; value=TEXT, that value; with --devices also skip, its row does not answer. An empty cell of a set is the empty set." default:"refuse" placeholder:"WHAT"`
}

// maxLine bounds a line of JSON, in bytes.
const maxLine = 16 << 20

// answers reads values for the plan's question, with what a reader must know of how. The
// error says all that is wrong, by line and column, and never what is there.
func (c columns) answers(path string, p plan.Plan) (values []question.Value, notes []string, err error) {
	proto, err := protocol.New(p)
	if err != nil {
		return nil, nil, err
	}
	q, ok := proto.Question.(question.Parser)
	if !ok {
		return nil, nil, fmt.Errorf("answers to a question of kind %q are not read from files: the device's own program gives them", p.Question.Kind)
	}
	return c.read(path, q)
}

// fields returns the question's, with the crowd's by the name that it has here.
func (c columns) fields(q question.Parser) []question.Field {
	fields := q.Fields()
	for i, f := range fields {
		if f.Crowd {
			fields[i].Name = cmp.Or(c.Crowd, f.Name)
		}
	}
	return fields
}

func (c columns) read(path string, q question.Parser) (values []question.Value, notes []string, err error) {
	missing, err := table.ParseMissing(c.Missing)
	if err != nil {
		return nil, nil, terminal.Usagef("--missing is %q: %w", c.Missing, err)
	}
	extension, fields := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))), c.fields(q)
	switch rest := slices.IndexFunc(fields, func(f question.Field) bool { return f.Rest }); {
	case rest >= 0 && extension != ".jsonl":
		return vectors(path, missing, q, fields, rest)
	case extension == ".npy":
		values, err = matrix(path, q, fields)
		return values, nil, err
	}
	file, err := table.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if values, notes, err = lines(extension, file, missing, q, fields); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return values, notes, err
}

// lines reads rows of text.
func lines(extension string, file io.Reader, missing table.Missing, q question.Parser, fields []question.Field) (values []question.Value, notes []string, err error) {
	in, err := newRows(extension, file, missing)
	if err != nil {
		return nil, nil, err
	}
	if in.names != nil {
		if err := named(in.names, fields); err != nil {
			return nil, nil, err
		}
	}
	left := 0
	for {
		err := in.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // nothing can be read after it
			return nil, nil, errors.Join(in.faults.Err(), err)
		}
		if in.fields == nil { // which is a fault
			continue
		}
		v := in.value(q, fields)
		if in.lacks {
			left++
			continue
		}
		values = append(values, v)
	}
	switch err := in.faults.Err(); {
	case err != nil:
		return nil, nil, err
	case len(values) == 0 && left > 0:
		return nil, nil, fmt.Errorf("every one of %d rows has an empty cell: nobody is left to answer", left)
	case len(values) == 0:
		return nil, nil, errors.New("has no answer")
	}
	if note := missing.Note(len(values), left, in.filled); note != "" {
		notes = append(notes, note)
	}
	return values, notes, nil
}

// named checks that a table has the columns that the plan asks about.
func named(names []string, fields []question.Field) error {
	var errs []error
	for _, f := range fields {
		switch {
		case slices.Contains(names, f.Name):
		case f.Crowd:
			errs = append(errs, fmt.Errorf("there is no column %s to take the plan's crowds from%s: name it with --crowd", f.Name, meant.DidYouMean(f.Name, names)))
		default:
			errs = append(errs, fmt.Errorf("there is no column %s, which the plan asks about%s", f.Name, meant.DidYouMean(f.Name, names)))
		}
	}
	return errors.Join(errs...)
}

// vectors reads a table in which all columns are the numbers of one field, but for that
// which names the crowd and those of other fields, by their names.
func vectors(path string, missing table.Missing, q question.Parser, fields []question.Field, rest int) ([]question.Value, []string, error) {
	choice, crowd := table.Choice{Missing: missing}, slices.IndexFunc(fields, func(f question.Field) bool { return f.Crowd })
	if crowd >= 0 {
		choice.Label = fields[crowd].Name
	}
	t, err := table.ReadRecords(path, choice)
	if err != nil {
		return nil, nil, err
	}
	own := map[int]int{} // columns of other fields
	for f, of := range fields {
		if f == rest || f == crowd {
			continue
		}
		if own[f] = slices.Index(t.Columns, of.Name); own[f] < 0 {
			return nil, nil, fmt.Errorf("%s: there is no column %s, which the plan asks about%s", path, of.Name, meant.DidYouMean(of.Name, t.Columns))
		}
	}
	values := make([]question.Value, t.X.Rows)
	var faults table.Faults
	for i := range values {
		row, numbers := make([]any, len(fields)), t.X.Data[i*t.X.Stride:i*t.X.Stride+t.X.Cols]
		for f, at := range own {
			row[f] = float64(numbers[at])
		}
		if len(own) > 0 {
			var others []float32
			for at, v := range numbers {
				if !slices.Contains(slices.Collect(maps.Values(own)), at) {
					others = append(others, v)
				}
			}
			numbers = others
		}
		row[rest] = numbers
		if crowd >= 0 {
			row[crowd] = t.Labels[i]
		}
		var errs []error
		values[i], errs = q.Value(row)
		for f, err := range errs {
			if err != nil {
				faults.AddRow(i+1, fields[f].Name, err.Error())
			}
		}
	}
	if err := faults.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, t.Notes, nil
}

// matrix reads rows of numbers alone, which are the fields in their order.
func matrix(path string, q question.Parser, fields []question.Field) ([]question.Value, error) {
	x, err := table.ReadMatrix(path)
	if err != nil {
		return nil, err
	}
	width := 0
	for _, f := range fields {
		if f.Numbers == 0 {
			return nil, fmt.Errorf("the answers to %s are no numbers: give a .csv or .jsonl file", f.Name)
		}
		width += f.Numbers
	}
	if x.Cols != width {
		return nil, fmt.Errorf("a matrix of %d columns does not fit the plan, which asks for %d numbers", x.Cols, width)
	}
	values := make([]question.Value, x.Rows)
	for i := range values {
		row, numbers := make([]any, len(fields)), x.Data[i*x.Stride:i*x.Stride+x.Cols]
		for f := range fields {
			row[f] = ofNumbers(numbers[:fields[f].Numbers])
			numbers = numbers[fields[f].Numbers:]
		}
		var errs []error
		values[i], errs = q.Value(row)
		for f, err := range errs {
			if err != nil {
				return nil, fmt.Errorf("row %d, column %s %w", i+1, fields[f].Name, err)
			}
		}
	}
	return values, nil
}

// ofNumbers returns a field of one number, or of several.
func ofNumbers(x []float32) any {
	if len(x) == 1 {
		return float64(x[0])
	}
	all := make([]any, len(x))
	for i := range x {
		all[i] = float64(x[i])
	}
	return all
}
