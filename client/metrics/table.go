package metrics

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// maxPairs bounds the cells of a table, and of an experiment.
const maxPairs = 400

// pairs returns the words for each pair of two lists.
func pairs(a, b []string) (all []string) {
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+" / "+y)
		}
	}
	return all
}

// held returns the cells of a metric, but for unset.
func (m Metric) held() []string {
	cells := m.Cells()
	return cells[:len(cells)-1]
}

// Axis returns the metric as a table has it: with other edges, where there are some, and without what people are told.
func (m Metric) Axis(edges []float64) Metric {
	if len(edges) > 0 {
		m.Edges = edges
	}
	m.Every, m.Why, m.Owner, m.Ends = "", "", "", ""
	return m
}

// validateTable reports what is wrong with the two metrics of a table, or that another kind has some.
func (m Metric) validateTable(require func(bool, string, ...any)) {
	if m.Kind != "table" {
		require(len(m.Of) == 0, "of is of a table")
		return
	}
	require(len(m.Of) == 2 && m.Of[0].Name != m.Of[1].Name, "a table is of two other metrics")
	if len(m.Of) != 2 {
		return
	}
	for _, o := range m.Of {
		require(slices.Contains([]string{"counter", "category", "number", "sequence", "experiment"}, o.Kind), "a table is of counters, categories, numbers, sequences and experiments, and %s is none", plan.Quoted(o.Name))
		whole := o
		whole.Every, whole.Why, whole.Owner, whole.Ends = m.Every, m.Why, m.Owner, m.Ends
		if o.Kind == "table" {
			return
		}
		err := whole.Validate()
		require(err == nil, "%v", err)
		if err != nil {
			return
		}
	}
	m.validatePairs(m.Of[0].held(), m.Of[1].held(), require)
}

// validatePairs reports that there are too many cells, or two of the same words.
func (m Metric) validatePairs(a, b []string, require func(bool, string, ...any)) {
	if require(len(a)*len(b) <= maxPairs, "it has %d cells, and at most %d are allowed", len(a)*len(b), maxPairs); len(a)*len(b) > maxPairs {
		return
	}
	var ps plan.Problems
	ps.Names("cells", pairs(a, b))
	for _, p := range ps {
		require(false, "%s", p)
	}
}

// tabled refuses a table whose metrics are not beside it, or others by the same names. The device keeps their values.
func (m Metric) tabled(beside []Metric) error {
	for _, o := range m.Of {
		if !slices.ContainsFunc(beside, func(b Metric) bool { return b.Name == o.Name && reflect.DeepEqual(b.Axis(o.Edges), o) }) {
			return fmt.Errorf("metric %s: a table's metrics are asked beside it, in the same period, and %s is not", plan.Quoted(m.Name), plan.Quoted(o.Name))
		}
	}
	return nil
}

// cross returns what a device says of a table: what it says of both metrics, in the cells that the table has.
func (s *state) cross(m Metric, series Series, kept map[string]value, listed map[string]Metric, from, until time.Time) any {
	said := make([]string, len(m.Of))
	for i, o := range m.Of {
		at := slices.IndexFunc(series.Metrics, func(b Metric) bool { return b.Name == o.Name })
		one := series.Metrics[at] // its series was validated
		text, _ := s.says(one, series, kept, listed, from, until).(string)
		if v := kept[o.Name]; text != unset && len(o.Edges) > 0 {
			text = o.cell(o.cellOf(v.N))
		}
		said[i] = text
	}
	switch {
	case !s.counts(m, listed, from), slices.Contains(said, unset):
		return unset
	case slices.Contains(said, other):
		return other
	}
	return strings.Join(said, " / ")
}
