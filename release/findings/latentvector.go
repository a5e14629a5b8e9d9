package findings

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"fmt"

	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/release"
)

// describeVectors states how many have each class, from reports of a vector and a class.
func describeVectors(m *latent.Model) ([]release.Metric, []release.Section, error) {
	v := m.Vectors
	headline := []release.Metric{{Name: "respondents", Label: "Respondents counted", Value: float64(len(v.Reports)), Unit: release.Count}}
	if len(v.Reports) == 0 {
		return headline, nil, nil
	}
	section := release.Section{
		Title: "What was said",
		Text:  fmt.Sprintf("Each report is a vector of %d numbers with noise in it (%s): by itself it tells next to nothing, and a classifier learns from how likely all of them are for each public prototype of the encoder (docs/noisy-records.md).", m.Asked.Vector.Dim, release.CountsFile),
	}
	if e := v.Encoder; e != nil {
		section.Text += fmt.Sprintf(" The encoder was trained on %d records (%s), which are %s: nothing is promised to them.", e.Trained.Records, e.Trained.Of, e.Trained.Claim)
	}
	if k := len(m.Asked.Classes); k > 0 {
		counts, values := make([]uint64, k), make([]estimate.Value, k)
		for _, r := range v.Reports {
			counts[r.Class]++
		}
		v.How.Class.EstimateAll(counts, len(v.Reports), values)
		t := release.Table{Title: "Respondents by class", Columns: []release.Column{{Label: "class"}, {Label: "respondents", Unit: release.Count}}}
		for y, n := range values {
			t.Rows = append(t.Rows, []release.Cell{release.Text(m.Asked.Classes[y]), release.Number(n.Mean, n.StdErr)})
		}
		section.Tables = []release.Table{t}
	}
	return headline, []release.Section{section}, nil
}

// vectorSheet lists the reports themselves.
func vectorSheet(m *latent.Model) (Sheet, error) {
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"group", "vector", "class"}) // Error tells, as of the rest
	for _, r := range m.Vectors.Reports {
		row := []string{"", hex.EncodeToString(r.Vector), ""}
		if len(m.Vectors.Groups) > 0 {
			row[0] = m.Vectors.Groups[r.Crowd]
		}
		if len(m.Asked.Classes) > 0 {
			row[2] = m.Asked.Classes[r.Class]
		}
		c.Write(row)
	}
	c.Flush()
	return Sheet{File: release.CountsFile, Text: text.Bytes(), Note: "Reports have noise in them: many are not of the true vector or class. A vector is the bytes of its message in hex: of laplace whole numbers of four bytes each, most significant first, in steps of the plan's grid; of cap the seed of a direction."}, c.Error()
}
