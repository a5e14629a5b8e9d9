package results

import (
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
	rowsMetric        = "rows" // of a table, where their number is private: what noisy counts add up to
	crowdsSection     = "crowds"
)

// answers is a histogram's model with the truth beside it, where that is known.
type answers struct {
	*histogram.Model
	tables []*tabulated
}

type tabulated struct {
	*histogram.Table
	truth *TableTruth
}

func newAnswers(m *histogram.Model, truth *Truth) *answers {
	a := &answers{Model: m}
	for _, t := range m.Tables {
		a.tables = append(a.tables, &tabulated{t, truth.Table(t.Crowd, t.Attribute)})
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
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(total)}}
	if m.Rows != nil {
		headline = nil
		if m.Rows.StdErr > 0 {
			headline = []release.Metric{{Name: rowsMetric, Value: m.Rows.Mean, StdErr: m.Rows.StdErr}}
		}
	}
	if course := m.Course(); course != nil {
		metrics, section := m.course(course, public.Truth)
		return append(headline, metrics...), []release.Section{section}, nil
	}
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

// key names a table's metrics, sections and figures.
func (m *answers) key(t *tabulated, name, separator string) string {
	return place{len(m.Attributes), len(m.Respondents), t.Attribute, t.Crowd}.key(name, separator)
}

// names returns those of cells, in order.
func names(t *tabulated, cells []int) []string {
	all := make([]string, len(cells))
	for i, c := range cells {
		all[i] = t.Name(c)
	}
	return all
}

func (m *answers) describe(t *tabulated) ([]release.Metric, release.Section, error) {
	s := release.Section{Name: m.key(t, "answers", "-")}
	if t.Asked.Kind == "mean" {
		return m.average(t), s, nil
	}
	if len(t.Values) == 0 { // nobody declared any, and none passed
		return nil, s, nil
	}
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
		Name: m.key(t, "largest", "_"), Key: t.Name(top[0]),
		Value: t.Values[top[0]].Mean, StdErr: t.Values[top[0]].StdErr, Low: largest[0], High: largest[1], Level: level, Among: t.AtOnce(),
		Truth: t.truth.count(top[0]),
	}}
	if hitters, ok := t.HeavyHitters(discoveryRate); ok {
		found := release.Metric{Name: m.key(t, "heavy_hitters", "_"), Value: float64(len(hitters))}
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

// average returns the mean of an attribute that asks for one; none where noise is all that there is.
func (m *answers) average(t *tabulated) []release.Metric {
	mean, low, high, ok := t.Average(level)
	if !ok {
		return nil
	}
	among := t.AtOnce()
	if among == 1 {
		among = 0
	}
	return []release.Metric{{Name: m.key(t, "average", "_"), Value: mean.Mean, StdErr: mean.StdErr, Low: low, High: high, Level: level, Among: among}}
}

// crowds returns the numbers of respondents.
func (m *answers) crowds() release.Section {
	t := release.Table{Name: crowdsSection}
	for crowd, n := range m.Respondents {
		cell := release.Number(float64(n), 0)
		if n == 0 { // it was withheld
			cell = release.Cell{}
		}
		t.Rows = append(t.Rows, []release.Cell{release.Named(m.Crowds[crowd]), cell})
	}
	return release.Section{Name: crowdsSection, Tables: []release.Table{t}}
}

// largest lists cells with their errors.
func (m *answers) largest(t *tabulated, cells []int) (release.Table, error) {
	consistent, err := t.Consistent()
	if err != nil {
		return release.Table{}, err
	}
	out := release.Table{Name: "largest"}
	all := t.IntervalsAtOnce(cells, level)
	for i, cell := range cells {
		v := t.Values[cell]
		row := []release.Cell{release.Named(t.Name(cell)), release.Number(v.Mean, v.StdErr), release.Interval(all[i][0], all[i][1])}
		if n := t.truth.count(cell); n != nil {
			row = append(row, release.Number(*n, 0))
		}
		out.Rows = append(out.Rows, append(row, release.Number(consistent[cell], 0)))
	}
	return out, nil
}

// bars shows the largest cells, or all of a number's buckets in their order where
// there is room.
func (m *answers) bars(t *tabulated, cells []int) release.Figure {
	if t.Asked.Kind == "buckets" && len(cells) == len(t.Values) && len(cells) <= figureBuckets {
		cells = slices.Sorted(slices.Values(cells))
	} else {
		cells = cells[:min(figureBars, len(cells))]
	}
	f, s := release.Figure{Name: m.key(t, "top", "-"), Categories: names(t, cells)}, release.Series{}
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

// list returns the cells that somebody holds.
func (m *answers) list(t *tabulated, hitters []int) release.List {
	out := release.List{Name: "held", Level: level, Among: t.AtOnce()}
	hitters = hitters[:min(len(hitters), listItems)]
	for i, ends := range t.IntervalsAtOnce(hitters, level) {
		v := t.Values[hitters[i]]
		out.Items = append(out.Items, release.Item{Key: t.Name(hitters[i]), Score: v.Mean, StdErr: v.StdErr, Low: ends[0], High: ends[1], Truth: t.truth.count(hitters[i])})
	}
	return out
}

// poisoned are the shares of malicious devices that a release speaks of: one in so many.
var poisoned = []int{10_000, 1000, 100}

// poisoning returns how far such devices could move an estimate.
func (m *answers) poisoning(t *tabulated) (release.Table, bool) {
	out := release.Table{Name: "poisoning"}
	for _, oneIn := range poisoned {
		devices := (t.Respondents + oneIn - 1) / oneIn
		down, up, ok := m.Poisoned(t.Table, devices)
		if !ok {
			return out, false
		}
		out.Rows = append(out.Rows, []release.Cell{release.Number(float64(oneIn), 0), release.Number(float64(devices), 0), release.Number(up, 0), release.Number(down, 0)})
	}
	return out, true
}
