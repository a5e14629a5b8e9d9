package label

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/rows"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

// Model is what the reports say of labels. One of Counts, Sum and Reports is set, where
// anybody was counted.
type Model struct {
	Asked    plan.Label
	Clusters cluster.Partition // nil: unknown
	Counts   *histogram.Model  // of each label in each cluster
	Sum      *vector.Model     // of features times label
	Reports  []Report          // of records, in the order of their numbers
	Epsilon  float64           // local, of Reports
	// Decay is that of the discrete Laplace noise on Counts, where a table's holder has drawn it and nothing else errs; 0: another law.
	Decay float64
}

// Report is what the device of a public record says its label is.
type Report struct{ Number, Class int }

// Learn estimates what the report is of.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Asked: q.ask, Clusters: q.state}
	if e, ok := q.report.(*each); ok {
		m.Epsilon = e.Epsilon
		if len(crowds) == 1 && crowds[0].Tally != nil {
			m.Reports = e.reports(crowds[0].Tally.(*tally.Counts))
		}
		return m, nil
	}
	learned, err := q.Inner().Learn(crowds)
	switch l := learned.(type) {
	case *histogram.Model:
		m.Counts = l
		if t := q.plan.Route.Table; t != nil && t.Law == plan.LawLaplace {
			m.Decay = t.Decay
		}
	case *vector.Model:
		m.Sum = l
	}
	return m, err
}

// reports returns those in a tally.
func (e *each) reports(t *tally.Counts) (all []Report) {
	for i, n := range t.N {
		for range n {
			all = append(all, Report{i / e.K, i % e.K})
		}
	}
	return all
}

// Fields returns the label, and the features or the number of the record.
func (q *Question) Fields() []question.Field {
	if q.ask.Report == plan.LabelEach {
		return []question.Field{{Name: "class", Crowd: true}, {Name: "record", Numbers: 1}}
	}
	return rows.LabelledFields(q.ask.Classes)
}

// Value returns the Record in a row.
func (q *Question) Value(row []any) (question.Value, []error) {
	if q.ask.Report != plan.LabelEach {
		features, class, errs := rows.LabelledRow(q.ask.Classes, row)
		if errs != nil {
			return nil, errs
		}
		return Record{Features: features, Class: class}, nil
	}
	class, wrong := rows.CrowdNamed(q.ask.Classes, row[0])
	number, bad := rows.Cell(row[1])
	if bad == nil && (number < 0 || number >= q.ask.Records) {
		bad = fmt.Errorf("is none of the plan's %d records", q.ask.Records)
	}
	if wrong != nil || bad != nil {
		return nil, []error{wrong, bad}
	}
	return Record{Number: number, Class: class}, nil
}
