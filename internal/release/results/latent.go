package results

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// describeLatent states how many lie in which cluster: with which class, or of which group.
func describeLatent(m *latent.Model, public Public) ([]release.Metric, []release.Section, error) {
	switch {
	case m.Vectors != nil:
		return describeVectors(m, public)
	case m.Numbered != nil:
		return describeNumbered(m)
	}
	respondents := 0
	for _, n := range m.Counts.Respondents {
		respondents += n
	}
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(respondents)}, {Name: "clusters", Value: float64(m.Asked.Clusters)}}
	if respondents == 0 {
		return headline, nil, nil
	}
	if m.Asked.Report == plan.LatentRight {
		return describeRight(m, headline[:1])
	}
	if len(m.Asked.Classes) == 0 {
		return headline, []release.Section{{Name: "clusters", Tables: []release.Table{groupsTable(m)}}}, nil
	}
	d, err := newDecoded(m)
	if err != nil {
		return nil, nil, err
	}
	section := release.Section{Name: "classes", Tables: []release.Table{d.classes(), d.clusters()}}
	by := inClusters{classes: m.Asked.Classes, features: m.Asked.Features, likeliest: d.likeliest, counts: slices.Collect(slices.Chunk(d.table.Values, d.k))}
	headline = append([]release.Metric{by.agreement()}, headline...)
	if m.Finder != nil {
		by.find = m.Finder.Find
	}
	headline, err = by.judged(headline, &section, public.Test)
	return headline, []release.Section{section}, err
}

// describeRight states how often a published model is right, with the exact interval.
func describeRight(m *latent.Model, headline []release.Metric) ([]release.Metric, []release.Section, error) {
	share, low, high, ok := m.Right(m.Counts.Tables[0], 1-level)
	if !ok {
		return headline, nil, nil
	}
	headline = append([]release.Metric{{Name: "accuracy", Value: share.Mean, StdErr: share.StdErr, Low: low, High: high, Level: level}}, headline...)
	t := release.Table{Name: "right"}
	for i, name := range wrongRight {
		v := m.Counts.Tables[0].Values[i]
		t.Rows = append(t.Rows, []release.Cell{release.Named(name), release.Number(v.Mean, v.StdErr)})
	}
	return headline, []release.Section{{Name: "right", Tables: []release.Table{t}}}, nil
}

// decoded is what counts of clusters and classes say.
type decoded struct {
	*latent.Model
	table   *histogram.Table
	k       int
	targets [][]float64 // see latent.Model.Targets
	// likeliest is the class of each cluster: by its targets, or by its counts where there are none.
	likeliest []int
}

func newDecoded(m *latent.Model) (*decoded, error) {
	d := &decoded{Model: m, table: m.Counts.Tables[0], k: len(m.Asked.Classes), likeliest: make([]int, m.Asked.Clusters)}
	var err error
	if d.targets, err = m.Targets(d.table); err != nil {
		return nil, err
	}
	for c := range d.likeliest {
		d.likeliest[c] = top(d.of(c))
	}
	return d, nil
}

// of returns the counts of a cluster by class.
func (d *decoded) of(cluster int) []estimate.Value { return d.table.Values[cluster*d.k:][:d.k] }

func (d *decoded) classes() release.Table {
	t := release.Table{Name: "classes"}
	for y, name := range d.Asked.Classes {
		var all []estimate.Value
		for c := range d.likeliest {
			all = append(all, d.of(c)[y])
		}
		sum := estimate.Sum(all)
		t.Rows = append(t.Rows, []release.Cell{release.Named(name), release.Number(sum.Mean, sum.StdErr)})
	}
	return t
}

// clusters lists clusters, the largest first, by what public inputs say or else by their counts.
func (d *decoded) clusters() release.Table {
	t := release.Table{Name: "clusters"}
	shares, sums := d.Shares(), make([]estimate.Value, d.Asked.Clusters)
	for c := range sums {
		sums[c] = estimate.Sum(d.of(c))
	}
	order := ordered(len(sums), func(c int) float64 {
		if shares != nil {
			return shares[c]
		}
		return sums[c].Mean
	})
	for _, c := range order[:min(len(order), tableRows)] {
		y := d.likeliest[c]
		row := []release.Cell{release.Named(strconv.Itoa(c + 1)), release.Number(sums[c].Mean, sums[c].StdErr), release.Named(d.Asked.Classes[y]), release.Number(d.of(c)[y].Mean, d.of(c)[y].StdErr)}
		if shares != nil {
			target := release.Cell{} // none
			if d.targets[c] != nil {
				target = release.Number(d.targets[c][y], 0)
			}
			row = append(row, release.Number(shares[c], 0), target)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ordered returns so many numbers, first those with the largest size.
func ordered(n int, size func(int) float64) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := size(a), size(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return order
}

// groupsTable lists how many of each group lie in each cluster; one withheld has no column.
func groupsTable(m *latent.Model) release.Table {
	t := release.Table{Name: "clusters"}
	for c := range min(m.Asked.Clusters, tableRows) {
		row := []release.Cell{release.Named(strconv.Itoa(c + 1))}
		for _, of := range m.Counts.Tables {
			row = append(row, release.Number(of.Values[c].Mean, of.Values[c].StdErr))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func groupName(m *latent.Model, crowd int) string {
	if len(m.Counts.Crowds) == 0 {
		return "respondents"
	}
	return m.Counts.Crowds[crowd]
}

// wrongRight names what a model may be about a respondent.
var wrongRight = []string{"wrong", "right"}

// rightSheet lists how many the model is wrong and right about.
func rightSheet(m *latent.Model) (Sheet, error) {
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"model", "respondents", "std_err"}) // Error tells, as of the rest
	for _, t := range m.Counts.Tables {
		for i, v := range t.Values {
			c.Write([]string{wrongRight[i], strconv.FormatFloat(v.Mean, 'g', -1, 64), strconv.FormatFloat(v.StdErr, 'g', -1, 64)})
		}
	}
	c.Flush()
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, c.Error()
}

// latentSheet lists the estimates of all symbols, and the shares of classes that they are
// likeliest to have come of.
func latentSheet(m *latent.Model) (Sheet, error) {
	switch {
	case m.Vectors != nil:
		return vectorSheet(m)
	case m.Numbered != nil:
		return numberedSheet(m)
	}
	if m.Asked.Report == plan.LatentRight {
		return rightSheet(m)
	}
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"group", "cluster", "class", "respondents", "std_err", "share"}) // Error tells, as of the rest
	k, number := max(1, len(m.Asked.Classes)), func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, t := range m.Counts.Tables {
		targets, err := m.Targets(t)
		if err != nil {
			return Sheet{}, err
		}
		for i, v := range t.Values {
			row := []string{formula.Quote(groupName(m, t.Crowd)), strconv.Itoa(i/k + 1), "", number(v.Mean), number(v.StdErr), ""}
			if k > 1 {
				row[2] = formula.Quote(m.Asked.Classes[i%k])
				if targets != nil && targets[i/k] != nil {
					row[5] = number(targets[i/k][i%k])
				}
			}
			c.Write(row)
		}
	}
	c.Flush()
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, c.Error()
}
