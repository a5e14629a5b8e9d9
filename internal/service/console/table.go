package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
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

// share returns a count as a share of the table's respondents.
func (t table) share(x float64) float64 { return x / float64(max(1, t.Respondents)) }

// possible returns an estimate, or the end of its interval where noise took it beyond what can be true: a
// number for whoever reads one and no more. It is biased, as all that is cut off.
func possible(n sheets.ValueCount) float64 { return min(max(n.Estimate, n.LowAll), n.HighAll) }

// maxAnswers is of how many crowds that line speaks.
const maxAnswers = 3

// answer returns a release in one line.
func (r *released) answer() string {
	var all []string
	if len(r.tables) > 0 {
		crowds := r.tables[0]
		for _, t := range crowds[:min(maxAnswers, len(crowds))] {
			one := t.answer()
			if t.Crowd != "" {
				one = t.Crowd + ": " + one
			}
			all = append(all, one)
		}
		if more := len(crowds) - maxAnswers; more > 0 {
			all = append(all, fmt.Sprintf("And %d crowds more.", more))
		}
		return strings.Join(all, " ")
	}
	for _, m := range r.Headline[:min(2, len(r.Headline))] {
		all = append(all, m.Label+": "+m.String())
	}
	return strings.Join(all, "; ")
}

// answer says which value is held most, if that can be told.
func (t table) answer() string {
	if len(t.counts) == 0 {
		return ""
	}
	first := slices.MaxFunc(t.counts, func(a, b sheets.ValueCount) int { return cmp.Compare(a.Estimate, b.Estimate) })
	rival := sheets.ValueCount{HighAll: math.Inf(-1)} // whoever may have the most of the others
	for _, n := range t.counts {
		if n.Value != first.Value && n.HighAll > rival.HighAll {
			rival = n
		}
	}
	if rival.HighAll >= first.LowAll {
		return fmt.Sprintf("“%s” leads with about %s, but not surely: “%s” may have as many.", first.Value, people(possible(first)), rival.Value)
	}
	if t.Respondents > 0 {
		return fmt.Sprintf("“%s” leads, with about %s of %s (%s).", first.Value, people(possible(first)), people(float64(t.Respondents)), share(t.share(possible(first))))
	}
	return fmt.Sprintf("“%s” leads, with about %s.", first.Value, people(possible(first)))
}
