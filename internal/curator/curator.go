// Package curator makes releases of a table that lies in one place: it counts the rows, adds the noise that keeps the
// plan's promise, and charges the people's ledger first. Used by cmd/confetti/internal/release, for analysts.
package curator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// Ask is what is counted of a table, and of whom.
type Ask struct {
	Holder string // who has the table
	People string // whose rows they are
	AsOf   string // the version of the table, by name
	// RowsHidden says that neighbours have a row more or less, so that how many there are is private. Otherwise a row is
	// exchanged, and their number is public.
	RowsHidden bool
	Attributes []plan.Attribute
	Labels     *plan.Label // asked in the place of attributes: of rows that are public but for their label
	Label      string      // of Labels: their column
	Clusters   []string    // of Labels: their names, where they are counted in clusters
	Law        string      // of the noise; "": the one that errs less
	Epsilon    float64
	Delta      float64
}

// Plan returns the plan of a release, with its noise. Every attribute of declared cells gets one for all that is not
// declared, so that no row is left out and none is refused by its value.
func (a Ask) Plan() (plan.Plan, error) {
	route := plan.Route{Kind: plan.RouteTable, Table: &plan.Table{People: a.People, AsOf: a.AsOf, Law: a.Law}}
	if a.Labels != nil {
		return design.Fill(plan.Plan{
			Version: plan.Version, Title: fmt.Sprintf("%s of %s, for training", a.Label, a.People),
			Question: plan.Question{Kind: "label", Unfit: plan.UnfitReference, Label: a.Labels},
			Budget:   plan.Budget{Epsilon: a.Epsilon, Delta: a.Delta, Adjacency: plan.AdjacencyLabel},
			Crowd:    plan.Crowd{Minimum: 1, Names: a.Clusters}, Route: route, Analyzer: plan.Party{Operator: a.Holder},
		})
	}
	var asked []plan.Attribute
	var names []string
	for _, one := range a.Attributes {
		one.Others = one.Kind != "mean" && one.Kind != "open"
		asked, names = append(asked, one), append(names, one.Name)
	}
	neighbours := account.Replacement
	if a.RowsHidden {
		neighbours = account.Removal
	}
	h := &plan.Histogram{Attributes: asked, Randomizer: plan.Randomizer{Name: plan.RandomizerNone}}
	return design.Fill(plan.Plan{
		Version: plan.Version, Title: fmt.Sprintf("%s of %s", strings.Join(names, ", "), a.People),
		Question: plan.Question{Kind: "histogram", Unfit: plan.UnfitClip, Histogram: h},
		Budget:   plan.Budget{Epsilon: a.Epsilon, Delta: a.Delta, Adjacency: string(neighbours)},
		Crowd:    plan.Crowd{Minimum: 1},
		Route:    route,
		Analyzer: plan.Party{Operator: a.Holder},
	})
}

// Row is what one row answers to each attribute, in the plan's order, as histogram.Answers. An
// answer that is not declared, or of another type than its attribute takes, is nil.
type Row = []any

// counted returns the sums of all rows, without noise: how many hold each declared cell, and of means the numbers of
// the plan. They leave this package only with noise.
func counted(p *protocol.Protocol, rows []Row, r *rand.Rand) ([]int64, error) {
	c, err := p.Question.(question.Summer).Circuit()
	if err != nil {
		return nil, err
	}
	sums := make([]int64, c.Length)
	for _, row := range rows {
		if err := add(p.Question.(*histogram.Question), r, histogram.Answers{Values: row}, sums); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// add adds what a row holds to sums.
func add(q *histogram.Question, r *rand.Rand, row histogram.Answers, sums []int64) error {
	symbol, err := q.Encode(row)
	if _, err := question.Fits(err); err != nil {
		return err
	}
	_, vector, err := q.Measure(r, symbol, nil)
	for i, x := range vector {
		sums[i] += int64(x)
	}
	return err
}

// Release counts the rows, adds noise and writes the release of a charge. It is drawn once: whoever sees two draws
// of one plan has more than the promise.
func Release(p *protocol.Protocol, rows []Row, charged release.Ledger, r *rand.Rand) (release.Release, question.Model, error) {
	model, crowds, err := learned(p, rows, r)
	if err != nil {
		return release.Release{}, nil, err
	}
	out, err := written(p, model, crowds, charged)
	return out, model, err
}

// written writes the release of what was learned.
func written(p *protocol.Protocol, model question.Model, crowds []tally.Crowd, charged release.Ledger) (release.Release, error) {
	out, err := analyzer.Numbers(p, model, crowds, results.Public{})
	if err != nil {
		return out, err
	}
	out.Ledger = &charged
	return out, analyzer.Write(p, &out)
}

// learned returns what is published of the rows. From here on everything is private.
func learned(p *protocol.Protocol, rows []Row, r *rand.Rand) (question.Model, []tally.Crowd, error) {
	q := p.Question.(*histogram.Question)
	sums, err := counted(p, rows, r)
	if err != nil {
		return nil, nil, err
	}
	for i, z := range q.HolderNoise(r) {
		sums[i] += z
	}
	named := map[int]map[string]int64{} // by column whose values nobody declared
	for i, a := range p.Plan.Question.Histogram.Attributes {
		if a.Kind == "open" {
			named[i] = q.Open(r, i, values(rows, i))
		}
	}
	if q, err = q.Published(func(column int) []string { return slices.Sorted(maps.Keys(named[column])) }); err != nil {
		return nil, nil, err
	}
	respondents := len(rows)
	if p.Plan.RowsHidden() {
		respondents = 1 // the question adds up what is noisy, and nothing else says how many there are
	}
	t, err := q.Sums(q.Beside(sums, named), respondents)
	if err != nil {
		return nil, nil, err
	}
	crowds := []tally.Crowd{{Tally: t, Respondents: respondents, Smallest: respondents}}
	model, err := q.Learn(crowds)
	return model, crowds, err
}

// values returns how many rows hold each value of a column.
func values(rows []Row, column int) map[string]int64 {
	held := map[string]int64{}
	for _, row := range rows {
		if v, ok := row[column].(string); ok {
			held[v]++
		}
	}
	return held
}
