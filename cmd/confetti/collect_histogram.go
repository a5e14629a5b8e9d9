package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// collectHistogram are the flags of a histogram of one's own table.
type collectHistogram struct {
	CSV    string   `name:"csv" help:"Table: a line of column names, then one line a respondent." type:"path" placeholder:"FILE"`
	Column []string `help:"Column to count; several are several questions." sep:"none" placeholder:"NAME"`
	Crowd  string   `help:"Column that names the respondent's crowd, which is public; each crowd has its own release." placeholder:"NAME"`
	histogramFlags
}

// checkHistogram is of the flags by themselves, before anything is read.
func (c collectSimulate) checkHistogram() error {
	errs := []error{checkBudget(c.Epsilon, c.Delta), c.histogramFlags.check(), c.checkAccounting(c.Accounting)}
	if len(c.Column) == 0 {
		errs = append(errs, usagef("--csv needs the columns to count: --column NAME, one or more"))
	}
	for i, name := range c.Column {
		if slices.Contains(c.Column[:i], name) {
			errs = append(errs, usagef("--column %s is given twice", name))
		}
	}
	if c.Crowd == "" && c.CrowdEpsilon != 0 {
		errs = append(errs, usagef("--crowd-epsilon is of the sizes of crowds: name their column with --crowd"))
	}
	if c.Minimum < 0 || c.Minimum > plan.MaxCrowd {
		errs = append(errs, usagef("--minimum is %d: give 1 to %d respondents, or 0 for the smallest crowd there is", c.Minimum, plan.MaxCrowd))
	}
	if c.Out != "" {
		errs = append(errs, writable(c.Out))
	}
	return errors.Join(errs...)
}

// runHistogram counts columns of a table.
func (c collectSimulate) runHistogram(std streams) error {
	if err := c.checkHistogram(); err != nil {
		return err
	}
	attributes, err := c.attributes(c.Column)
	if err != nil {
		return err
	}
	t, err := c.readTable(attributes)
	if err != nil {
		return err
	}
	for _, note := range t.notes {
		fmt.Fprintln(std.err, "note: "+note)
	}
	h := c.histogram(attributes, c.Accounting)
	h.Crowds = t.crowds
	s := experiments.Survey{
		Title:        fmt.Sprintf("%s of the respondents in %s", strings.Join(c.Column, ", "), filepath.Base(c.CSV)),
		Histogram:    h,
		Budget:       plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: c.adjacency()},
		Minimum:      c.Minimum,
		CrowdEpsilon: c.CrowdEpsilon,
		Instances:    1, Hops: 2, Suite: "x25519",
		Full: c.full(), Seed: c.Seed,
	}
	report, finish := progress(std.err)
	out, err := s.Run(filepath.Base(c.CSV), t.respondents, report)
	finish()
	if err != nil {
		return inDomain(err)
	}
	out.Release.Notes = append(out.Release.Notes, t.notes...)
	if out.Choice != "" {
		fmt.Fprintln(std.err, "note: "+out.Choice)
		out.Release.Notes = append(out.Release.Notes, "Of the ways to ask several columns: "+out.Choice)
	}
	if c.Out != "" {
		if err := c.save(std, out.Release, out.Plan); err != nil {
			return err
		}
	}
	if c.JSON {
		return writeJSON(std.out, out.Result)
	}
	return showSurvey(std.out, out)
}

// showSurvey prints what was found, and its figures as far as text has them.
func showSurvey(w io.Writer, s experiments.Surveyed) error {
	r := s.Result
	rows := []string{
		fmt.Sprintf("devices              %d", r.Devices),
		fmt.Sprintf("error of a count     %.4g respondents (root mean square over %d cells; largest %.4g)", r.RMSE, r.Cells, r.Linf),
		"shuffler honest      " + epsilonText(r.EpsilonCentral) + fmt.Sprintf(" at delta %g (%s adjacency; %s)", r.Delta, r.Adjacency, r.Method),
		"everyone colludes    " + epsilonText(r.EpsilonLocal),
		"one fragment seen    " + epsilonText(r.EpsilonOneFragment),
		fmt.Sprintf("messages per device  %.4g, with dummies %d", r.MessagesPerDevice, r.EnvelopesPerDevice),
		fmt.Sprintf("bytes per device     %d", r.BytesPerDevice),
	}
	for _, withheld := range r.Withheld {
		rows = append(rows, "withheld             "+withheld)
	}
	rows = append(rows, fmt.Sprintf("seconds              %.1f", r.Seconds))
	if _, err := fmt.Fprintln(w, strings.Join(rows, "\n")); err != nil {
		return err
	}
	for _, section := range s.Release.Sections {
		for _, f := range section.Figures {
			if err := release.ShowFigure(w, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// epsilonText is an epsilon, nil if there is none.
func epsilonText(epsilon *float64) string {
	if epsilon == nil {
		return "no guarantee"
	}
	return fmt.Sprintf("epsilon %.4g", *epsilon)
}

// answersTable is what respondents answer.
type answersTable struct {
	respondents []protocol.Answers
	crowds      []string
	notes       []string // where the data stood in for what has to be declared
}

// readTable reads the columns, and gives the attributes without a domain the values
// that are there.
func (c collectHistogram) readTable(attributes []plan.Attribute) (*answersTable, error) {
	names := c.Column
	if c.Crowd != "" {
		names = append(slices.Clone(names), c.Crowd)
	}
	columns, err := dataset.ReadColumns(c.CSV, names...)
	if err != nil {
		return nil, err
	}
	t := &answersTable{respondents: make([]protocol.Answers, len(columns.Lines))}
	at := 0
	for i := range attributes {
		a := &attributes[i]
		answers, err := t.answers(a, columns, at)
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
		t.crowds = distinct(columns.Values[at])
		number := index(t.crowds)
		for row, name := range columns.Values[at] {
			t.respondents[row].Crowd = number[name]
		}
		t.note("the crowds were taken from column %q (%d of them)", c.Crowd, len(t.crowds))
	}
	return t, nil
}

func (t *answersTable) note(format string, a ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, a...)+": in a real collection they are public, and declared before anybody is asked.")
}

// answers are those to one attribute, by row, from its columns that begin at number at.
func (t *answersTable) answers(a *plan.Attribute, columns *dataset.Columns, at int) (func(row int) any, error) {
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
	case "prefixes":
		if len(a.Values) == 0 {
			return nil, usagef("--kind prefixes counts declared beginnings of strings: name a file of candidates with --domain")
		}
		return func(row int) any { return values[row] }, nil
	case "set":
		return t.sets(a, columns, at)
	}
	if len(a.Values) == 0 {
		a.Values = distinct(values)
		t.note("the values of column %q were taken from the data (%d of them)", a.Name, len(a.Values))
	}
	if err := inside(a, columns, at, func(row int) []string { return values[row : row+1] }); err != nil {
		return nil, err
	}
	return func(row int) any { return values[row] }, nil
}

func (t *answersTable) sets(a *plan.Attribute, columns *dataset.Columns, at int) (func(row int) any, error) {
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
	if a.Most == 0 {
		a.Most = min(largest, plan.MaxItems)
		t.note("the most items of a set in column %q were taken from the data (%d)", a.Name, a.Most)
	}
	for row, set := range sets {
		if len(set) > a.Most {
			return nil, fmt.Errorf("line %d, column %q is a set of %d items, and a device reports at most %d: raise --most", columns.Lines[row], a.Name, len(set), a.Most)
		}
	}
	return func(row int) any { return sets[row] }, inside(a, columns, at, func(row int) []string { return sets[row] })
}

// inside checks that all that respondents hold is declared, or counted among others.
func inside(a *plan.Attribute, columns *dataset.Columns, at int, held func(row int) []string) error {
	if a.Others {
		return nil
	}
	declared := index(a.Values)
	for row, line := range columns.Lines {
		for _, v := range held(row) {
			if _, ok := declared[v]; !ok {
				return fmt.Errorf("line %d, column %q is outside the declared domain: declare it with --domain, or set --others", line, columns.Names[at])
			}
		}
	}
	return nil
}

func distinct(values []string) []string { return slices.Sorted(maps.Keys(index(values))) }

// index is where each value stands, the last place of several.
func index(values []string) map[string]int {
	at := make(map[string]int, len(values))
	for i, v := range values {
		at[v] = i
	}
	return at
}
