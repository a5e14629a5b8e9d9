package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Columns are some columns of a user's own file, as text.
type Columns struct {
	Names  []string
	Values [][]string // by column, then by row; none is empty
	Lines  []int      // of each row in the file, for errors that name it
}

// maxText bounds a value: nobody's answer is longer, and a file that is not what it
// should be says so soon.
const maxText = 1 << 10

// ReadColumns reads columns of a CSV file by name: RFC 4180 with a line of column names,
// in UTF-8, possibly with a byte order mark. The same name may be asked for twice.
// An error names the line and column, never what is there.
func ReadColumns(path string, names ...string) (*Columns, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := decodeColumns(f, names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func decodeColumns(r io.Reader, names []string) (*Columns, error) {
	in, header, err := NewCSV(r)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return nil, fmt.Errorf("no column %q: the first line names %s", name, others(len(header)))
		}
	}
	c := &Columns{Names: names, Values: make([][]string, len(names))}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, plainCSV(err)
		}
		line, _ := in.FieldPos(0)
		for i, column := range at {
			s := strings.TrimSpace(record[column])
			if problem := badText(s); problem != "" {
				return nil, fmt.Errorf("line %d, column %q %s", line, names[i], problem)
			}
			c.Values[i] = append(c.Values[i], strings.Clone(s)) // the record is used again
		}
		c.Lines = append(c.Lines, line)
	}
	if len(c.Lines) == 0 {
		return nil, errors.New("holds a line of column names and nothing else: nothing to read")
	}
	return c, nil
}

func others(n int) string {
	if n == 1 {
		return "1 other"
	}
	return fmt.Sprintf("%d others", n)
}

func badText(s string) string {
	switch {
	case s == "":
		return "is empty: fill it in or leave the line out"
	case len(s) > maxText:
		return fmt.Sprintf("is longer than %d bytes", maxText)
	case !utf8.ValidString(s):
		return "is not UTF-8 text"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds control characters"
	}
	return ""
}

// Numbers are the values of a column, which must all be finite.
func (c *Columns) Numbers(column int) ([]float64, error) {
	out := make([]float64, len(c.Lines))
	for row, s := range c.Values[column] {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) { // the error would quote the value
			return nil, fmt.Errorf("line %d, column %q %w", c.Lines[row], c.Names[column], errNotFinite)
		}
		out[row] = x
	}
	return out, nil
}

// ReadDomain reads the values of a declared domain: a line each in UTF-8, possibly with
// a byte order mark, empty lines left out. An error names the line, and never what is
// there: a file that was named by mistake may hold anything.
func ReadDomain(path string) ([]string, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	values, err := decodeDomain(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

func decodeDomain(r io.Reader) ([]string, error) {
	var values []string
	first := map[string]int{}
	lines := bufio.NewScanner(withoutMark(r))
	n := 0
	for lines.Scan() {
		n++
		s := lines.Text()
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if problem := badText(s); problem != "" {
			return nil, fmt.Errorf("line %d %s: a domain is one value a line", n, problem)
		}
		if before, twice := first[s]; twice {
			return nil, fmt.Errorf("lines %d and %d hold one value: declare each once", before, n)
		}
		first[s] = n
		values = append(values, s)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d bytes: a domain is one value a line", n+1, maxText)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, errors.New("holds no value: a domain is one value a line")
	}
	return values, nil
}
