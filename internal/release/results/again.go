package results

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// Again writes up anew what a release says of a histogram, or of tables, by the counts that stand beside it, what earlier
// rounds told where rounds are correlated, and how many respondents were counted of each crowd, 0 of one that was withheld. It returns the counts, too, as they would
// be written. ok is false where that does not follow: of other kinds, of counts that were cut short, and where
// the law of errors is that of counts which no release has.
func Again(p plan.Plan, state, counts []byte, respondents []int) (headline []release.Metric, sections []release.Section, written []byte, ok bool, err error) {
	if p.Question.Table != nil && len(respondents) == 1 {
		m, err := tablesAgain(p, respondents[0], counts)
		if err != nil {
			return nil, nil, nil, true, err
		}
		if headline, sections, err = describeTable(m, Public{}); err != nil {
			return nil, nil, nil, true, err
		}
		sheet, err := tableSheet(m, Public{})
		return headline, sections, sheet.Text, true, err
	}
	if p.Question.Histogram == nil || p.State != "" && !(p.Correlated() != nil && state != nil) || sized(p, respondents) > MaxRows {
		return nil, nil, nil, false, nil
	}
	q, err := histogram.New(p)
	if err != nil {
		return nil, nil, nil, false, err
	}
	all, err := sheets.ReadCounts(bytes.NewReader(counts), MaxRows)
	if err != nil {
		return nil, nil, nil, true, err
	}
	names := p.Crowd.Names
	if len(respondents) < 2 { // as the counts have it
		names = []string{""}
	}
	type table struct{ attribute, crowd string }
	cells := map[table][]estimate.Value{}
	for _, c := range all {
		at := table{c.Attribute, c.Crowd}
		cells[at] = append(cells[at], estimate.Value{Mean: c.Estimate, StdErr: c.StdErr})
	}
	named := map[string][]string{} // values that nobody declared
	for _, c := range all {
		named[c.Attribute] = append(named[c.Attribute], c.Value)
	}
	asked := p.Question.Histogram.Attributes
	if q, err = q.Published(func(attribute int) []string { return named[asked[attribute].Name] }); err != nil {
		return nil, nil, nil, true, err
	}
	if p.State != "" {
		told, err := q.WithState(state)
		if err != nil {
			return nil, nil, nil, true, err
		}
		q = told.(*histogram.Question)
	}
	for _, c := range all {
		i := slices.IndexFunc(asked, func(a plan.Attribute) bool { return a.Name == c.Attribute })
		if i >= 0 && asked[i].Kind == "open" && c.Estimate < float64(asked[i].Least) {
			return nil, nil, nil, true, fmt.Errorf("a value of %s has a count below the %d from which on one is published", asked[i].Name, asked[i].Least)
		}
	}
	m, err := q.Again(respondents, func(crowd, attribute int) []estimate.Value {
		return cells[table{p.Question.Histogram.Attributes[attribute].Name, names[crowd]}]
	})
	if m == nil || err != nil {
		return nil, nil, nil, err != nil, err
	}
	if headline, sections, err = Describe(m, Public{}); err != nil {
		return nil, nil, nil, true, err
	}
	sheet, err := countSheet(m, Public{})
	return headline, sections, sheet.Text, true, err
}

// sized returns how many cells a release of a histogram has.
func sized(p plan.Plan, respondents []int) (n int) {
	for _, counted := range respondents {
		for _, a := range p.Question.Histogram.Attributes {
			if counted > 0 {
				n += a.Domain()
			}
		}
	}
	return n
}
