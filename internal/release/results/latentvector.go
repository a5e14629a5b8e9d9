package results

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/release"
)

// describeVectors states how many have each class, from reports of a vector and a class, and how well a
// classifier that learns from these tells the classes of public records.
func describeVectors(m *latent.Model, public Public) ([]release.Metric, []release.Section, error) {
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
		section.Text += fmt.Sprintf(" The encoder was trained on %d records (%s). %s", e.Trained.Records, e.Trained.Of, made(e.Trained))
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
	headline, err := judgedVectors(m, headline, &section, public.Test)
	return headline, []release.Section{section}, err
}

// made says what was promised to the records that an encoder was trained on.
func made(t device.Trained) string {
	switch t.Claim {
	case device.ClaimPublic:
		return "They are public: nothing is promised to them."
	case device.ClaimPrivate:
		return fmt.Sprintf("Of these %d are private, and the encoder keeps epsilon %.4g, delta %g of each of them, where it counts for nothing in its place (zeroing-out); how many they are is public.", t.Private, t.Epsilon, t.Delta)
	}
	return "They are private, and nothing is proved of what the encoder tells of them."
}

// judgedVectors puts the accuracy on public records first, where there are any and the encoder is known.
func judgedVectors(m *latent.Model, headline []release.Metric, section *release.Section, test Records) ([]release.Metric, error) {
	v, e, k := m.Vectors, m.Vectors.Encoder, len(m.Asked.Classes)
	if e == nil || k == 0 || len(test.Y) == 0 {
		return headline, nil
	}
	if test.X.Cols != m.Asked.Features {
		return nil, fmt.Errorf("results: test records of %d numbers, and the plan has %d", test.X.Cols, m.Asked.Features)
	}
	reports, told := make([][]byte, len(v.Reports)), make([]int, len(v.Reports))
	for i, r := range v.Reports {
		reports[i], told[i] = r.Vector, r.Class
	}
	first := rand.New(rand.NewPCG(1, 0)) // weights to begin with, which are no secret: the same reports give the same release
	c, err := learn.ByPrototypes(first, e.Prototypes, learn.Reported(e, v.How.Vector, reports), told, v.How.Class.Epsilon, k, func(string, int, int) {})
	if err != nil {
		return nil, err
	}
	of, err := hdc.Judge(c.Classes(learn.Codes(e, test.X)), test.Y, k)
	if err != nil {
		return nil, err
	}
	section.Tables = append(section.Tables, confusion(m.Asked.Classes, of))
	note := fmt.Sprintf("of a classifier that learned from the reports, on %d public test records", of.Total)
	return append([]release.Metric{accuracy("accuracy", "Accuracy", of, note)}, headline...), nil
}

// vectorSheet lists the reports themselves.
func vectorSheet(m *latent.Model) (Sheet, error) {
	var text bytes.Buffer
	c := csv.NewWriter(&text)
	c.Write([]string{"group", "vector", "class"}) // Error tells, as of the rest
	for _, r := range m.Vectors.Reports {
		row := []string{"", hex.EncodeToString(r.Vector), ""}
		if len(m.Vectors.Groups) > 0 {
			row[0] = formula.Quote(m.Vectors.Groups[r.Crowd])
		}
		if len(m.Asked.Classes) > 0 {
			row[2] = formula.Quote(m.Asked.Classes[r.Class])
		}
		c.Write(row)
	}
	c.Flush()
	return Sheet{File: release.CountsFile, Text: text.Bytes()}, c.Error()
}
