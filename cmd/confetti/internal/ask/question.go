package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
)

// people asks for a count alone, of those whom conditions leave.
const people = "people"

// question asks for a count of each value of some columns, among the rows where conditions hold.
type question struct {
	text    string
	columns []int
	where   []tables.Condition
	said    []string // conditions, as they were understood
}

// parse reads a question such as: drink by class where spend >= 20 and age < 35.
func parse(text string, m results.Crosstabs) (q question, err error) {
	q.text = strings.Join(strings.Fields(text), " ")
	asked, conditions, has := cutWord(q.text, "where")
	if asked != people {
		for _, name := range splitWord(asked, "by") {
			at, err := find(name, m.Columns)
			if err != nil {
				return q, err
			}
			if slices.Contains(q.columns, at) {
				return q, terminal.Usagef("%q names %q twice", text, name)
			}
			q.columns = append(q.columns, at)
		}
	}
	if has {
		for _, one := range splitWord(conditions, "and") {
			c, err := condition(one, m)
			if err != nil {
				return q, err
			}
			q.where, q.said = append(q.where, c), append(q.said, one)
		}
	}
	if len(q.columns)+len(q.where) == 0 {
		return q, terminal.Usagef("%q asks nothing: say which columns, such as \"drink by class\", or \"people where class = student\"", text)
	}
	return q, nil
}

// cutWord cuts a text at the first such word that stands by itself.
func cutWord(text, word string) (before, after string, found bool) {
	words := strings.Fields(text)
	at := slices.Index(words, word)
	if at < 0 {
		return text, "", false
	}
	return strings.Join(words[:at], " "), strings.Join(words[at+1:], " "), true
}

// splitWord splits a text at each such word.
func splitWord(text, word string) (parts []string) {
	for {
		before, after, found := cutWord(text, word)
		parts = append(parts, before)
		if !found {
			return parts
		}
		text = after
	}
}

// find returns the number of a column.
func find(name string, columns []plan.Column) (int, error) {
	at := slices.IndexFunc(columns, func(c plan.Column) bool { return c.Name == name })
	if at < 0 {
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
		}
		return at, terminal.Usagef("the release has no column %q: it has %s", name, strings.Join(names, ", "))
	}
	return at, nil
}

// operators are of conditions; one that begins another stands behind it.
var operators = []string{">=", "<=", "!=", "<", ">", "="}

// condition reads one such as: spend >= 20. A number is asked for at a cut, since nothing is known of what lies between.
func condition(text string, m results.Crosstabs) (c tables.Condition, err error) {
	at, op := -1, ""
	for _, o := range operators {
		if i := strings.Index(text, o); i >= 0 && (at < 0 || i < at) {
			at, op = i, o
		}
	}
	if at < 0 {
		return c, terminal.Usagef("the condition %q compares nothing: write such as class = student, or spend >= 20", text)
	}
	name, value := strings.TrimSpace(text[:at]), strings.Trim(strings.TrimSpace(text[at+len(op):]), `"'`)
	if c.Column, err = find(name, m.Columns); err != nil {
		return c, err
	}
	of, names := m.Columns[c.Column], m.Values[c.Column]
	if i := slices.Index(names, value); i >= 0 && (op == "=" || op == "!=") {
		for v := range names {
			if (v == i) == (op == "=") {
				c.Values = append(c.Values, v)
			}
		}
		return c, nil
	}
	if len(of.Cuts) == 0 {
		if op != "=" && op != "!=" {
			return c, terminal.Usagef("%q: %s is no number: ask with = or !=", text, name)
		}
		return c, terminal.Usagef("%s has no value %q: it has %s", name, value, strings.Join(names, ", "))
	}
	x, err := strconv.ParseFloat(value, 64)
	cut := slices.Index(of.Cuts, x)
	if err != nil || cut < 0 || op != ">=" && op != "<" {
		return c, terminal.Usagef("%q: %s is known by its cuts %s alone, which are public and fixed: ask with >= or < and one of these, or with = and a range, such as %q", text, name, numbers(of.Cuts), names[len(names)-1])
	}
	for v := range names {
		if (v > cut) == (op == ">=") {
			c.Values = append(c.Values, v)
		}
	}
	return c, nil
}

func numbers(all []float64) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strings.Join(texts, ", ")
}

// line is a cell of an answer.
type line struct {
	values []string // of the question's columns
	tables.Answer
}

// answer returns the lines of a question: for each of the values of its later columns those of the first.
func (q question) answer(m results.Crosstabs, level float64) (lines []line, err error) {
	sizes := m.Code.Sizes
	cell := make([]int, len(q.columns))
	for {
		where, within := slices.Clone(q.where), slices.Clone(q.where)
		if len(cell) == 0 { // a share of everybody
			within = nil
		}
		l := line{values: make([]string, len(cell))}
		for i, v := range cell {
			c := tables.Condition{Column: q.columns[i], Values: []int{v}}
			l.values[i] = m.Values[q.columns[i]][v]
			where = append(where, c)
			if i > 0 {
				within = append(within, c)
			}
		}
		if l.Answer, err = m.Answer(where, within, level); err != nil {
			return nil, fmt.Errorf("%s: %w", q.text, err)
		}
		lines = append(lines, l)
		// The first column moves fastest.
		at := 0
		for ; at < len(cell); at++ {
			if cell[at]++; cell[at] < sizes[q.columns[at]] {
				break
			}
			cell[at] = 0
		}
		if at == len(cell) {
			return lines, nil
		}
	}
}
