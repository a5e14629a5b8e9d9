package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/release"
)

// shownCells bounds the cells of all tables of a release's page; the strongest pairs come first.
const shownCells = 20_000

// pairName returns how a release names two columns together, or two values.
func pairName(a, b string) string { return a + " by " + b }

// describeTable states how strongly columns go together, and the table of each pair.
func describeTable(m *table.Model, public Public) ([]release.Metric, []release.Section, error) {
	headline := []release.Metric{{Name: respondentsMetric}}
	if m.Sums == nil {
		return headline, nil, nil
	}
	s := m.Sums
	headline[0].Value = float64(s.Respondents)
	heat := release.Table{Name: "association"}
	for i, c := range m.Asked.Columns {
		heat.Rows = append(heat.Rows, []release.Cell{release.Named(c.Name)})
		for j := range m.Asked.Columns {
			v := 0.0
			if i != j {
				v = math.Ceil(1000*s.Guess(min(i, j), max(i, j)).Association) / 1000 // more digits are noise; what is told stays above 0
			}
			heat.Rows[i] = append(heat.Rows[i], release.Number(v, 0))
		}
	}
	pairs := strongest(s)
	told := 0.0
	for _, p := range pairs {
		if s.Guess(p[0], p[1]).Association > 0 {
			told++
		}
	}
	headline = append(headline, release.Metric{Name: "associated", Value: told})
	off, guessed := 0.0, 0.0 // from the truth, of tables as shares
	sections := []release.Section{{Name: "association", Metrics: []release.Metric{{Name: "sum_error", Value: s.Error}, {Name: "cells_at_once", Value: s.Quantile(level)}}, Tables: []release.Table{heat}}}
	cells := 0
	for _, p := range pairs {
		a, b := p[0], p[1]
		guess := s.Guess(a, b).Table
		if truth := public.Truth.pair(s.Pair(a, b)); truth != nil {
			for i, x := range s.Table(a, b) {
				off += math.Abs(x-truth[i]) / 2 / float64(s.Respondents*len(pairs))
				guessed += math.Abs(guess[i]-truth[i]) / 2 / float64(s.Respondents*len(pairs))
			}
		}
		if cells += len(guess); cells > shownCells {
			continue
		}
		sections = append(sections, pairSection(m, a, b))
	}
	if public.Truth.pair(0) != nil {
		sections[0].Metrics = append(sections[0].Metrics, release.Metric{Name: "off", Value: guessed}, release.Metric{Name: "off_raw", Value: off})
	}
	return headline, sections, nil
}

// strongest returns all pairs of columns, those that tell most of each other first.
func strongest(s *tables.Sums) (pairs [][2]int) {
	for a, b := range s.Pairs {
		pairs = append(pairs, [2]int{a, b})
	}
	slices.SortStableFunc(pairs, func(x, y [2]int) int {
		return cmp.Compare(s.Guess(y[0], y[1]).Association, s.Guess(x[0], x[1]).Association)
	})
	return pairs
}

// pairSection has the table of two columns: best guesses, and ranges that hold for all cells of the release at once.
func pairSection(m *table.Model, a, b int) release.Section {
	s := m.Sums
	rows, columns := table.Values(m.Asked.Columns[a]), table.Values(m.Asked.Columns[b])
	guess, raw, half := s.Guess(a, b), s.Table(a, b), s.Quantile(level)*s.CellError(a, b)
	best, ranges := release.Table{Name: "best"}, release.Table{Name: "ranges"}
	for i, name := range rows {
		best.Rows = append(best.Rows, []release.Cell{release.Named(name)})
		ranges.Rows = append(ranges.Rows, []release.Cell{release.Named(name)})
		for j := range columns {
			at := i*len(columns) + j
			best.Rows[i] = append(best.Rows[i], release.Number(guess.Table[at], 0))
			ranges.Rows[i] = append(ranges.Rows[i], release.Interval(bounds(raw[at], half, s.Respondents)))
		}
	}
	return release.Section{
		Name: "pair", Key: pairName(m.Asked.Columns[a].Name, m.Asked.Columns[b].Name),
		Metrics: []release.Metric{{Name: "strength", Value: guess.Association}, {Name: "cell_error", Value: s.CellError(a, b)}},
		Tables:  []release.Table{best, ranges},
	}
}

// bounds returns those of a count, which is none of fewer than nobody and of more than all.
func bounds(mean, half float64, n int) (low, high float64) {
	return min(float64(n), max(0, mean-half)), max(0, min(float64(n), mean+half))
}

// tableSheet lists how many hold each value, and each two together, in the plan's order: all that a release tells follows
// from it.
func tableSheet(m *table.Model, public Public) (Sheet, error) {
	var text bytes.Buffer
	err := sheets.WriteCounts(&text, tableCounts(m, public))
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, err
}

func tableCounts(m *table.Model, public Public) (all []sheets.ValueCount) {
	if m.Sums == nil {
		return nil
	}
	s := m.Sums
	atOnce := s.Quantile(level)
	add := func(attribute, value string, mean, err, guess float64, truth *float64) {
		c := sheets.ValueCount{Attribute: attribute, Value: value, Estimate: mean, StdErr: err, Consistent: guess, Truth: truth}
		c.Low, c.High = bounds(mean, single*err, s.Respondents)
		c.LowAll, c.HighAll = bounds(mean, atOnce*err, s.Respondents)
		all = append(all, c)
	}
	known := func(of []float64, i int) *float64 {
		if of == nil {
			return nil
		}
		return &of[i]
	}
	for a, c := range m.Asked.Columns {
		held, truth := s.Held(a), public.Truth.column(a)
		for i, v := range s.Column(a) {
			add(c.Name, table.Values(c)[i], v.Mean, v.StdErr, held[i], known(truth, i))
		}
	}
	for a, b := range s.Pairs {
		first, second := m.Asked.Columns[a], m.Asked.Columns[b]
		guess, truth := s.Guess(a, b).Table, public.Truth.pair(s.Pair(a, b))
		names := table.Values(second)
		for i, x := range s.Table(a, b) {
			add(pairName(first.Name, second.Name), pairName(table.Values(first)[i/len(names)], names[i%len(names)]), x, s.CellError(a, b), guess[i], known(truth, i))
		}
	}
	return all
}

// single is how many errors bound one count by itself, with 95 %.
const single = 1.959963984540054

// Crosstabs are what a release tells of every two columns.
type Crosstabs struct {
	*tables.Sums
	Columns []plan.Column
	Values  [][]string // names, by column
	record  func(held []any) ([]int, error)
}

// Record returns the number of each column's value of a row; ok is false of a value that is none of them.
func (t Crosstabs) Record(held []any) (record []int, ok bool) {
	record, err := t.record(held)
	return record, err == nil
}

// errNoTables says that a release is of another kind of question.
var errNoTables = errors.New("results: only a release of tables can be asked: confetti plan new table makes a plan of one")

// ReadTables returns what a release of a plan of tables tells, from the counts that stand beside it: asking of these costs
// nothing.
func ReadTables(p plan.Plan, r *release.Release, counts []byte) (Crosstabs, error) {
	if p.Question.Table == nil {
		return Crosstabs{}, errNoTables
	}
	counted, _ := metric(r, respondentsMetric)
	if n := counted.Value; !(n >= 0 && n <= account.MaxUsers) || n != math.Trunc(n) {
		return Crosstabs{}, fmt.Errorf("results: the release says that %v people were counted: it is damaged, fetch it again", n)
	}
	m, err := tablesAgain(p, int(counted.Value), counts)
	if err == nil && m.Sums == nil {
		err = errors.New("results: nothing was released: too few answered")
	}
	if err != nil {
		return Crosstabs{}, err
	}
	q, err := table.New(p)
	if err != nil {
		return Crosstabs{}, err
	}
	t := Crosstabs{Sums: m.Sums, Columns: m.Asked.Columns, record: q.Record}
	for _, c := range m.Asked.Columns {
		t.Values = append(t.Values, table.Values(c))
	}
	return t, nil
}

// tablesAgain returns what was learned, from the counts.
func tablesAgain(p plan.Plan, respondents int, counts []byte) (*table.Model, error) {
	q, err := table.New(p)
	if err != nil {
		return nil, err
	}
	m := &table.Model{Asked: *p.Question.Table}
	if respondents == 0 {
		return m, nil
	}
	if counts == nil {
		return nil, fmt.Errorf("results: %s is not here, from which tables follow: fetch the release again", sheets.CountsFile)
	}
	all, err := sheets.ReadCounts(bytes.NewReader(counts), MaxRows)
	if err != nil {
		return nil, err
	}
	blank := q.Known(respondents, make([]float64, q.Code().Numbers()), 1)
	want := tableCounts(&table.Model{Asked: m.Asked, Sums: blank}, Public{})
	if len(all) != len(want) {
		return nil, fmt.Errorf("results: %s has %d counts, and the plan's tables have %d", sheets.CountsFile, len(all), len(want))
	}
	sizes := q.Code().Sizes
	columns, pairs := make([][]float64, len(sizes)), make([][]float64, q.Code().Pairs())
	at := 0
	next := func(n int) (means []float64) {
		for range n {
			means = append(means, all[at].Estimate)
			at++
		}
		return means
	}
	for i, c := range all {
		if c.Attribute != want[i].Attribute || c.Value != want[i].Value {
			return nil, fmt.Errorf("results: row %d of %s is none that a release of this plan has there", i+2, sheets.CountsFile)
		}
	}
	for a, k := range sizes {
		columns[a] = next(k)
	}
	for a, b := range blank.Pairs {
		pairs[blank.Pair(a, b)] = next(sizes[a] * sizes[b])
	}
	scale := all[0].StdErr / want[0].StdErr // of what one number of error gives
	if !(scale > 0) {
		return nil, fmt.Errorf("results: %s states no error", sheets.CountsFile)
	}
	if q.Summed() { // the error follows from the plan, and is no estimate
		known, err := q.Learn([]tally.Crowd{{Tally: q.NewTally(), Respondents: respondents}})
		if err != nil {
			return nil, err
		}
		if off := scale/known.(*table.Model).Sums.Error - 1; !(math.Abs(off) < 1e-6) {
			return nil, fmt.Errorf("results: %s states other errors than the noise of the plan has", sheets.CountsFile)
		}
	}
	again, err := tables.Again(q.Code(), respondents, scale, columns, pairs)
	if err != nil {
		return nil, err
	}
	m.Sums = q.Known(respondents, again.Vector, scale)
	return m, nil
}
