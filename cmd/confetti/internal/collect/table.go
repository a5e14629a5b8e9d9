package collect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// answersTable is what respondents answer.
type answersTable struct {
	respondents []collection.Respondent
	crowds      []string
	notes       []string // where the data stood in for what has to be declared
}

// readTable reads the columns, and gives the attributes without a domain the values
// that are there.
func (c collectHistogram) readTable(attributes []plan.Attribute, missing table.Missing) (*answersTable, error) {
	var columns []table.Column
	for _, a := range attributes {
		columns = append(columns, table.Column{Name: c.Column[len(columns)], MayBeEmpty: a.Kind == "set"})
		if a.Kind == "grid" {
			columns = append(columns, table.Column{Name: c.Column[len(columns)]})
		}
	}
	if c.Crowd != "" {
		columns = append(columns, table.Column{Name: c.Crowd})
	}
	table, err := table.ReadColumns(c.CSV, missing, columns...)
	if err != nil {
		return nil, err
	}
	t := &answersTable{respondents: make([]collection.Respondent, len(table.Lines)), notes: table.Notes}
	at := 0
	for i := range attributes {
		a := &attributes[i]
		answers, err := t.answers(a, table, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.CSV, err)
		}
		for row := range t.respondents {
			t.respondents[row].Values = append(t.respondents[row].Values, answers(row))
		}
		at++
		if a.Kind == "grid" {
			at++
		}
	}
	if c.Crowd != "" {
		t.crowds = distinct(table.Values[at])
		number := index(t.crowds)
		for row, name := range table.Values[at] {
			t.respondents[row].Crowd = number[name]
		}
		t.note("the crowds were taken from column %q (%d of them)", c.Crowd, len(t.crowds))
	}
	return t, nil
}

func (t *answersTable) note(format string, a ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, a...)+": in a real collection they are public, and declared before anybody is asked.")
}

// fewRows are so few that each may well have a value of its own.
const fewRows = 20

// answers returns those to one attribute, by row, from its columns that begin at number at.
func (t *answersTable) answers(a *plan.Attribute, columns *table.Columns, at int) (func(row int) any, error) {
	values := columns.Values[at]
	switch a.Kind {
	case "buckets":
		x, err := columns.Numbers(at)
		return func(row int) any { return x[row] }, err
	case "grid":
		x, err := columns.Numbers(at)
		if err != nil {
			return nil, err
		}
		y, err := columns.Numbers(at + 1)
		return func(row int) any { return encode.Point{X: x[row], Y: y[row]} }, err
	case "set":
		return t.sets(a, columns, at)
	}
	if len(a.Values) == 0 {
		a.Values = distinct(values)
		t.note("the values of column %q were taken from the data (%d of them)", a.Name, len(a.Values))
		if rows := len(values); rows >= fewRows && 2*len(a.Values) > rows {
			t.notes = append(t.notes, fmt.Sprintf("Column %q has %d values in %d rows, as a column of names or numbers of people has: nothing is held by many, and so nothing can be told from noise. Was another column meant?", a.Name, len(a.Values), rows))
		}
	}
	if err := flags.SeveralValues(*a, fmt.Sprintf("column %q", a.Name)); err != nil {
		return nil, err
	}
	if err := inside(a, columns, at, func(row int) []string { return values[row : row+1] }); err != nil {
		return nil, err
	}
	return func(row int) any { return values[row] }, nil
}

func (t *answersTable) sets(a *plan.Attribute, columns *table.Columns, at int) (func(row int) any, error) {
	sets := make([][]string, len(columns.Lines))
	largest, found := 1, []string{}
	for row, text := range columns.Values[at] {
		for item := range strings.SplitSeq(text, ";") {
			if item = strings.TrimSpace(item); item != "" && !slices.Contains(sets[row], item) {
				sets[row] = append(sets[row], item)
			}
		}
		largest = max(largest, len(sets[row]))
		if len(a.Values) == 0 {
			found = append(found, sets[row]...)
		}
	}
	if len(a.Values) == 0 {
		a.Values = distinct(found)
		t.note("the values of column %q were taken from the data (%d of them)", a.Name, len(a.Values))
	}
	if err := flags.SeveralValues(*a, fmt.Sprintf("column %q", a.Name)); err != nil {
		return nil, err
	}
	if a.Most == 0 {
		a.Most = min(largest, plan.MaxItems)
		t.note("the most items of a set in column %q were taken from the data (%d)", a.Name, a.Most)
	}
	var faults table.Faults
	for row, set := range sets {
		if len(set) > a.Most {
			faults.Add(columns.Lines[row], a.Name, fmt.Sprintf("is a set of more than the %d items that a device reports", a.Most))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("%w: raise --most", err)
	}
	return func(row int) any { return sets[row] }, inside(a, columns, at, func(row int) []string { return sets[row] })
}

// inside checks that all that respondents hold is declared, or counted among others.
func inside(a *plan.Attribute, columns *table.Columns, at int, held func(row int) []string) error {
	if a.Others {
		return nil
	}
	declared := index(a.Values)
	var faults table.Faults
	for row, line := range columns.Lines {
		for _, v := range held(row) {
			if _, ok := declared[v]; !ok {
				faults.Add(line, columns.Names[at], "is outside the declared domain")
				break
			}
		}
	}
	if err := faults.Err(); err != nil {
		return fmt.Errorf("%w: declare it with --domain, or set --others", err)
	}
	return nil
}

func distinct(values []string) []string { return slices.Sorted(maps.Keys(index(values))) }

// index returns where each value stands, the last place of several.
func index(values []string) map[string]int {
	at := make(map[string]int, len(values))
	for i, v := range values {
		at[v] = i
	}
	return at
}
