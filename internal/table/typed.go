package table

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Typed is a table whose columns have types, as Parquet's do.
type Typed struct {
	Columns []TypedColumn
	Rows    int64
	Next    func() ([]Cell, error) // a record: its cells in the order of the columns; io.EOF behind the last
	Close   func() error
}

// TypedColumn is one of its columns.
type TypedColumn struct {
	Name  string
	Plain bool // what is stored is the number that is meant, unlike decimals, dates and times
	Lists int  // how deep its numbers lie in lists
}

// Cell is one value of a record.
type Cell struct {
	Column int
	Null   bool
	Number float64
	Text   string // of the column of labels
}

// Parquet opens a file, and gives the texts of the column that has labels. A program that reads such
// files sets it once, at its start; nil: this program reads none.
var Parquet func(path, label string) (*Typed, error)

func readParquet(path string, choice Choice) (*Records, error) {
	if Parquet == nil {
		return nil, errors.New("no Parquet is read here: save it as CSV")
	}
	f, err := Parquet(path, choice.Label)
	if err != nil {
		return nil, err
	}
	t, err := f.records(choice)
	return t, errors.Join(err, f.Close())
}

// records reads numeric columns, or one column of lists of numbers.
func (f *Typed) records(choice Choice) (*Records, error) {
	c, err := f.choose(choice)
	if err != nil {
		return nil, err
	}
	if n := f.Rows; n < 1 || n > maxElements/int64(max(1, len(c.names))) {
		return nil, fmt.Errorf("holds %d rows of %d columns: at least 1 row and at most %d numbers can be read", n, len(c.names), maxElements)
	}
	t := &Records{any: choice.Any}
	if !c.list {
		t.Columns, c.width = c.names, len(c.names)
	}
	for {
		record, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := c.read(t, record); err != nil {
			return nil, err
		}
	}
	if err := c.faults.Err(); err != nil {
		return nil, err
	}
	t.Notes = notes("", choice.Missing.Note(t.X.Rows, c.left, c.filled))
	return t.finish(t.X.Rows, c.width)
}

// columns says which leaf columns are features and which is the label.
type columns struct {
	choice Choice
	names  []string // of the features
	index  []string // by leaf column: its name
	taken  []bool   // by leaf column: it is a feature
	label  int      // leaf column, or -1
	list   bool     // the one feature column holds lists
	width  int      // numbers in a row; for lists, 0 before the first

	row          int // of the file, from 1
	left, filled int // rows, and cells, that lacked something
	faults       Faults
}

// choose finds the columns that a choice takes.
func (f *Typed) choose(choice Choice) (*columns, error) {
	c := &columns{choice: choice, label: -1}
	for _, column := range f.Columns {
		c.index = append(c.index, column.Name)
	}
	var err error
	if c.taken, err = choice.features(c.index); err != nil {
		return c, err
	}
	for i, column := range f.Columns {
		name := column.Name
		if choice.Label != "" && name == choice.Label {
			if column.Lists > 0 {
				return c, fmt.Errorf("label column %q holds lists", name)
			}
			c.label = i
			continue
		}
		if !c.taken[i] {
			continue
		}
		if !column.Plain {
			return c, fmt.Errorf("column %q is not a plain number: %s", name, featureRemedy)
		}
		if column.Lists > 1 {
			return c, fmt.Errorf("column %q holds lists of lists", name)
		}
		c.list = c.list || column.Lists == 1
		c.names = append(c.names, name)
	}
	switch {
	case len(c.names) == 0:
		return c, errors.New("no columns of numbers")
	case c.list && len(c.names) > 1:
		return c, errors.New("features must be numeric columns or one column of lists, not both")
	}
	return c, nil
}

// read appends a record. Its values come in the order of the columns.
func (c *columns) read(t *Records, record []Cell) error {
	c.row++
	before, label, labels, lacks, fills := len(t.X.Data), "", 0, false, 0
	fill := 0.0
	if c.choice.Missing.fill {
		var err error
		if fill, err = strconv.ParseFloat(c.choice.Missing.value, 64); err != nil {
			return errors.New("empty cells are numbers here: give one with --missing value=NUMBER")
		}
	}
	for _, v := range record {
		at := v.Column
		if at != c.label && !c.taken[at] {
			continue
		}
		x := 0.0
		switch {
		case v.Null && c.choice.Missing.skip:
			lacks = true
			continue
		case v.Null && at == c.label:
			c.faults.add("row", c.row, "", "no label", "")
			labels++
			continue
		case v.Null && (!c.choice.Missing.fill || c.list):
			c.faults.add("row", c.row, c.index[at], "is missing", missingRemedy)
			continue
		case at == c.label:
			label = v.Text
			labels++
			continue
		case v.Null:
			x = fill
			fills++
		default:
			x = v.Number
		}
		if err := t.grow(x); errors.Is(err, errTooMany) {
			return err
		} else if err != nil {
			c.faults.add("row", c.row, c.index[at], err.Error(), featureRemedy)
		}
	}
	if lacks {
		t.X.Data = t.X.Data[:before]
		c.left++
		return nil
	}
	t.X.Rows++
	c.filled += fills
	if got := len(t.X.Data) - before; len(c.faults.kinds) == 0 {
		if c.width == 0 {
			c.width = got
		}
		if got != c.width || got == 0 {
			return fmt.Errorf("row %d has %d numbers instead of %d", c.row, got, c.width)
		}
		if c.label >= 0 && labels != 1 {
			return fmt.Errorf("row %d does not have one label", c.row)
		}
	}
	if c.label >= 0 {
		t.Labels = append(t.Labels, label)
	}
	return nil
}
