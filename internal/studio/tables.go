package studio

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// tableAsked asks what goes with what among some columns, as confetti plan new table does.
type tableAsked struct {
	Columns []int `json:"columns"` // none: all of which there is no doubt
	Listed  int   `json:"listed"`  // values of a column of names, the most frequent ones; the others are one value
	Ranges  int   `json:"ranges"`  // of a column of numbers

	all distribution.Values
}

// Bounds of a question that is made here.
const (
	mostTabled = 24
	mostListed = 50
)

func (a *tableAsked) ask(s *Sheet, c Choice) (out drafted, err error) {
	out.title = "What goes with what?"
	if len(a.Columns) == 0 {
		for i, column := range s.Columns {
			if column.Doubt == "" && column.Distinct > 1 && len(a.Columns) < mostTabled {
				a.Columns = append(a.Columns, i)
			}
		}
	}
	switch {
	case len(a.Columns) < 2 || len(a.Columns) > mostTabled:
		return out, fmt.Errorf("%d columns are asked: tables are of two, so choose 2 to %d", len(a.Columns), mostTabled)
	case a.Listed < 2 || a.Listed > mostListed || a.Ranges < 2 || a.Ranges > mostListed:
		return out, fmt.Errorf("%d values and %d ranges are listed: give 2 to %d", a.Listed, a.Ranges, mostListed)
	}
	rows, left, err := s.records(c, a.Columns...)
	if err != nil {
		return out, err
	}
	out.rows, out.left = len(rows), left
	asked := plan.Crosstab{}
	for k, at := range a.Columns {
		column, err := a.column(s.Columns[at], rows, k)
		if err != nil {
			return out, err
		}
		asked.Columns = append(asked.Columns, column)
	}
	if c.Route != plan.RouteSum {
		asked.Seed = s.publicSeed()
	}
	for _, row := range rows {
		held := make([]any, len(row))
		for i, text := range row {
			held[i] = text
		}
		a.all = append(a.all, held)
	}
	out.question = plan.Question{Kind: "table", Table: &asked}
	return out, nil
}

// column returns what the plan asks of one, which stands in place k of rows.
func (a *tableAsked) column(of Column, rows [][]string, k int) (plan.Column, error) {
	out := plan.Column{Name: of.Name}
	if of.Numbers && of.Distinct > a.Ranges {
		for i := 1; i < a.Ranges; i++ {
			cut, _ := strconv.ParseFloat(strconv.FormatFloat(of.Low+(of.High-of.Low)*float64(i)/float64(a.Ranges), 'g', 4, 64), 64)
			if len(out.Cuts) == 0 || cut > out.Cuts[len(out.Cuts)-1] {
				out.Cuts = append(out.Cuts, cut)
			}
		}
		return out, nil
	}
	often := map[string]int{}
	for _, row := range rows {
		often[row[k]]++
	}
	listed, err := Asked{Kind: "categories", Named: a.Listed}.attribute(of.Name, often)
	out.Values, out.Others = listed.Values, listed.Others
	return out, err
}

func (a *tableAsked) came(n int, _ *rand.Rand) distribution.Population {
	people := make(distribution.Values, n)
	for i := range people {
		people[i] = a.all[int(int64(i)*int64(len(a.all))/int64(n))]
	}
	a.all = people
	return distribution.Pooled{Values: people}
}

func (a *tableAsked) truth(p *protocol.Protocol) (*results.Truth, error) {
	return distribution.Reveal(p, a.all)
}
