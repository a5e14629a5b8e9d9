package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// What a release shows of a histogram.
const (
	level         = 0.95 // of intervals
	discoveryRate = 0.05 // share of listed heavy hitters that nobody holds, in expectation
	tableRows     = 50
	figureBars    = 20
	figureBuckets = 40
	listItems     = 100
	truthColumn   = "truth" // of a simulation

	respondentsMetric = "respondents"
	crowdsTitle       = "Crowds"
)

// answers is a histogram's model with the truth beside it, where that is known.
type answers struct {
	*histogram.Model
	tables []*table
}

type table struct {
	*histogram.Table
	truth *TableTruth
}

func newAnswers(m *histogram.Model, truth *Truth) *answers {
	a := &answers{Model: m}
	for _, t := range m.Tables {
		a.tables = append(a.tables, &table{t, truth.Table(t.Crowd, t.Attribute)})
	}
	return a
}

// describeAll states, for each attribute of each crowd, the largest cells with their
// errors, which cells somebody holds, the distribution of numbers, and how far
// malicious devices could have moved it. Of the public data it takes the groups.
func (m *answers) describeAll(public Public) ([]release.Metric, []release.Section, error) {
	total := 0
	for _, n := range m.Respondents {
		total += n
	}
	headline := []release.Metric{{Name: respondentsMetric, Label: "Respondents counted", Value: float64(total), Unit: release.Count}}
	var sections []release.Section
	if len(m.Respondents) > 1 {
		sections = append(sections, m.crowds())
	}
	for _, t := range m.tables {
		metrics, section, err := m.describe(t)
		if err != nil {
			return nil, nil, err
		}
		headline, sections = append(headline, metrics...), append(sections, section)
	}
	groups, err := m.groups(public.Groups)
	return headline, append(sections, groups...), err
}

// key names a table's metrics and figures: by attribute, and by crowd if there are several.
func (m *answers) key(t *table, name, separator string) string {
	if len(m.Respondents) > 1 {
		name = fmt.Sprintf("crowd%s%d%s%s", separator, t.Crowd+1, separator, name)
	}
	if len(m.Attributes) > 1 {
		name = fmt.Sprintf("attribute%s%d%s%s", separator, t.Attribute+1, separator, name)
	}
	return name
}

// crowdName returns what a release calls a crowd, where there are several.
func (m *answers) crowdName(crowd int) string { return fmt.Sprintf("crowd %q", m.Crowds[crowd]) }

// names returns those of cells, in order.
func names(t *table, cells []int) []string {
	all := make([]string, len(cells))
	for i, c := range cells {
		all[i] = t.Name(c)
	}
	return all
}

func (m *answers) title(t *table) string {
	if len(m.Respondents) > 1 {
		return fmt.Sprintf("%s, %s", t.Asked.Name, m.crowdName(t.Crowd))
	}
	return t.Asked.Name
}

func (m *answers) describe(t *table) ([]release.Metric, release.Section, error) {
	s := release.Section{Title: m.title(t), Text: "Estimates are unbiased, so that one of a cell that nobody holds is below zero as often as above. Errors are those of the noise, not of choosing respondents."}
	top := t.Top(tableRows)
	table, err := m.largest(t, top)
	if err != nil {
		return nil, s, err
	}
	s.Tables = append(s.Tables, table)
	if t.Asked.Kind == "grid" { // whose cells are told apart by where they lie, not by name
		s.Figures = append(s.Figures, m.places(t))
	} else {
		s.Figures = append(s.Figures, m.bars(t, top))
	}
	largest := t.IntervalsAtOnce(top[:1], level)[0]
	headline := []release.Metric{{
		Name: m.key(t, "largest", "_"), Label: fmt.Sprintf("Respondents who hold %q, the largest estimate of %s", t.Name(top[0]), m.title(t)),
		Value: t.Values[top[0]].Mean, StdErr: t.Values[top[0]].StdErr, Low: largest[0], High: largest[1], Level: level, Among: len(t.Values),
		Truth: t.truth.count(top[0]), Unit: release.Count,
	}}
	if hitters, ok := t.HeavyHitters(discoveryRate); ok {
		found := release.Metric{
			Name: m.key(t, "heavy_hitters", "_"), Label: fmt.Sprintf("Values of %s found to be held by somebody", m.title(t)), Value: float64(len(hitters)), Unit: release.Count,
			Note: fmt.Sprintf("false-discovery rate at most %s", release.Percent(discoveryRate)),
		}
		if t.truth != nil {
			held := 0.0
			for _, n := range t.truth.Counts {
				held += math.Min(1, float64(n))
			}
			found.Truth = &held
		}
		headline = append(headline, found)
		if len(hitters) > 0 {
			s.Lists = append(s.Lists, m.list(t, hitters))
		}
	} else {
		s.Text += " There is no list of values that somebody holds: nothing is proved about the far tails of this mechanism's errors."
	}
	if t.Asked.Kind == "grid" && t.Independent() {
		s.Tables = append(s.Tables, marginals(t)...)
	}
	if t.Asked.Kind == "buckets" && t.Independent() {
		if err := distribution(m, t, &s); err != nil {
			return nil, s, err
		}
	}
	if poisoning, ok := m.poisoning(t); ok {
		s.Tables = append(s.Tables, poisoning)
	}
	return headline, s, nil
}

// crowds returns the numbers of respondents.
func (m *answers) crowds() release.Section {
	t := release.Table{Title: "Respondents by crowd", Columns: []release.Column{{Label: "crowd"}, {Label: "respondents", Unit: release.Count}}}
	if m.Deleted {
		t.Note = "Randomized deletion keeps the sizes of crowds private: these numbers are smaller than the true ones by a random amount."
	}
	for crowd, n := range m.Respondents {
		cell := release.Number(float64(n), 0)
		if n == 0 {
			cell = release.Text("withheld")
		}
		t.Rows = append(t.Rows, []release.Cell{release.Text(m.Crowds[crowd]), cell})
	}
	return release.Section{Title: crowdsTitle, Tables: []release.Table{t}}
}

// largest lists cells with their errors.
func (m *answers) largest(t *table, cells []int) (release.Table, error) {
	consistent, err := t.Consistent()
	if err != nil {
		return release.Table{}, err
	}
	out := release.Table{
		Title:   fmt.Sprintf("The %d largest of %d", len(cells), len(t.Values)),
		Columns: []release.Column{{Label: "value"}, {Label: "respondents", Unit: release.Count}, {Label: release.Percent(level) + ", all at once", Unit: release.Count}},
		Note:    fmt.Sprintf("The intervals hold the numbers of all %d values together with probability %s, and so those of whatever values are picked for their estimates, as these were. The column consistent is not below zero", len(t.Values), release.Percent(level)),
	}
	switch {
	case t.Total():
		out.Note += " and sums to the respondents over all values"
	case t.Asked.Items() == 1:
		out.Note += " and sums to no more than the respondents over all values"
	}
	out.Note += "; it is biased, and has no error of its own."
	if !t.Exact() {
		out.Note += " Intervals are those of the normal law."
	}
	if t.truth != nil {
		out.Columns = append(out.Columns, release.Column{Label: truthColumn, Unit: release.Count})
	}
	out.Columns = append(out.Columns, release.Column{Label: "consistent", Unit: release.Count})
	all := t.IntervalsAtOnce(cells, level)
	for i, cell := range cells {
		v := t.Values[cell]
		row := []release.Cell{release.Text(t.Name(cell)), release.Number(v.Mean, v.StdErr), release.Interval(all[i][0], all[i][1])}
		if n := t.truth.count(cell); n != nil {
			row = append(row, release.Number(*n, 0))
		}
		out.Rows = append(out.Rows, append(row, release.Number(consistent[cell], 0)))
	}
	return out, nil
}

// bars shows the largest cells, or all of a number's buckets in their order where
// there is room.
func (m *answers) bars(t *table, cells []int) release.Figure {
	what := "The most frequent values of %s"
	if t.Asked.Kind == "buckets" && len(cells) == len(t.Values) && len(cells) <= figureBuckets {
		what, cells = "Respondents by %s", slices.Sorted(slices.Values(cells))
	} else {
		cells = cells[:min(figureBars, len(cells))]
	}
	f := release.Figure{
		Name: m.key(t, "top", "-"), Kind: release.Bars, Title: fmt.Sprintf(what+", with %s intervals of all %d at once", m.title(t), release.Percent(level), len(t.Values)),
		Alt: fmt.Sprintf("Estimated respondents for each of %d values of %s, with %s intervals that hold for all %d values at once.", len(cells), m.title(t), release.Percent(level), len(t.Values)),
		X:   release.Axis{Label: t.Asked.Name}, Y: release.Axis{Label: "respondents"},
		Categories: names(t, cells),
	}
	s := release.Series{Label: "estimate"}
	for i, ends := range t.IntervalsAtOnce(cells, level) {
		mean := t.Values[cells[i]].Mean
		s.Y, s.Low, s.High = append(s.Y, mean), append(s.Low, ends[0]), append(s.High, ends[1])
		if n := t.truth.count(cells[i]); n != nil {
			s.Truth = append(s.Truth, *n)
		}
	}
	f.Series = []release.Series{s}
	return f
}

func (m *answers) list(t *table, hitters []int) release.List {
	out := release.List{
		Title: fmt.Sprintf("Values of %s found to be held by somebody", m.title(t)), Level: level, Among: len(t.Values),
		Note: fmt.Sprintf("Of the whole list at most %s are held by nobody, in expectation over the noise (Benjamini and Hochberg).", release.Percent(discoveryRate)),
	}
	if !t.Independent() {
		out.Note = fmt.Sprintf("Of the whole list at most %s are held by nobody, in expectation over the noise, however the errors are correlated (Benjamini and Yekutieli).", release.Percent(discoveryRate))
	}
	if len(hitters) > listItems {
		out.Note += fmt.Sprintf(" The first %d of %d are shown.", listItems, len(hitters))
		hitters = hitters[:listItems]
	}
	for i, ends := range t.IntervalsAtOnce(hitters, level) {
		v := t.Values[hitters[i]]
		out.Items = append(out.Items, release.Item{Label: t.Name(hitters[i]), Score: v.Mean, StdErr: v.StdErr, Low: ends[0], High: ends[1], Truth: t.truth.count(hitters[i])})
	}
	return out
}

// poisoned are the shares of malicious devices that a release speaks of: one in so many.
var poisoned = []int{10_000, 1000, 100}

func (m *answers) poisoning(t *table) (release.Table, bool) {
	out := release.Table{
		Title:   "How far malicious devices could move any one of these estimates",
		Columns: []release.Column{{Label: "malicious"}, {Label: "devices", Unit: release.Count}, {Label: "up, respondents", Unit: release.Count}, {Label: "down, respondents", Unit: release.Count}},
		Note:    "A device that keeps to no protocol may put all its envelopes into one cell, and nobody can tell: that is the price of fragments that cannot be linked.",
	}
	switch most, ok := m.Proved(); {
	case ok && most > 1:
		out.Note = fmt.Sprintf("A device proves to both aggregators that each of its numbers is one that a cell and its noise may have, so that it moves each cell by %d respondents at most: what proves nothing is not added up. The proof does not say that the report is true, or that the noise was drawn.", most)
	case ok:
		out.Note = "A device proves to both aggregators that what it sends is one report's, so that it moves each cell by one report at most: what proves nothing is not added up. The proof does not say that the report is true."
	}
	for _, oneIn := range poisoned {
		devices := (t.Respondents + oneIn - 1) / oneIn
		down, up, ok := m.Poisoned(t.Table, devices)
		if !ok {
			return out, false
		}
		out.Rows = append(out.Rows, []release.Cell{release.Text("one in " + release.FormatNumber(float64(oneIn))), release.Number(float64(devices), 0), release.Number(up, 0), release.Number(down, 0)})
	}
	return out, true
}
