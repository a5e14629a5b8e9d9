package latent

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Model is how many respondents hold each symbol, or what they say of vectors.
type Model struct {
	Asked   plan.Latent
	Counts  *histogram.Model // of symbols: cell c k + y is of cluster c and class y
	Finder  *cluster.Finder  // of symbols, of the state; nil: not known
	Vectors *Vectors
	// Numbered are reports of public records, each beside its number; Encoder or Finder is of the state.
	Numbered *Numbered
	Encoder  *latent.Encoder // of Numbered; nil: not known
}

// Vectors are reports of vectors and classes as they came, in no order that tells anything.
type Vectors struct {
	Reports []Report // by crowd, each in the order of their bytes
	Groups  []string // names of the crowds; none where there is one
	How     latent.Report
	Encoder *latent.Encoder // of the state; nil: not known
}

// Report is what the device of one respondent says.
type Report struct {
	Crowd  int
	Vector []byte // for the mechanism
	Class  int    // as told: often another than the true one
}

// Learn estimates the number of holders of each symbol, or reads reports.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	switch v := q.report.(type) {
	case *vectors:
		return q.readVectors(v, crowds)
	case *numbered:
		return &Model{Asked: q.ask, Numbered: v.read(crowds), Finder: q.finder, Encoder: q.encoder}, nil
	}
	learned, err := q.Inner().Learn(crowds)
	if err != nil {
		return nil, err
	}
	return &Model{Asked: q.ask, Counts: learned.(*histogram.Model), Finder: q.finder}, nil
}

// readVectors passes over what is no report, which only a device that does not follow the plan
// sends.
func (q *Question) readVectors(v *vectors, crowds []tally.Crowd) (question.Model, error) {
	m := &Vectors{Groups: q.plan.Crowd.Names, How: v.Report, Encoder: q.encoder}
	for crowd, c := range crowds {
		if c.Tally == nil {
			continue
		}
		for message := range c.Tally.(*tally.Rows).All() {
			if x, class, err := v.Split(message); err == nil {
				m.Reports = append(m.Reports, Report{crowd, bytes.Clone(x), class})
			}
		}
	}
	return &Model{Asked: q.ask, Vectors: m}, nil
}

// Shares returns those of the public inputs in each cluster; none where the state is not known.
func (m *Model) Shares() []float64 {
	if m.Finder == nil {
		return nil
	}
	all, out := 0, make([]float64, len(m.Finder.Sizes))
	for _, n := range m.Finder.Sizes {
		all += n
	}
	for c, n := range m.Finder.Sizes {
		out[c] = float64(n) / float64(max(1, all))
	}
	return out
}

// Estimate is of the symbols of one crowd; nothing of vectors.
func (q *Question) Estimate(c tally.Crowd) []estimate.Value {
	if q.Inner() == nil {
		return nil
	}
	return q.Inner().Estimate(c)
}

// Targets returns the likeliest shares of the classes in each cluster, of respondents who lie in
// clusters as public inputs do: those nearest to the estimates, whose errors are alike, that are
// nowhere below zero and sum to what the cluster holds. They are nil of a cluster that holds
// nobody, and there are none where the state is not known.
func (m *Model) Targets(t *histogram.Table) ([][]float64, error) {
	k, shares := max(1, len(m.Asked.Classes)), m.Shares()
	targets := make([][]float64, len(shares))
	for c, share := range shares {
		if share == 0 {
			continue
		}
		held, alike := share*float64(t.Respondents), make([]estimate.Value, k)
		for y := range alike {
			alike[y] = estimate.Value{Mean: t.Values[c*k+y].Mean, StdErr: 1}
		}
		var err error
		if targets[c], err = estimate.Project(alike, held); err != nil {
			return nil, err
		}
		for y := range targets[c] {
			targets[c][y] /= held
		}
	}
	return targets, nil
}

// Fields returns the group, or the class, the number of the public record where the plan has such, and the numbers of
// the record.
func (q *Question) Fields() []question.Field {
	fields := rows.LabelledFields(q.names())
	if q.ask.Records == 0 {
		return fields
	}
	return slices.Insert(fields, len(fields)-1, question.Field{Name: "record", Numbers: 1})
}

// names returns the groups, or the classes: a plan has no more than one of these.
func (q *Question) names() []string {
	if len(q.plan.Crowd.Names) > 0 {
		return q.plan.Crowd.Names
	}
	return q.ask.Classes
}

// Value returns the Record in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	number, last := 0, len(row)-1
	if q.ask.Records > 0 {
		var bad error
		if number, bad = rows.Cell(row[last-1]); bad == nil && (number < 0 || number >= q.ask.Records) {
			bad = fmt.Errorf("is none of the plan's %d records", q.ask.Records)
		}
		if bad != nil {
			errs := make([]error, len(row))
			errs[last-1] = bad
			return nil, errs
		}
		row = slices.Delete(slices.Clone(row), last-1, last)
	}
	features, at, errs := rows.LabelledRow(q.names(), row)
	if errs != nil {
		if q.ask.Records > 0 {
			errs = slices.Insert(errs, last-1, error(nil))
		}
		return nil, errs
	}
	if len(q.plan.Crowd.Names) > 0 {
		return Record{Crowd: at, Features: features}, nil
	}
	return Record{Features: features, Class: at, Number: number}, nil
}
