package service

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/release"
)

// A release as CSV is one long table: a row for each number (or text) of the
// headline and of every metric, table, list and figure, with where it stands and
// its errors. Numbers are in their shortest form that reads back the same.
var csvHeader = []string{"section", "in", "row", "column", "value", "std_err", "low", "high", "level", "unit", "text"}

// writeCSV writes every estimate of a release.
func writeCSV(w io.Writer, r release.Release) error {
	c := csv.NewWriter(w)
	rows := [][]string{csvHeader}
	add := func(section, in, row, column string, v, stdErr, low, high, level float64, unit string) {
		rows = append(rows, []string{section, in, row, column, number(v), stated(stdErr, stdErr != 0), stated(low, level != 0), stated(high, level != 0), stated(level, level != 0), unit, ""})
	}
	metrics := func(section, in string, all []release.Metric) {
		for _, m := range all {
			add(section, in, m.Name, "", m.Value, m.StdErr, m.Low, m.High, m.Level, m.Unit)
		}
	}
	metrics("Headline", "", r.Headline)
	for _, s := range slices.Concat(r.Sections, r.Protection) {
		metrics(s.Title, "", s.Metrics)
		for _, t := range s.Tables {
			for i, cells := range t.Rows {
				for j, cell := range cells {
					at, column := strconv.Itoa(i+1), t.Columns[j]
					if cell.Low != nil && cell.High != nil {
						rows = append(rows, []string{s.Title, t.Title, at, column.Label, "", "", number(*cell.Low), number(*cell.High), "", column.Unit, ""})
						continue
					}
					if cell.Value == nil {
						rows = append(rows, []string{s.Title, t.Title, at, column.Label, "", "", "", "", "", "", cell.Text})
						continue
					}
					add(s.Title, t.Title, at, column.Label, *cell.Value, cell.StdErr, 0, 0, 0, column.Unit)
				}
			}
		}
		for _, l := range s.Lists {
			for i, item := range l.Items {
				add(s.Title, l.Title, strconv.Itoa(i+1), item.Label, item.Score, item.StdErr, item.Low, item.High, l.Level, "")
			}
		}
		for _, f := range s.Figures {
			rows = append(rows, figure(s.Title, f)...)
		}
	}
	metrics("Cost", "", r.Cost)
	if err := c.WriteAll(rows); err != nil {
		return err
	}
	return c.Error()
}

// figure has a row for each point, named by its x or its category.
func figure(section string, f release.Figure) [][]string {
	var rows [][]string
	for _, s := range f.Series {
		for i, y := range s.Y {
			row := []string{section, f.Title, "", s.Label, number(y), "", "", "", "", "", ""}
			if f.Kind == release.Bars {
				row[2] = f.Categories[i]
			} else {
				row[2] = number(s.X[i])
			}
			if len(s.Low) > 0 {
				row[6], row[7] = number(s.Low[i]), number(s.High[i])
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// stated leaves out what a release does not state.
func stated(x float64, is bool) string {
	if !is {
		return ""
	}
	return number(x)
}
