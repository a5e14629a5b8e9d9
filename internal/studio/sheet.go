// Package studio makes a question of somebody's own values: it guesses what they are, draws what a collection would
// publish, and writes the plan. Used by cmd/confetti-web/studio, which runs it in a browser, so that no value leaves
// the machine.
package studio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// Bounds of what is read.
const (
	maxText    = 64 << 20 // bytes
	maxColumns = 200
	maxRows    = 2_000_000
)

// Sheet is values that were pasted or dropped, with what they look like.
type Sheet struct {
	Columns []Column `json:"columns"`
	Rows    int      `json:"rows"`
	Note    string   `json:"note,omitempty"` // how the text was read, where that is not plain

	cells [][]string // by column, then by row
	taken *rows      // of the choice that was drawn last
	seed  string     // see publicSeed
}

// Column is a column, and what it might ask. Numbers of cells are those of its rows.
type Column struct {
	Name     string  `json:"name"`
	Empty    int     `json:"empty"`    // rows with an empty cell
	Distinct int     `json:"distinct"` // different values, or of sets different items
	Kind     string  `json:"kind"`     // as a plan's: "categories", "buckets" or "set"
	Numbers  bool    `json:"numbers"`  // all that is not empty is a number
	Low      float64 `json:"low"`      // of numbers: round ends that hold them all
	High     float64 `json:"high"`
	Cells    int     `json:"cells"`           // steps from low to high
	Most     int     `json:"most"`            // items of the largest set
	Doubt    string  `json:"doubt,omitempty"` // what speaks against asking it
}

// Read reads a table with a line of column names, as CSV does, or without separators and
// unless table says so one value in each line. Errors name the line and never what is there.
func Read(text []byte, asTable bool) (*Sheet, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the text has more than %d MB: take a part of it", maxText>>20)
	}
	s := &Sheet{}
	var err error
	if asTable || looksLikeTable(text) {
		err = s.readTable(text)
	} else {
		err = s.readLines(text)
	}
	if err != nil {
		return nil, err
	}
	if s.Rows = len(s.cells[0]); s.Rows == 0 {
		return nil, errors.New("there are no values: give one in each line, or a table with a line of column names")
	}
	for i := range s.Columns {
		s.Columns[i].look(s.cells[i])
	}
	return s, nil
}

// looksLikeTable says whether the first two lines have equally many separators, and some.
func looksLikeTable(text []byte) bool {
	first, rest, more := bytes.Cut(text, []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	for _, separator := range []string{"\t", ";", ","} {
		if n := bytes.Count(first, []byte(separator)); more && n > 0 && n == bytes.Count(second, []byte(separator)) {
			return true
		}
	}
	return false
}

// readLines takes each line for a value; empty ones at the end for none.
func (s *Sheet) readLines(text []byte) error {
	var values []string
	for i, line := range strings.Split(strings.TrimRight(strings.TrimPrefix(string(text), "\ufeff"), "\r\n \t"), "\n") {
		line = strings.TrimSpace(line)
		if fault := table.TextFault(line); fault != "" {
			return fmt.Errorf("line %d %s", i+1, fault)
		}
		values = append(values, line)
	}
	if len(values) > maxRows {
		return tooManyRows()
	}
	if len(values) == 1 && values[0] == "" {
		values = nil
	}
	s.Columns, s.cells = []Column{{Name: "answer"}}, [][]string{values}
	return nil
}

func tooManyRows() error {
	return fmt.Errorf("there are more than %d rows: take a part of them", maxRows)
}

func (s *Sheet) readTable(text []byte) error {
	in, err := table.NewCSV(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if len(in.Names) > maxColumns {
		return fmt.Errorf("there are more than %d columns: leave out those that are not asked", maxColumns)
	}
	for _, name := range in.Names {
		s.Columns = append(s.Columns, Column{Name: name})
	}
	s.Note, s.cells = in.Note, make([][]string, len(in.Names))
	known := map[string]string{} // a row's memory is used again, and most values repeat
	for {
		row, line, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, table.ErrFields) {
			return fmt.Errorf("line %d has another number of cells than the line of names, which has %d", line, len(in.Names))
		}
		if err != nil {
			return err
		}
		if len(s.cells[0]) == maxRows {
			return tooManyRows()
		}
		for i, cell := range row {
			cell = strings.TrimSpace(cell)
			if fault := table.TextFault(cell); fault != "" {
				return fmt.Errorf("line %d, column %q %s", line, in.Names[i], fault)
			}
			kept, there := known[cell]
			if !there {
				kept = strings.Clone(cell)
				known[kept] = kept
			}
			s.cells[i] = append(s.cells[i], kept)
		}
	}
}

// Guesses: numbers of more values than this are told in steps, and where so many cells hold a
// separator they hold sets.
const (
	fewNumbers = 12
	setsFrom   = 0.2
	steps      = 10
)

// look guesses what a column is.
func (c *Column) look(cells []string) {
	c.Numbers, c.Kind = true, "categories"
	values, several := map[string]int{}, 0
	low, high := math.Inf(1), math.Inf(-1)
	for _, cell := range cells {
		if cell == "" {
			c.Empty++
			continue
		}
		values[cell]++
		if strings.Contains(cell, ";") {
			several++
		}
		if x, err := strconv.ParseFloat(cell, 64); err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			c.Numbers = false
		} else {
			low, high = min(low, x), max(high, x)
		}
	}
	held := len(cells) - c.Empty
	c.Distinct = len(values)
	if c.Numbers = c.Numbers && held > 0; c.Numbers {
		c.Low, c.High, c.Cells = around(low, high)
	}
	switch {
	case c.Numbers && c.Distinct > fewNumbers:
		c.Kind = "buckets"
	case held > 0 && float64(several) >= setsFrom*float64(held):
		c.Kind = "set"
	}
	items := map[string]bool{}
	for value := range values {
		set := itemsOf(value)
		c.Most = max(c.Most, len(set))
		for _, item := range set {
			items[item] = true
		}
	}
	if c.Kind == "set" {
		c.Distinct = len(items)
	}
	if c.Kind == "categories" && held >= 20 && c.Distinct > held/2 {
		c.Doubt = "Nearly every value stands there once: it may be a name or a number of a person, which no count can protect, or a free text. Ask something that people share."
	}
}

// itemsOf returns the different items of a set, which semicolons set apart.
func itemsOf(cell string) (items []string) {
	for item := range strings.SplitSeq(cell, ";") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

// around are round numbers that hold all from low to high, and the steps between them.
func around(low, high float64) (from, to float64, cells int) {
	if low == high {
		return low, low + 1, 1
	}
	rough := (high - low) / steps
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, times := range []float64{1, 2, 5, 10} {
		if times*step >= rough*(1-1e-9) {
			step *= times
			break
		}
	}
	from, to = math.Floor(low/step)*step, math.Ceil(high/step)*step
	// Written as people would: 0.30000000000000004 is 0.3.
	from, _ = strconv.ParseFloat(strconv.FormatFloat(from, 'g', 12, 64), 64)
	to, _ = strconv.ParseFloat(strconv.FormatFloat(to, 'g', 12, 64), 64)
	return from, to, min(plan.MaxCells, max(1, int(math.Round((to-from)/step))))
}
