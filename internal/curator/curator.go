// Package curator makes releases of a table that lies in one place: it counts the rows, adds the noise that keeps the
// plan's promise, and charges the people's ledger first. Used by cmd/confetti/internal/release, for analysts.
package curator

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// Ask is what is counted of a table, and of whom.
type Ask struct {
	Holder     string // who has the table
	People     string // whose rows they are
	AsOf       string // the state of the table, by name
	Attributes []plan.Attribute
	Law        string // of the noise; "": the one that errs less
	Epsilon    float64
	Delta      float64
}

// Plan returns the plan of a release, with its noise: neighbours differ in one row that is replaced,
// and the number of rows is public. Every attribute gets a cell for all that is not declared, so
// that no row is left out and none is refused by its value.
func (a Ask) Plan() (plan.Plan, error) {
	var asked []plan.Attribute
	var names []string
	for _, one := range a.Attributes {
		one.Others = true
		asked, names = append(asked, one), append(names, one.Name)
	}
	h := &plan.Histogram{Attributes: asked, Randomizer: plan.Randomizer{Name: plan.RandomizerNone}}
	return design.Fill(plan.Plan{
		Version: plan.Version, Title: fmt.Sprintf("%s of %s", strings.Join(names, ", "), a.People),
		Question: plan.Question{Kind: "histogram", Unfit: plan.UnfitClip, Histogram: h},
		Budget:   plan.Budget{Epsilon: a.Epsilon, Delta: a.Delta, Adjacency: "replacement"},
		Crowd:    plan.Crowd{Minimum: 1},
		Route:    plan.Route{Kind: plan.RouteTable, Table: &plan.Table{People: a.People, AsOf: a.AsOf, Law: a.Law}},
		Analyzer: plan.Party{Operator: a.Holder},
	})
}

// Row is what one row answers to each attribute, in the plan's order, as histogram.Answers. An
// answer that is not declared, or of another type than its attribute takes, is nil.
type Row = []any

// counted returns how many rows hold each cell, without noise. It leaves this package only with noise.
func counted(p *protocol.Protocol, rows []Row, r *rand.Rand) ([]int64, error) {
	var sums []int64
	for _, row := range rows {
		symbol, err := p.Encode(histogram.Answers{Values: row})
		if _, err := question.Fits(err); err != nil {
			return nil, err
		}
		_, vector, err := p.Measure(r, symbol, nil)
		if err != nil {
			return nil, err
		}
		if sums == nil {
			sums = make([]int64, len(vector))
		}
		for i, x := range vector {
			sums[i] += int64(x)
		}
	}
	return sums, nil
}

// Release counts the rows, adds noise and writes the release of a charge. It is drawn once: whoever sees two draws
// of one plan has more than the promise.
func Release(p *protocol.Protocol, rows []Row, charged release.Ledger, r *rand.Rand) (release.Release, question.Model, error) {
	sums, err := counted(p, rows, r)
	if err != nil {
		return release.Release{}, nil, err
	}
	for i, z := range sum.Draw(r, *p.Plan.Route.Noise(), len(sums)) {
		sums[i] += z
	}
	crowd, err := p.Sums(sums, len(rows))
	if err != nil {
		return release.Release{}, nil, err
	}
	crowds := []tally.Crowd{crowd}
	model, err := p.Learn(crowds)
	if err != nil {
		return release.Release{}, nil, err
	}
	out, err := analyzer.Numbers(p, model, crowds, results.Public{})
	if err != nil {
		return out, model, err
	}
	out.Ledger = &charged
	return out, model, analyzer.Write(p, &out)
}
