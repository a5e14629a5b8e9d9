package results

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// describeLabel states what is known of labels: in clusters the classifier by the likeliest
// label of each, with its errors by class and the sizes of clusters.
func describeLabel(m *label.Model, public Public) ([]release.Metric, []release.Section, error) {
	switch {
	case m.Sum != nil:
		return describeVector(m.Sum, public)
	case m.Counts == nil:
		return describeReports(m)
	}
	c := newClustered(m)
	respondents, smallest, largest, counts := 0, 0, 0, make([][]estimate.Value, m.Asked.Clusters)
	for _, t := range m.Counts.Tables {
		counts[t.Crowd] = t.Values
		if respondents += t.Respondents; smallest == 0 || t.Respondents < smallest {
			smallest = t.Respondents
		}
		largest = max(largest, t.Respondents)
	}
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(respondents)}, {Name: "clusters", Value: float64(len(m.Counts.Tables))}}
	if respondents == 0 {
		return headline, nil, nil
	}
	section := release.Section{
		Name: "clusters", Tables: []release.Table{c.errors(), c.sizes()},
		Metrics: []release.Metric{{Name: "smallest_cluster", Value: float64(smallest)}, {Name: "largest_cluster", Value: float64(largest)}},
	}
	by := inClusters{classes: m.Asked.Classes, features: m.Asked.Features, likeliest: c.likeliest, common: c.common, counts: counts, decay: m.Decay}
	headline = append([]release.Metric{by.agreement()}, headline...)
	if m.Clusters != nil {
		by.find = func(row []float32) (int, bool) { return m.Clusters.Nearest(row), true }
	}
	headline, err := by.judged(headline, &section, public.Test)
	return headline, []release.Section{section}, err
}

// clustered is the classifier by the likeliest label of each cluster; -1 of one that was
// withheld, whose records are given the label that is likeliest of all.
type clustered struct {
	*label.Model
	likeliest []int
	common    int
}

func newClustered(m *label.Model) *clustered {
	c := &clustered{Model: m, likeliest: slices.Repeat([]int{-1}, m.Asked.Clusters)}
	sums := make([]float64, len(m.Asked.Classes))
	for _, t := range m.Counts.Tables {
		c.likeliest[t.Crowd] = top(t.Values)
		for k, v := range t.Values {
			sums[k] += v.Mean
		}
	}
	for k, sum := range sums { // only now: an estimate may be below zero
		if sum > sums[c.common] {
			c.common = k
		}
	}
	return c
}

func top(values []estimate.Value) (at int) {
	for k, v := range values {
		if v.Mean > values[at].Mean {
			at = k
		}
	}
	return at
}

// errors returns how often each class is taken for another, with intervals.
func (c *clustered) errors() release.Table {
	t := release.Table{Name: "errors"}
	k := len(c.Asked.Classes)
	counts, own, others := make([][]estimate.Value, k), make([][]estimate.Value, k), make([][]estimate.Value, k)
	for _, table := range c.Counts.Tables {
		right, wrong := unflattered(table.Values, c.likeliest[table.Crowd], c.Decay)
		for k := range right {
			counts[k], own[k], others[k] = append(counts[k], table.Values[k]), append(own[k], right[k]), append(others[k], wrong[k])
		}
	}
	for k, name := range c.Asked.Classes {
		all := estimate.Sum(counts[k])
		share, low, high := estimate.Share(estimate.Sum(others[k]), estimate.Sum(own[k]), 0, level)
		t.Rows = append(t.Rows, []release.Cell{release.Named(name), release.Number(all.Mean, all.StdErr), release.Number(share.Mean, share.StdErr), release.Interval(low, high)})
	}
	return t
}

// sizes lists clusters with their likeliest labels, the largest first.
func (c *clustered) sizes() release.Table {
	t := release.Table{Name: "clusters"}
	tables := slices.Clone(c.Counts.Tables)
	slices.SortStableFunc(tables, func(a, b *histogram.Table) int { return b.Respondents - a.Respondents })
	for _, of := range tables[:min(len(tables), tableRows)] {
		k := c.likeliest[of.Crowd]
		own, _ := unflattered(of.Values, k, c.Decay)
		with := estimate.Sum(own)
		t.Rows = append(t.Rows, []release.Cell{release.Named(c.Counts.Crowds[of.Crowd]), release.Number(float64(of.Respondents), 0), release.Named(c.Asked.Classes[k]), release.Number(with.Mean, with.StdErr)})
	}
	return t
}

// describeReports states how many hold each label, from labels that were reported one by one.
func describeReports(m *label.Model) ([]release.Metric, []release.Section, error) {
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(len(m.Reports))}}
	if len(m.Reports) == 0 {
		return headline, nil, nil
	}
	k := len(m.Asked.Classes)
	counts, values := make([]uint64, k), make([]estimate.Value, k)
	for _, r := range m.Reports {
		counts[r.Class]++
	}
	randomize.KRR{K: k, Epsilon: m.Epsilon}.EstimateAll(counts, len(m.Reports), values)
	t := release.Table{Name: "labels"}
	for c, v := range values {
		t.Rows = append(t.Rows, []release.Cell{release.Named(m.Asked.Classes[c]), release.Number(v.Mean, v.StdErr)})
	}
	return headline, []release.Section{{Name: "labels", Tables: []release.Table{t}}}, nil
}

// labelSheet is of counts in clusters, of a sum, or of the reports themselves.
func labelSheet(m *label.Model, public Public) (s Sheet, err error) {
	switch {
	case m.Sum != nil:
		return sumSheet(m.Sum)
	case m.Counts != nil:
		return countSheet(m.Counts, public)
	}
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"record", "reported"}) // Error tells, as of the rest
	for _, r := range m.Reports {
		c.Write([]string{strconv.Itoa(r.Number), formula.Quote(m.Asked.Classes[r.Class])})
	}
	c.Flush()
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, c.Error()
}

// countedLabels says that a release of labels has a sheet of counts.
func countedLabels(l *plan.Label) bool { return l != nil && l.Report != plan.LabelSums }
