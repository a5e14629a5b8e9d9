package device

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/table"
)

// rows are lines of answers, read one by one, with all that is wrong with them.
type rows struct {
	names   []string // of the columns of a table; nil for lines of JSON
	next    func() (fields map[string]any, line int, err error)
	missing table.Missing
	faults  table.Faults

	// Of the row that was read last.
	fields map[string]any // by column, of a table texts only; nil if the row is a fault
	line   int
	lacks  bool // it is to be left out
	filled int  // cells, in all rows that are not left out
}

// newRows begins to read a table or lines of JSON.
func newRows(extension string, r io.Reader, missing table.Missing) (*rows, error) {
	in := &rows{missing: missing}
	switch extension {
	case ".csv", ".tsv":
		c, err := table.NewCSV(r)
		if err != nil {
			return nil, err
		}
		in.names = c.Names
		in.next = func() (map[string]any, int, error) {
			cells, line, err := c.Read()
			fields := map[string]any{}
			for i, cell := range cells {
				fields[c.Names[i]] = cell
			}
			return fields, line, err
		}
		return in, nil
	case ".jsonl":
		text, err := table.Text(r)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(text)
		lines.Buffer(nil, maxLine)
		line := 0
		in.next = func() (map[string]any, int, error) {
			line++
			if !lines.Scan() {
				if errors.Is(lines.Err(), bufio.ErrTooLong) {
					return nil, line, fmt.Errorf("line %d is longer than %d bytes", line, maxLine)
				}
				return nil, line, cmp.Or(lines.Err(), io.EOF)
			}
			var fields map[string]any
			if json.Unmarshal(lines.Bytes(), &fields) != nil || fields == nil {
				return nil, line, errNoObject
			}
			return fields, line, nil
		}
		return in, nil
	}
	return nil, errors.New("give a .csv, .jsonl or .npy file")
}

var errNoObject = errors.New("what is not a JSON object")

// read goes on to the next row. After the last it returns io.EOF.
func (in *rows) read() (err error) {
	in.fields, in.line, err = in.next()
	in.lacks = false
	switch {
	case errors.Is(err, table.ErrFields):
		in.faults.Add(in.line, "", "the wrong number of fields")
		in.fields = nil
		return nil
	case errors.Is(err, errNoObject):
		in.faults.Add(in.line, "", err.Error())
		return nil
	}
	return err
}

// cell returns what stands in a column, or in the place of an empty one; !ok if there is
// nothing.
func (in *rows) cell(name string, mayBeEmpty bool) (field any, ok bool) {
	field = in.fields[name]
	if text, is := field.(string); field != nil && !(is && in.names != nil && !mayBeEmpty && strings.TrimSpace(text) == "") {
		if fault := table.TextFault(text); fault != "" && !mayBeEmpty { // a set may be long
			in.wrong(name, fault)
		}
		return field, true
	}
	value, given := in.missing.Instead()
	switch {
	case given:
		in.filled++
	case in.missing.Skips():
		in.lacks = true
	default:
		in.faults.AddEmpty(in.line, name)
	}
	return value, given
}

// wrong counts what is wrong with a column.
func (in *rows) wrong(name, what string) { in.faults.Add(in.line, name, what) }

// value returns that of the row that was read, of which some fields have another name. It is
// nil, and the row is a fault, unless every field is there.
func (in *rows) value(q question.Parser, fields []question.Field) question.Value {
	row, there := make([]any, len(fields)), make([]bool, len(fields))
	whole := true
	for i, f := range fields {
		row[i], there[i] = in.cell(f.Name, f.List)
		whole = whole && there[i]
	}
	v, errs := q.Value(row)
	for i, err := range errs {
		if err != nil && there[i] {
			in.wrong(fields[i].Name, err.Error())
		}
	}
	if !whole || errs != nil {
		return nil
	}
	return v
}
