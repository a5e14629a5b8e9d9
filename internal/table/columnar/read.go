package columnar

import (
	"errors"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/confetti-dp/confetti/internal/table"
)

// Open opens a Parquet file, as table.Parquet does.
func Open(path, label string) (*table.Typed, error) {
	f, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	var t *table.Typed
	if err == nil {
		t, err = typed(f, info.Size(), label)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.Close = f.Close
	return t, nil
}

// errDamaged never says what is in the file.
var errDamaged = errors.New("damaged parquet file")

// caught makes an error of a panic of the library, which damaged files have caused.
func caught(err *error) {
	if recover() != nil {
		*err = errDamaged
	}
}

// typed reads the columns of a file, and its records one by one.
func typed(r io.ReaderAt, size int64, label string) (t *table.Typed, err error) {
	defer caught(&err)
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, errors.New("not a parquet file, or a damaged one")
	}
	t = &table.Typed{Rows: file.NumRows(), Close: func() error { return nil }}
	labels := -1
	for i, path := range file.Schema().Columns() {
		leaf, _ := file.Schema().Lookup(path...)
		t.Columns = append(t.Columns, table.TypedColumn{Name: strings.Join(path, "."), Plain: plainNumber(leaf.Node.Type()), Lists: leaf.MaxRepetitionLevel})
		if label != "" && t.Columns[i].Name == label {
			labels = i
		}
	}
	rows := reader{groups: file.RowGroups(), plain: t.Columns, label: labels, buffer: make([]parquet.Row, 256)}
	t.Next = rows.next
	return t, nil
}

// reader goes through the row groups of a file.
type reader struct {
	groups []parquet.RowGroup
	plain  []table.TypedColumn
	label  int // the column whose texts are asked for, or -1

	in     parquet.Rows // of the group that is being read
	buffer []parquet.Row
	left   []parquet.Row // of the buffer
	ended  bool          // the group has no more than is in the buffer
	record []table.Cell
}

// next returns the cells of the next record, which are good until the next call.
func (r *reader) next() (cells []table.Cell, err error) {
	defer caught(&err)
	for len(r.left) == 0 {
		if r.in != nil && r.ended {
			r.in.Close()
			r.in, r.ended = nil, false
		}
		if r.in == nil {
			if len(r.groups) == 0 {
				return nil, io.EOF
			}
			r.in, r.groups = r.groups[0].Rows(), r.groups[1:]
		}
		n, err := r.in.ReadRows(r.buffer)
		r.left = r.buffer[:n]
		if r.ended = errors.Is(err, io.EOF); err != nil && !r.ended {
			return nil, errDamaged
		}
	}
	row := r.left[0]
	r.left, r.record = r.left[1:], r.record[:0]
	for _, v := range row {
		c := table.Cell{Column: v.Column(), Null: v.IsNull()}
		switch {
		case c.Null:
		case c.Column == r.label:
			c.Text = strings.Clone(v.String())
		case r.plain[c.Column].Plain:
			c.Number = number(v)
		}
		r.record = append(r.record, c)
	}
	return r.record, nil
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

// number returns what a cell of a plain column holds.
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
