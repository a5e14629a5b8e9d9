package table

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

	"github.com/confetti-dp/confetti/internal/sanitize/meant"
)

// Columns are some columns of a user's own file, as text.
type Columns struct {
	Names  []string
	Values [][]string // by column, then by row; empty ones only of columns that may be
	Lines  []int      // of each row in the file, for errors that name it
	Notes  []string   // what a reader of the result must know of how the file was read
	fill   string     // what empty cells were taken for
}

// Column is a column to read. One that MayBeEmpty says something with an empty cell:
// of sets, that there is no item. One that MayBeLong is read at any length: that a cell is too long would tell of a row.
type Column struct {
	Name       string
	MayBeEmpty bool
	MayBeLong  bool
}

// maxText bounds a value: nobody's answer is longer, and a file that is not what it
// should be says so soon.
const maxText = 1 << 10

// ReadColumns reads columns of a file by name, as CSV does. The same one may be asked
// for twice. The error says all that is wrong with the file, by line and column, and
// never what is there.
func ReadColumns(path string, missing Missing, columns ...Column) (*Columns, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := decodeColumns(f, missing, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func decodeColumns(r io.Reader, missing Missing, columns []Column) (*Columns, error) {
	in, err := NewCSV(r)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(columns))
	c := &Columns{Values: make([][]string, len(columns)), fill: missing.value}
	for i, column := range columns {
		c.Names = append(c.Names, column.Name)
		if at[i] = slices.Index(in.Names, column.Name); at[i] < 0 {
			return nil, noColumn(column.Name, in.Names)
		}
	}
	var faults Faults
	left, filled := 0, 0
	row := make([]string, len(columns))
	for {
		record, line, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, ErrFields) {
			faults.AddRagged(line)
			continue
		}
		if err != nil { // nothing can be read after it
			return nil, errors.Join(faults.Err(), err)
		}
		lacks, fills := false, 0
		for i, column := range columns {
			s := strings.TrimSpace(record[at[i]])
			if s == "" && !column.MayBeEmpty {
				switch {
				case missing.fill:
					s = missing.value
					fills++
				case missing.skip:
					lacks = true
				default:
					faults.AddEmpty(line, column.Name)
				}
			}
			problem := noText(s)
			if !column.MayBeLong {
				problem = badText(s)
			}
			if problem != "" {
				faults.add("line", line, column.Name, problem, textRemedy)
			}
			row[i] = s
		}
		if lacks {
			left++
			continue
		}
		filled += fills
		for i, s := range row {
			c.Values[i] = append(c.Values[i], strings.Clone(s)) // the record is used again
		}
		c.Lines = append(c.Lines, line)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if len(c.Lines) == 0 && left > 0 {
		return nil, fmt.Errorf("every one of %s rows has an empty cell: nothing is left to read", thousands(left))
	}
	if len(c.Lines) == 0 {
		return nil, ErrNoRows
	}
	c.Notes = notes(in.Note, missing.Note(len(c.Lines), left, filled))
	return c, nil
}

// ErrNoRows reports a table of column names alone.
var ErrNoRows = errors.New("holds a line of column names and nothing else: nothing to read")

// notes are sentences of those that are not empty.
func notes(read, missing string) []string {
	var all []string
	if read != "" {
		all = append(all, "The table was read as "+read+".")
	}
	if missing != "" {
		all = append(all, missing)
	}
	return all
}

// noColumn names no column but the one that was meant: where the first line is none of names, it holds
// what people said.
func noColumn(name string, there []string) error {
	return fmt.Errorf("no column %q%s: the first line names %s", name, meant.DidYouMean(name, there), others(len(there)))
}

func others(n int) string {
	if n == 1 {
		return "1 other"
	}
	return fmt.Sprintf("%d others", n)
}

// TextFault says what is wrong with a text as a cell, such as "is not UTF-8 text"; empty if
// nothing is.
func TextFault(s string) string { return badText(s) }

// textRemedy says what to do about cells that are no text, or no value.
const textRemedy = "mend these cells, and save the table as UTF-8 text"

func badText(s string) string {
	if len(s) > maxText {
		return fmt.Sprintf("is longer than %d bytes", maxText)
	}
	return noText(s)
}

// noText says why a cell is no text of one line; empty if it is.
func noText(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8 text"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds control characters"
	}
	return ""
}

// Numbers returns the values of a column, which must all be finite.
func (c *Columns) Numbers(column int) ([]float64, error) {
	out := make([]float64, len(c.Lines))
	var faults Faults
	for row, s := range c.Values[column] {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) { // the error would quote the value
			what := errNotFinite.Error()
			if c.fill != "" && s == c.fill {
				what = "is empty, and what was given for it is no finite number"
			}
			faults.Add(c.Lines[row], c.Names[column], what)
		}
		out[row] = x
	}
	return out, faults.Err()
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
	text, _, err := unpacked(r)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(text)
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
