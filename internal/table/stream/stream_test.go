package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// made is a table of so many records, of which each has one cell more than the one before, up to nine; fault is
// what comes behind them.
func made(records int, fault error) *table.Typed {
	t := &table.Typed{Rows: int64(records)}
	for i := range 9 {
		t.Columns = append(t.Columns, table.TypedColumn{Name: fmt.Sprint("column ", i), Plain: i%2 == 0, Lists: i % 3})
	}
	at := 0
	t.Next = func() ([]table.Cell, error) {
		if at == records {
			return nil, fault
		}
		var record []table.Cell
		for i := range 1 + at%9 {
			record = append(record, table.Cell{Column: i, Null: at%7 == i, Number: float64(at) / 3, Text: fmt.Sprint(at)})
		}
		at++
		return record, nil
	}
	return t
}

// What is received is what was sent, to the last record and to what was wrong.
func TestWhatIsSentIsReceived(t *testing.T) {
	for _, records := range []int{0, 1, 10, 3 * most} {
		for _, fault := range []error{io.EOF, errors.New("damaged parquet file")} {
			var b bytes.Buffer
			if err := Send(&b, made(records, fault)); err != nil {
				t.Fatal(err)
			}
			got, err := Receive(&b)
			if err != nil {
				t.Fatal(err)
			}
			want := made(records, fault)
			if got.Rows != want.Rows || fmt.Sprint(got.Columns) != fmt.Sprint(want.Columns) {
				t.Errorf("%d rows of %v", got.Rows, got.Columns)
			}
			for i := range records + 1 {
				a, wrong := got.Next()
				b, right := want.Next()
				if fmt.Sprint(a, wrong) != fmt.Sprint(b, right) {
					t.Fatalf("record %d of %d: %v, %v, want %v, %v", i, records, a, wrong, b, right)
				}
			}
		}
	}
}

// A table that breaks off anywhere is an error, and no shorter table.
func TestATableThatBreaksOff(t *testing.T) {
	var b bytes.Buffer
	if err := Send(&b, made(10, io.EOF)); err != nil {
		t.Fatal(err)
	}
	for n := range b.Len() {
		got, err := Receive(bytes.NewReader(b.Bytes()[:n]))
		for err == nil {
			_, err = got.Next()
		}
		if !errors.Is(err, errEnded) {
			t.Fatalf("the first %d bytes of %d: %v", n, b.Len(), err)
		}
	}
}

func FuzzReceive(f *testing.F) {
	var b bytes.Buffer
	if err := Send(&b, made(3, io.EOF)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, sent []byte) {
		costlimit.Heap(t, costlimit.Factor, len(sent)+1<<20, func() { // and the decoder's own
			got, err := Receive(bytes.NewReader(sent))
			for err == nil {
				_, err = got.Next()
			}
		})
	})
}
