package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// answersHelp says how answers are written.
const answersHelp = `Each row is one respondent's answer. Of a histogram question a .csv file has a
column for each attribute, by its name, and --crowd where the plan has crowds; a
.jsonl file has an object a line with the same keys; a .npy matrix has the
attributes as columns in their order, in numbers. A set is written as "a;b" or
["a","b"], a point as "x;y" or [x,y]. Of a density question a .csv or .npy file has
a number for each feature and --label as in confetti collect simulate, and a .jsonl
line {"features": [0.5, 1], "class": "a"}.`

// columns name what is not asked about by its own name.
type columns struct {
	Label string `help:"Density: column that names the class; for .npy, the path of a second .npy with class numbers." default:"class" placeholder:"NAME"`
	Crowd string `help:"Histogram: column that names the crowd." default:"crowd" placeholder:"NAME"`
}

// maxLine bounds a line of JSON, in bytes.
const maxLine = 16 << 20

// answers reads values for the plan's question. An error names the row and the
// column, never what is there.
func (c columns) answers(path string, p plan.Plan) ([]protocol.Value, error) {
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	if p.Question.Density != nil && extension != ".jsonl" {
		return c.labelled(path, *p.Question.Density)
	}
	if extension == ".npy" {
		x, err := dataset.ReadMatrix(path)
		if err != nil {
			return nil, err
		}
		return matrixAnswers(x, *p.Question.Histogram)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	next, err := rows(extension, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var values []protocol.Value
	var first error
	wrong := 0
	for row := 1; ; row++ {
		fields, err := next()
		if errors.Is(err, io.EOF) {
			switch {
			case row == 1:
				return nil, fmt.Errorf("%s has no answer", path)
			case wrong > 1:
				return nil, fmt.Errorf("%w; of %d rows %d cannot be read", first, row-1, wrong)
			}
			return values, first
		}
		broken := err != nil && !errors.Is(err, dataset.ErrFields) // nothing can be read after it
		var v protocol.Value
		if err == nil && p.Question.Density != nil {
			v, err = labelledOf(fields, *p.Question.Density)
		} else if err == nil {
			v, err = c.answersOf(fields, *p.Question.Histogram)
		}
		if err != nil {
			wrong++
			if first == nil {
				first = fmt.Errorf("%s: row %d: %w", path, row, err)
			}
			if broken {
				return nil, first
			}
		}
		values = append(values, v)
	}
}

// rows returns a reader of rows by column; CSV has texts only.
func rows(extension string, r io.Reader) (next func() (map[string]any, error), err error) {
	switch extension {
	case ".csv", ".tsv":
		c, err := dataset.NewCSV(r)
		if err != nil {
			return nil, err
		}
		return func() (map[string]any, error) {
			cells, _, err := c.Read()
			fields := map[string]any{}
			for i, cell := range cells {
				fields[c.Names[i]] = cell
			}
			return fields, err
		}, nil
	case ".jsonl":
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		return func() (map[string]any, error) {
			if !lines.Scan() {
				return nil, cmp.Or(lines.Err(), io.EOF)
			}
			var fields map[string]any
			if json.Unmarshal(lines.Bytes(), &fields) != nil || fields == nil {
				return nil, errors.New("not a JSON object")
			}
			return fields, nil
		}, nil
	}
	return nil, errors.New("give a .csv, .jsonl or .npy file")
}

// labelled reads a table of features and labels.
func (c columns) labelled(path string, q plan.Density) ([]protocol.Value, error) {
	t, err := dataset.ReadTable(path, dataset.Choice{Label: c.Label})
	if err != nil {
		return nil, err
	}
	values := make([]protocol.Value, t.X.Rows)
	for i := range values {
		class := slices.Index(q.Classes, t.Labels[i])
		if class < 0 {
			return nil, fmt.Errorf("%s: row %d: the label is none of the plan's %d classes", path, i+1, len(q.Classes))
		}
		values[i] = protocol.Labelled{Features: t.X.Data[i*t.X.Stride : i*t.X.Stride+t.X.Cols], Class: class}
	}
	return values, nil
}

func labelledOf(fields map[string]any, q plan.Density) (protocol.Value, error) {
	name, _ := fields["class"].(string)
	class := slices.Index(q.Classes, name)
	if class < 0 {
		return nil, fmt.Errorf("class is none of the plan's %d", len(q.Classes))
	}
	features, err := numbers(fields["features"])
	if err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	v := protocol.Labelled{Class: class, Features: make([]float32, len(features))}
	for i, x := range features {
		v.Features[i] = float32(x)
	}
	return v, nil
}

func (c columns) answersOf(fields map[string]any, q plan.Histogram) (protocol.Value, error) {
	v := protocol.Answers{Values: make([]any, len(q.Attributes))}
	if len(q.Crowds) > 0 {
		name, _ := fields[c.Crowd].(string)
		if v.Crowd = slices.Index(q.Crowds, name); v.Crowd < 0 {
			return nil, fmt.Errorf("column %s names none of the plan's %d crowds", c.Crowd, len(q.Crowds))
		}
	}
	for i, a := range q.Attributes {
		field, there := fields[a.Name]
		if !there {
			return nil, fmt.Errorf("there is no column %s, which the plan asks about", a.Name)
		}
		var err error
		if v.Values[i], err = answer(a, field); err != nil {
			return nil, fmt.Errorf("column %s: %w", a.Name, err)
		}
	}
	return v, nil
}

// answer is a field as the attribute takes it.
func answer(a plan.Attribute, field any) (any, error) {
	switch a.Kind {
	case "buckets":
		return number(field)
	case "grid":
		xy, err := numbers(field)
		if err != nil || len(xy) != 2 {
			return nil, errors.New("not a point, two numbers")
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
		return nil, errors.New("not a text")
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
	return nil, errors.New("not a list")
}

func texts(items []any) ([]string, error) {
	out := make([]string, len(items))
	for i, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, errors.New("an item is not a text")
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
		return 0, errors.New("not a finite number")
	}
	return x, nil
}

func cell(field any) (int, error) {
	x, err := number(field)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		return 0, errors.New("not the number of a cell")
	}
	return int(x), nil
}

// matrixAnswers takes attributes as columns in their order; a grid has two.
func matrixAnswers(x blas32.General, q plan.Histogram) ([]protocol.Value, error) {
	width := 0
	for _, a := range q.Attributes {
		if a.Kind == "set" || a.Kind == "prefixes" || a.Kind == "categories" && a.Size == 0 {
			return nil, fmt.Errorf("the answers to %s are no numbers: give a .csv or .jsonl file", a.Name)
		}
		width += numbersOf(a)
	}
	if x.Cols != width || len(q.Crowds) > 0 {
		return nil, fmt.Errorf("a matrix of %d columns does not fit the plan, which asks for %d numbers and %d crowds: give a .csv or .jsonl file", x.Cols, width, len(q.Crowds))
	}
	values := make([]protocol.Value, x.Rows)
	for i := range values {
		v, row := protocol.Answers{}, x.Data[i*x.Stride:i*x.Stride+x.Cols]
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
				return nil, fmt.Errorf("row %d, %s: %w", i+1, a.Name, err)
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
