package results

import (
	"bytes"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/release"
)

// describeStrings states which strings were found, with their errors.
func describeStrings(m *strings.Model, public Public) ([]release.Metric, []release.Section, error) {
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(m.Respondents)}}
	if m.Respondents == 0 {
		return headline, nil, nil
	}
	table, figure, bars := release.Table{Name: "strings"}, release.Figure{Name: "strings"}, release.Series{}
	found := release.Metric{Name: "found", Value: float64(len(m.Found))}
	held, least, most := 0.0, 0.0, 0.0
	counts := make([]estimate.Value, len(m.Found))
	for i, f := range m.Found {
		counts[i] = f.Count
		if least == 0 || f.Needed < least {
			least = f.Needed
		}
		most = max(most, f.Needed)
		truth := public.Truth.str(f.Text)
		if truth != nil && *truth > 0 {
			held++
		}
		low, high := m.Interval(i, level)
		lowAll, highAll := m.IntervalAtOnce(i, level)
		if i < tableRows {
			row := []release.Cell{release.Named(f.Text), release.Number(f.Count.Mean, f.Count.StdErr), release.Interval(low, high), release.Interval(lowAll, highAll)}
			if truth != nil {
				row = append(row, release.Number(*truth, 0))
			}
			table.Rows = append(table.Rows, row)
		}
		if i < figureBars {
			figure.Categories = append(figure.Categories, f.Text)
			bars.Y, bars.Low, bars.High = append(bars.Y, f.Count.Mean), append(bars.Low, min(low, f.Count.Mean)), append(bars.High, max(high, f.Count.Mean))
			if truth != nil {
				bars.Truth = append(bars.Truth, *truth)
			}
		}
	}
	if public.Truth != nil {
		found.Truth = &held
	}
	headline = append(headline, found)
	section := release.Section{Name: "strings", Metrics: []release.Metric{{Name: "false_at_most", Value: m.FalseAtMost}, {Name: "sum_error", Value: m.Error}}}
	section.Metrics = append(section.Metrics, release.Metric{Name: "unfit", Value: m.Unfit.Mean, StdErr: m.Unfit.StdErr, Truth: public.Truth.str("")})
	if m.Answers > 0 { // of bits
		section.Metrics = append(section.Metrics, release.Metric{Name: "answers", Value: m.Answers})
	}
	if len(m.Found) > 0 {
		all := estimate.Sum(counts)
		known := estimate.Sum(append(counts, m.Unfit))
		section.Metrics = append([]release.Metric{
			{Name: "least_needed", Value: least}, {Name: "most_needed", Value: most},
			{Name: "in_found", Value: all.Mean, StdErr: all.StdErr}, {Name: "in_others", Value: float64(m.Respondents) - known.Mean, StdErr: known.StdErr},
		}, section.Metrics...)
		figure.Series = []release.Series{bars}
		section.Tables, section.Figures = []release.Table{table}, []release.Figure{figure}
	}
	return headline, []release.Section{section}, nil
}

// stringsSheet lists all strings that were found.
func stringsSheet(m *strings.Model, public Public) (Sheet, error) {
	var all []sheets.ValueCount
	for i, f := range m.Found {
		c := sheets.ValueCount{Attribute: "string", Value: f.Text, Estimate: f.Count.Mean, StdErr: f.Count.StdErr, Consistent: max(0, f.Count.Mean), Truth: public.Truth.str(f.Text)}
		c.Low, c.High = m.Interval(i, level)
		c.LowAll, c.HighAll = m.IntervalAtOnce(i, level)
		all = append(all, c)
	}
	var text bytes.Buffer
	err := sheets.WriteCounts(&text, all)
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, err
}
