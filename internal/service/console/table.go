package console

import (
	"cmp"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
)

// grouper puts cells of a released table together.
type grouper interface {
	Group(cells []int, level float64) (count, share estimate.Value, low, high float64, ok bool)
}

// table is one attribute in one crowd.
type table struct {
	Attribute, Crowd string
	Respondents      int // 0: not known
	counts           []sheets.ValueCount
	group            grouper // nil: cells cannot be put together
	ordered          bool    // cells are steps of a number
	sums             bool    // every respondent holds one value
}

// tabled sorts the counts of a release by attribute and crowd.
func (r *released) tabled(groups [][]*results.Tabled) [][]table {
	var all [][]table
	at := map[string]int{}
	for _, n := range r.counts {
		i, there := at[n.Attribute]
		if !there {
			i = len(all)
			at[n.Attribute], all = i, append(all, nil)
		}
		k := slices.IndexFunc(all[i], func(t table) bool { return t.Crowd == n.Crowd })
		if k < 0 {
			k, all[i] = len(all[i]), append(all[i], table{Attribute: n.Attribute, Crowd: n.Crowd})
		}
		all[i][k].counts = append(all[i][k].counts, n)
	}
	for _, row := range groups {
		for _, t := range row {
			if t == nil {
				continue
			}
			crowds := all[at[t.Attribute]] // tables are made of the counts, so that it is there
			one := &crowds[slices.IndexFunc(crowds, func(c table) bool { return c.Crowd == t.Crowd })]
			one.Respondents, one.group, one.ordered, one.sums = t.Respondents, t, t.Ordered, t.Whole
		}
	}
	return all
}

// lists reports whether two tables are of the same values, in the same order: what an analyzer
// serves need not be what it should.
func (t table) lists(other table) bool {
	return slices.EqualFunc(t.counts, other.counts, func(a, b sheets.ValueCount) bool { return a.Value == b.Value })
}

// order lists the cells of a table as they are drawn: a number's steps as they follow each
// other, all else by estimate.
func (t table) order(most int) []int {
	cells := make([]int, len(t.counts))
	for i := range cells {
		cells[i] = i
	}
	if !t.ordered || len(cells) > most {
		slices.SortStableFunc(cells, func(a, b int) int { return cmp.Compare(t.counts[b].Estimate, t.counts[a].Estimate) })
	}
	return cells[:min(most, len(cells))]
}

// answer returns a release in a sentence or two, as its page says it.
func (r *released) answer() string { return page.Answer(r.Release) }
