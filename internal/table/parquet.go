//go:build !js

package table

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func readParquet(path string, choice Choice) (*Records, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeParquet(f, size, choice)
}

// decodeParquet reads numeric columns, or one column of lists of numbers. The
// library has panicked on damaged files; here that is an error.
func decodeParquet(r io.ReaderAt, size int64, choice Choice) (t *Records, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, errors.New("damaged parquet file")
		}
	}()
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, errors.New("not a parquet file, or a damaged one")
	}
	c, err := chooseColumns(file.Schema(), choice)
	if err != nil {
		return nil, err
	}
	if n := file.NumRows(); n < 1 || n > maxElements/int64(max(1, len(c.names))) {
		return nil, fmt.Errorf("holds %d rows of %d columns: at least 1 row and at most %d numbers can be read", n, len(c.names), maxElements)
	}
	t = &Records{any: choice.Any}
	if !c.list {
		t.Columns, c.width = c.names, len(c.names)
	}
	for _, group := range file.RowGroups() {
		if err := c.readGroup(t, group); err != nil {
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

func chooseColumns(schema *parquet.Schema, choice Choice) (*columns, error) {
	c := &columns{choice: choice, label: -1}
	for _, path := range schema.Columns() {
		c.index = append(c.index, strings.Join(path, "."))
	}
	var err error
	if c.taken, err = choice.features(c.index); err != nil {
		return c, err
	}
	for i, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		name := c.index[i]
		if choice.Label != "" && name == choice.Label {
			if leaf.MaxRepetitionLevel > 0 {
				return c, fmt.Errorf("label column %q holds lists", name)
			}
			c.label = i
			continue
		}
		if !c.taken[i] {
			continue
		}
		if !plainNumber(leaf.Node.Type()) {
			return c, fmt.Errorf("column %q is not a plain number: %s", name, featureRemedy)
		}
		if leaf.MaxRepetitionLevel > 1 {
			return c, fmt.Errorf("column %q holds lists of lists", name)
		}
		c.list = c.list || leaf.MaxRepetitionLevel == 1
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

// plainNumber reports whether what is stored is what is meant, unlike decimals,
// dates and times, which are stored as integers. Unsigned integers above 16 bits
// are stored as signed ones.
func plainNumber(t parquet.Type) bool {
	switch t.Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
	default:
		return false
	}
	logical := t.LogicalType()
	if logical == nil || logical.Value == nil {
		return true
	}
	integer, ok := logical.Value.(*format.IntType)
	return ok && (integer.IsSigned || integer.BitWidth <= 16)
}

func (c *columns) readGroup(t *Records, group parquet.RowGroup) error {
	in := group.Rows()
	defer in.Close()
	buf := make([]parquet.Row, 256)
	for {
		n, err := in.ReadRows(buf)
		for _, record := range buf[:n] {
			if err := c.read(t, record); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("damaged parquet file")
		}
	}
}

// read appends a record. Its values come in the order of the columns.
func (c *columns) read(t *Records, record parquet.Row) error {
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
		at := v.Column()
		if at != c.label && !c.taken[at] {
			continue
		}
		x := 0.0
		switch {
		case v.IsNull() && c.choice.Missing.skip:
			lacks = true
			continue
		case v.IsNull() && at == c.label:
			c.faults.add("row", c.row, "", "no label", "")
			labels++
			continue
		case v.IsNull() && (!c.choice.Missing.fill || c.list):
			c.faults.add("row", c.row, c.index[at], "is missing", missingRemedy)
			continue
		case at == c.label:
			label = strings.Clone(v.String())
			labels++
			continue
		case v.IsNull():
			x = fill
			fills++
		default:
			x = number(v)
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

func number(v parquet.Value) float64 {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	}
	return v.Double()
}
