package results_test

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
)

// Every value of every crowd has its row, with what the tables say of it.
func TestCountsHoldEveryValue(t *testing.T) {
	p := example.Histograms()["crowds"]
	p.Crowd.Deletion = nil
	proto := example.Runnable(t, example.Design(t, p))
	tallies, err := distribution.Draw(proto, distribution.Values(example.Drinkers()), example.Streams(7), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	m := example.Learned(t, proto, tallies)
	truth, err := distribution.Reveal(proto, example.Drinkers())
	if err != nil {
		t.Fatal(err)
	}
	counts, note, err := results.Counts(m, truth, results.MaxRows)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	i := 0
	for _, table := range m.Tables {
		cells := make([]int, len(table.Values))
		for cell := range cells {
			cells[cell] = cell
		}
		one, all := table.Intervals(cells, 0.95), table.IntervalsAtOnce(cells, 0.95)
		consistent, err := table.Consistent()
		if err != nil {
			t.Fatal(err)
		}
		for cell, v := range table.Values {
			c := counts[i]
			i++
			if c.Value != table.Name(cell) || c.Estimate != v.Mean || c.StdErr != v.StdErr || c.Consistent != consistent[cell] || c.Truth == nil {
				t.Errorf("%+v", c)
			}
			if [2]float64{c.Low, c.High} != one[cell] || [2]float64{c.LowAll, c.HighAll} != all[cell] || !(c.LowAll <= c.Low && c.High <= c.HighAll) {
				t.Errorf("intervals of %+v", c)
			}
		}
	}
	if i != len(counts) || counts[0].Crowd == counts[len(counts)-1].Crowd || *counts[0].Truth != 1500 {
		t.Errorf("%d rows of %d: %+v", len(counts), i, counts)
	}

	var b bytes.Buffer
	if err := sheets.WriteCounts(&b, counts); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != len(counts)+1 || rows[0][3] != "estimate" || rows[0][10] != "truth" {
		t.Fatalf("%q, %v", rows, err)
	}
	for i, row := range rows[1:] {
		if x, err := strconv.ParseFloat(row[3], 64); err != nil || x != counts[i].Estimate {
			t.Errorf("%q is not %v", row[3], counts[i].Estimate)
		}
	}
}

// Of too many values the largest stay, and the note says that it is so.
func TestOfTooManyCountsTheLargestStay(t *testing.T) {
	p := example.Histograms()["crowds"]
	p.Crowd.Deletion = nil
	proto := example.Runnable(t, example.Design(t, p))
	tallies, err := distribution.Draw(proto, distribution.Values(example.Drinkers()), example.Streams(7), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	m := example.Learned(t, proto, tallies)
	all, _, err := results.Counts(m, nil, results.MaxRows)
	if err != nil {
		t.Fatal(err)
	}
	for most := 1; most < len(all); most++ {
		some, note, err := results.Counts(m, nil, most)
		if err != nil || len(some) != most || note == "" {
			t.Fatalf("%d of %d: %q, %v", len(some), most, note, err)
		}
		least := some[0].Estimate
		for _, c := range some {
			least = min(least, c.Estimate)
		}
		larger := 0
		for _, c := range all {
			if c.Estimate > least {
				larger++
			}
		}
		if larger >= most {
			t.Errorf("%d values are larger than one of %d", larger, most)
		}
	}
	for i := range m.Tables { // all equal
		for j := range m.Tables[i].Values {
			m.Tables[i].Values[j].Mean = 5
		}
	}
	if some, _, err := results.Counts(m, nil, 2); err != nil || len(some) != 2 {
		t.Errorf("%d of 2 equal ones, %v", len(some), err)
	}
}
