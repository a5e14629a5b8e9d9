package dataset

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

func readCSV(path, label string) (*Table, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeCSV(f, label)
}

// decodeCSV reads RFC 4180 with a header. Rows are named by their line.
func decodeCSV(r io.Reader, label string) (*Table, error) {
	in, names, err := NewCSV(r)
	if err != nil {
		return nil, err
	}
	at := slices.Index(names, label)
	if label != "" && at < 0 {
		return nil, fmt.Errorf("no column %q to take labels from", label)
	}
	t := &Table{Columns: slices.Clone(names)}
	if label == "" {
		at = -1
	} else {
		t.Columns = slices.Delete(t.Columns, at, at+1)
	}
	rows := 0
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return t.finish(rows, len(t.Columns))
		}
		if err != nil {
			return nil, plainCSV(err)
		}
		line, _ := in.FieldPos(0)
		for i, s := range record {
			s = strings.TrimSpace(s)
			if i == at {
				if s == "" {
					return nil, fmt.Errorf("line %d has no label", line)
				}
				t.Labels = append(t.Labels, strings.Clone(s))
				continue
			}
			v, err := strconv.ParseFloat(s, 64)
			if err == nil {
				err = t.grow(v)
			} else { // it would quote the cell
				err = errNotFinite
			}
			if err != nil {
				return nil, fmt.Errorf("line %d, column %q %w", line, names[i], err)
			}
		}
		rows++
	}
}

// NewCSV reads the line of column names, all of them different, after a byte order
// mark if there is one. The reader uses a record's memory again for the next.
func NewCSV(r io.Reader) (in *csv.Reader, names []string, err error) {
	in = csv.NewReader(withoutMark(r))
	in.ReuseRecord = true
	names, err = columnNames(in)
	return in, names, err
}

// withoutMark skips a byte order mark, which would be taken for a part of the first
// field, quotes and all.
func withoutMark(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 1<<16)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3) // they are there
	}
	return b
}

// columnNames reads the names of the columns.
func columnNames(in *csv.Reader) ([]string, error) {
	first, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("no line of column names: %w", plainCSV(err))
	}
	names := slices.Clone(first)
	numbers := 0
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if _, err := strconv.ParseFloat(names[i], 64); err == nil {
			numbers++
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("two columns have one name: columns must be told apart")
		}
	}
	if numbers == len(names) {
		return nil, fmt.Errorf("the first line holds numbers: it must name the columns")
	}
	return names, nil
}

// plainCSV keeps the place and kind of a parse error; the rest may quote the file.
func plainCSV(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("line %d: %w", parse.Line, parse.Err)
	}
	return err
}
