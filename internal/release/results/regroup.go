package results

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// Tabled is a released attribute in one crowd, whose cells can be put together.
type Tabled struct {
	Attribute   string
	Crowd       string // as the counts name it; "" where there is one
	Respondents int
	Ordered     bool   // cells are steps of a number
	Whole       bool   // every respondent holds exactly one cell
	Asks        string // the attribute as the plan has it, but for arms: counts of equal ones mean the same
	Arms        []string
	Outcomes    []string // of each arm, in the first cells
	table       *histogram.Table
}

// Group is histogram.Table.Group: how many hold one of the cells, and what share that is of all
// who hold any, with its interval. ok is false where the error of a sum is not known.
func (t Tabled) Group(cells []int, level float64) (count, share estimate.Value, low, high float64, ok bool) {
	return t.table.Group(cells, level)
}

// Weigh returns a sum of all cells, each by its weight (histogram.Table.Weigh). ok is false where its error is not known.
func (t Tabled) Weigh(weights []float64) (sum estimate.Value, ok bool) { return t.table.Weigh(weights) }

// AtOnce returns in how many respondents each cell lies, for all cells at once with a probability: the ends of a release's
// counts at another level.
func (t Tabled) AtOnce(level float64) [][2]float64 {
	cells := make([]int, len(t.table.Values))
	for i := range cells {
		cells[i] = i
	}
	return t.table.IntervalsAtOnce(cells, level)
}

// Tables returns the released tables of a plan's attributes, put together from the counts that
// stand beside its release, by attribute and then by crowd; nil where a crowd was withheld. Their
// cells can be regrouped, which costs no privacy. The counts must be those of all cells.
func Tables(p plan.Plan, r release.Release, counts []sheets.ValueCount) ([][]*Tabled, error) {
	if p.Question.Histogram == nil {
		return nil, fmt.Errorf("results: a question of kind %s has no tables of counts", p.Question.Kind)
	}
	q, err := histogram.New(p)
	if err != nil {
		return nil, err
	}
	type table struct{ attribute, crowd string }
	values := map[table][]estimate.Value{}
	for _, c := range counts {
		at := table{c.Attribute, c.Crowd}
		values[at] = append(values[at], estimate.Value{Mean: c.Estimate, StdErr: c.StdErr})
	}
	names := p.Crowd.Names
	if len(names) < 2 { // as the counts have it
		names = []string{""}
	}
	respondents := counted(r, names)
	var all [][]*Tabled
	for i, a := range p.Question.Histogram.Attributes {
		arms, outcomes := a.Arms, a.Outcomes
		a.Arms, a.Outcomes = nil, nil
		asks, err := json.Marshal(a)
		if err != nil {
			return nil, err
		}
		row := make([]*Tabled, len(names))
		for crowd, name := range names {
			if cells, there := values[table{a.Name, name}]; there {
				t, err := q.Released(crowd, i, respondents[crowd], cells)
				if err != nil {
					return nil, err
				}
				row[crowd] = &Tabled{a.Name, name, respondents[crowd], a.Kind == "buckets", t.Total(), string(asks), arms, outcomes, t}
			}
		}
		all = append(all, row)
	}
	return all, nil
}

// counted reads how many respondents of each crowd a release counts; 0 of one that it
// withholds.
func counted(r release.Release, names []string) []int {
	n := make([]int, len(names))
	if len(names) == 1 {
		if i := slices.IndexFunc(r.Headline, func(m release.Metric) bool { return m.Name == respondentsMetric }); i >= 0 {
			n[0] = int(r.Headline[i].Value)
		}
		return n
	}
	for _, s := range r.Sections {
		if s.Name != crowdsSection || len(s.Tables) == 0 {
			continue
		}
		for _, row := range s.Tables[0].Rows {
			if i := slices.Index(names, row[0].Key); i >= 0 && row[1].Value != nil {
				n[i] = int(*row[1].Value)
			}
		}
	}
	return n
}
