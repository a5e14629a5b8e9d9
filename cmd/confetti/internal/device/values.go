package device

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
)

// answersHelp says how answers are written.
const answersHelp = `Each row is one respondent's answer. Of a histogram question a .csv file has a
column for each attribute, by its name, and --crowd where the plan has crowds; a
.jsonl file has an object a line with the same keys; a .npy matrix has the
attributes as columns in their order, in numbers. A set is written as "a;b" or
["a","b"], a point as "x;y" or [x,y]. Of a density question a .csv, .parquet or .npy
file has a number for each feature and --label as in confetti collect simulate, and a
.jsonl line {"features": [0.5, 1], "class": "a"}. Text may be gzipped (.csv.gz).`

// columns name what is not asked about by its own name, and what is not there.
type columns struct {
	Label   string `help:"Density: column that names the class; for .npy, the path of a second .npy with class numbers." default:"class" placeholder:"NAME"`
	Crowd   string `help:"Histogram: column that names the crowd." default:"crowd" placeholder:"NAME"`
	Missing string `help:"What an empty cell (of JSON: null, or no such key) is: refuse, a fault of the file; value=TEXT, that value; with --devices also skip, its row does not answer. An empty cell of a set is the empty set." default:"refuse" placeholder:"WHAT"`
}

// maxLine bounds a line of JSON, in bytes.
const maxLine = 16 << 20

// answers reads values for the plan's question, with what a reader must know of how. The
// error says all that is wrong, by line and column, and never what is there.
func (c columns) answers(path string, p plan.Plan) (values []question.Value, notes []string, err error) {
	missing, err := table.ParseMissing(c.Missing)
	if err != nil {
		return nil, nil, terminal.Usagef("--missing is %q: %w", c.Missing, err)
	}
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	if p.Question.Density != nil && extension != ".jsonl" {
		return c.labelled(path, missing, p.Crowd.Names)
	}
	if extension == ".npy" {
		x, err := table.ReadMatrix(path)
		if err != nil {
			return nil, nil, err
		}
		values, err := matrixAnswers(x, p)
		return values, nil, err
	}
	file, err := table.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	values, notes, err = c.rows(extension, file, missing, p)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return values, notes, err
}

// rows reads rows of text.
func (c columns) rows(extension string, file io.Reader, missing table.Missing, p plan.Plan) (values []question.Value, notes []string, err error) {
	in, err := newRows(extension, file, missing)
	if err != nil {
		return nil, nil, err
	}
	q := p.Question
	if q.Histogram != nil && in.names != nil {
		if err := c.named(in.names, p); err != nil {
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
		var v question.Value
		switch {
		case in.fields == nil: // which is a fault
			continue
		case q.Density != nil:
			v = in.labelled(p.Crowd.Names)
		default:
			v = in.answers(c.Crowd, p.Crowd.Names, *q.Histogram)
		}
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
func (c columns) named(names []string, p plan.Plan) error {
	var errs []error
	for _, a := range p.Question.Histogram.Attributes {
		if !slices.Contains(names, a.Name) {
			errs = append(errs, fmt.Errorf("there is no column %s, which the plan asks about", a.Name))
		}
	}
	if len(p.Crowd.Names) > 0 && !slices.Contains(names, c.Crowd) {
		errs = append(errs, fmt.Errorf("there is no column %s to take the plan's crowds from: name it with --crowd", c.Crowd))
	}
	return errors.Join(errs...)
}

// labelled reads a table of features and labels.
func (c columns) labelled(path string, missing table.Missing, classes []string) ([]question.Value, []string, error) {
	t, err := table.ReadRecords(path, table.Choice{Label: c.Label, Missing: missing})
	if err != nil {
		return nil, nil, err
	}
	values := make([]question.Value, t.X.Rows)
	first, wrong := 0, 0
	for i := range values {
		class := slices.Index(classes, t.Labels[i])
		if class < 0 {
			if wrong++; wrong == 1 {
				first = i + 1
			}
		}
		values[i] = density.Labelled{Features: t.X.Data[i*t.X.Stride : i*t.X.Stride+t.X.Cols], Class: class}
	}
	if wrong > 0 {
		return nil, nil, fmt.Errorf("%s: the label is none of the plan's %d classes in %d of %d rows, the first is row %d", path, len(classes), wrong, t.X.Rows, first)
	}
	return values, t.Notes, nil
}

// answer is a field as the attribute takes it.
func answer(a plan.Attribute, field any) (any, error) {
	switch a.Kind {
	case "buckets":
		return number(field)
	case "grid":
		xy, err := numbers(field)
		if err != nil || len(xy) != 2 {
			return nil, errors.New("is not a point of two numbers")
		}
		return encode.Point{X: xy[0], Y: xy[1]}, nil
	case "set":
		items, err := list(field)
		if err != nil {
			return nil, err
		}
		if a.Size == 0 {
			return texts(items)
		}
		cells := make([]int, len(items))
		for i, item := range items {
			if cells[i], err = cell(item); err != nil {
				return nil, err
			}
		}
		return cells, nil
	case "categories":
		if a.Size > 0 {
			return cell(field)
		}
	}
	text, ok := field.(string)
	if !ok {
		return nil, errors.New("is not a text")
	}
	return text, nil
}

// list is a JSON array, or a text's parts between semicolons; an empty text has
// none.
func list(field any) ([]any, error) {
	switch f := field.(type) {
	case []any:
		return f, nil
	case string:
		var items []any
		for part := range strings.SplitSeq(f, ";") {
			if part = strings.TrimSpace(part); part != "" {
				items = append(items, part)
			}
		}
		return items, nil
	}
	return nil, errors.New("is not a list")
}

func texts(items []any) ([]string, error) {
	out := make([]string, len(items))
	for i, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, errors.New("holds an item that is not a text")
		}
		out[i] = text
	}
	return out, nil
}

func numbers(field any) ([]float64, error) {
	items, err := list(field)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(items))
	for i, item := range items {
		if out[i], err = number(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func number(field any) (float64, error) {
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

var errNoNumber = errors.New("is not a finite number")

func cell(field any) (int, error) {
	x, err := number(field)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		return 0, errors.New("is not the number of a cell")
	}
	return int(x), nil
}

// matrixAnswers takes attributes as columns in their order; a grid has two.
func matrixAnswers(x blas32.General, p plan.Plan) ([]question.Value, error) {
	q, width := p.Question.Histogram, 0
	for _, a := range q.Attributes {
		if a.Kind == "set" || a.Kind == "prefixes" || a.Kind == "categories" && a.Size == 0 {
			return nil, fmt.Errorf("the answers to %s are no numbers: give a .csv or .jsonl file", a.Name)
		}
		width += numbersOf(a)
	}
	if x.Cols != width || p.Crowds() > 1 {
		return nil, fmt.Errorf("a matrix of %d columns does not fit the plan, which asks for %d numbers and %d crowds: give a .csv or .jsonl file", x.Cols, width, p.Crowds())
	}
	values := make([]question.Value, x.Rows)
	for i := range values {
		v, row := histogram.Answers{}, x.Data[i*x.Stride:i*x.Stride+x.Cols]
		for _, a := range q.Attributes {
			fields := make([]any, numbersOf(a))
			for j := range fields {
				fields[j] = float64(row[j])
			}
			row = row[len(fields):]
			field := fields[0]
			if a.Kind == "grid" {
				field = fields
			}
			one, err := answer(a, field)
			if err != nil {
				return nil, fmt.Errorf("row %d, column %s %w", i+1, a.Name, err)
			}
			v.Values = append(v.Values, one)
		}
		values[i] = v
	}
	return values, nil
}

func numbersOf(a plan.Attribute) int {
	if a.Kind == "grid" {
		return 2
	}
	return 1
}
