// Package stream carries a typed table from one program to another. Used by cmd/internal/server/parquet, which reads
// the file, and by cmd/confetti/internal/beside, which asks for it.
package stream

import (
	"bufio"
	"encoding/gob"
	"errors"
	"io"
	"slices"

	"github.com/confetti-dp/confetti/internal/table"
)

// head comes first.
type head struct {
	Columns []table.TypedColumn
	Rows    int64
}

// batch is some of the records, one after the other. The last one has none, and says whether something was wrong.
type batch struct {
	Lengths []int // cells of each record
	Cells   []table.Cell
	Fault   string
}

// most is how many cells a batch has, or somewhat more.
const most = 1 << 14

// Send writes a table to its end.
func Send(w io.Writer, t *table.Typed) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	to := gob.NewEncoder(buffered)
	if err := to.Encode(head{t.Columns, t.Rows}); err != nil {
		return err
	}
	var b batch
	for {
		record, fault := t.Next()
		if fault == nil {
			b.Lengths, b.Cells = append(b.Lengths, len(record)), append(b.Cells, record...)
		}
		if len(b.Lengths) > 0 && (fault != nil || len(b.Cells) >= most || len(b.Lengths) >= most) {
			if err := to.Encode(b); err != nil {
				return err
			}
			b = batch{Lengths: b.Lengths[:0], Cells: b.Cells[:0]}
		}
		if fault != nil {
			if !errors.Is(fault, io.EOF) {
				b.Fault = fault.Error()
			}
			return errors.Join(to.Encode(batch{Fault: b.Fault}), buffered.Flush())
		}
	}
}

// errEnded is what a table that breaks off comes to.
var errEnded = errors.New("the table breaks off")

// Receive reads the beginning of a table that is sent, and gives its records as they come. Its Close does nothing.
func Receive(r io.Reader) (*table.Typed, error) {
	from := gob.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	var h head
	if err := from.Decode(&h); err != nil {
		return nil, errEnded
	}
	var b batch
	next := func() ([]table.Cell, error) {
		for len(b.Lengths) == 0 {
			b = batch{}
			if err := from.Decode(&b); err != nil {
				return nil, errEnded
			}
			switch {
			case b.Fault != "":
				return nil, errors.New(b.Fault)
			case len(b.Lengths) == 0:
				return nil, io.EOF
			}
		}
		n := b.Lengths[0]
		if n < 0 || n > len(b.Cells) || slices.ContainsFunc(b.Cells[:n], func(c table.Cell) bool { return c.Column < 0 || c.Column >= len(h.Columns) }) {
			return nil, errEnded
		}
		record := b.Cells[:n]
		b.Lengths, b.Cells = b.Lengths[1:], b.Cells[n:]
		return record, nil
	}
	return &table.Typed{Columns: h.Columns, Rows: h.Rows, Next: next, Close: func() error { return nil }}, nil
}
