package table

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Faults gathers what is wrong with a file, so that one message says all of it:
// what it is, how often, and where first. It never says what is there. The zero
// value is none.
type Faults struct {
	kinds []fault // in the order in which they were found
	at    map[[2]string]int
}

type fault struct {
	place, column, what, remedy string
	first, n                    int
}

// mostFaults is how many kinds of fault a message lists.
const mostFaults = 20

// Add counts a fault of a line: what is wrong with the named column, such as "is empty",
// or, where there is no name, what the line has, such as "no label".
func (f *Faults) Add(line int, column, what string) { f.add("line", line, column, what, "") }

// AddRow is Add for a row of a file that has no lines.
func (f *Faults) AddRow(row int, column, what string) { f.add("row", row, column, what, "") }

// AddEmpty counts an empty cell that is refused, with what to do about it.
func (f *Faults) AddEmpty(line int, column string) {
	f.add("line", line, column, "is empty", missingRemedy)
}

// AddRagged counts a line with more or fewer cells than there are columns, with what to do about it.
func (f *Faults) AddRagged(line int) {
	f.add("line", line, "", "the wrong number of fields", "give each line a cell for each column name, in quotes where it holds what sets columns apart")
}

// add is Add for lines or rows, with what to do about it.
func (f *Faults) add(place string, line int, column, what, remedy string) {
	key := [2]string{column, what}
	i, known := f.at[key]
	if !known {
		if f.at == nil {
			f.at = map[[2]string]int{}
		}
		i = len(f.kinds)
		f.at[key] = i
		f.kinds = append(f.kinds, fault{place: place, column: column, what: what, remedy: remedy, first: line})
	}
	f.kinds[i].n++
}

func (f fault) String() string {
	switch {
	case f.column == "" && f.n == 1:
		return fmt.Sprintf("%s %d has %s", f.place, f.first, f.what)
	case f.column == "":
		return fmt.Sprintf("%s %ss have %s, the first is %s %d", thousands(f.n), f.place, f.what, f.place, f.first)
	case f.n == 1:
		return fmt.Sprintf("%s %d, column %q %s", f.place, f.first, f.column, f.what)
	}
	return fmt.Sprintf("column %q %s in %s %ss, the first is %s %d", f.column, f.what, thousands(f.n), f.place, f.place, f.first)
}

// Err says all that was wrong; nil if nothing was.
func (f *Faults) Err() error {
	if len(f.kinds) == 0 {
		return nil
	}
	var parts, remedies []string
	for i, k := range f.kinds {
		if i == mostFaults {
			parts = append(parts, fmt.Sprintf("and %d other kinds of fault", len(f.kinds)-i))
			break
		}
		parts = append(parts, k.String())
		if k.remedy != "" && (len(remedies) == 0 || remedies[len(remedies)-1] != k.remedy) {
			remedies = append(remedies, k.remedy)
		}
	}
	text := strings.Join(parts, "; ")
	if len(remedies) > 0 {
		text += ": " + strings.Join(remedies, "; ")
	}
	return errors.New(text)
}

// thousands writes a count with commas, as people do.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
