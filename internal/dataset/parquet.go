package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func readParquet(path, label string) (*Table, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeParquet(f, size, label)
}

// decodeParquet reads numeric columns, or one column of lists of numbers. The
// library has panicked on damaged files; here that is an error.
func decodeParquet(r io.ReaderAt, size int64, label string) (t *Table, err error) {
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
	c, err := chooseColumns(file.Schema(), label)
	if err != nil {
		return nil, err
	}
	if n := file.NumRows(); n < 1 || n > maxElements/int64(max(1, len(c.names))) {
		return nil, fmt.Errorf("holds %d rows of %d columns: at least 1 row and at most %d numbers can be read", n, len(c.names), maxElements)
	}
	t = &Table{}
	if !c.list {
		t.Columns, c.width = c.names, len(c.names)
	}
	for _, group := range file.RowGroups() {
		if err := c.readGroup(t, group); err != nil {
			return nil, err
		}
	}
	return t.finish(t.X.Rows, c.width)
}

// columns says which leaf columns are features and which is the label.
type columns struct {
	names []string // of the features
	index []string // by leaf column: the feature's name, or "" for the label
	label int      // leaf column, or -1
	list  bool     // the one feature column holds lists
	width int      // numbers in a row; for lists, 0 before the first
}

func chooseColumns(schema *parquet.Schema, label string) (columns, error) {
	c := columns{label: -1}
	named := func(path []string) bool { return strings.Join(path, ".") == label }
	if label != "" && !slices.ContainsFunc(schema.Columns(), named) {
		return c, fmt.Errorf("no column %q to take labels from", label)
	}
	for i, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		name := strings.Join(path, ".")
		if label != "" && named(path) {
			if leaf.MaxRepetitionLevel > 0 {
				return c, fmt.Errorf("label column %q holds lists", name)
			}
			c.label = i
			c.index = append(c.index, "")
			continue
		}
		if !plainNumber(leaf.Node.Type()) {
			return c, fmt.Errorf("column %q is not a plain number: leave it out of the file", name)
		}
		if leaf.MaxRepetitionLevel > 1 {
			return c, fmt.Errorf("column %q holds lists of lists", name)
		}
		c.list = c.list || leaf.MaxRepetitionLevel == 1
		c.names = append(c.names, name)
		c.index = append(c.index, name)
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

func (c *columns) readGroup(t *Table, group parquet.RowGroup) error {
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
func (c *columns) read(t *Table, record parquet.Row) error {
	t.X.Rows++
	row, before := t.X.Rows, len(t.X.Data)
	for _, v := range record {
		at := v.Column()
		if v.IsNull() {
			if at == c.label {
				return fmt.Errorf("row %d has no label", row)
			}
			return fmt.Errorf("row %d, column %q is missing", row, c.index[at])
		}
		if at == c.label {
			t.Labels = append(t.Labels, strings.Clone(v.String()))
			continue
		}
		if err := t.grow(number(v)); err != nil {
			return fmt.Errorf("row %d, column %q %w", row, c.index[at], err)
		}
	}
	got := len(t.X.Data) - before
	if c.width == 0 {
		c.width = got
	}
	if got != c.width {
		return fmt.Errorf("row %d has %d numbers instead of %d", row, got, c.width)
	}
	if c.label >= 0 && len(t.Labels) != row {
		return fmt.Errorf("row %d does not have one label", row)
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
