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
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/release"
)

// describeVectors states how many have each class, from reports of a vector and a class, and how well a
// classifier that learns from these tells the classes of public records.
func describeVectors(m *latent.Model, public Public) ([]release.Metric, []release.Section, error) {
	v := m.Vectors
	headline := []release.Metric{{Name: respondentsMetric, Value: float64(len(v.Reports))}}
	if len(v.Reports) == 0 {
		return headline, nil, nil
	}
	section := release.Section{Name: "vectors"}
	if k := len(m.Asked.Classes); k > 0 {
		counts, values := make([]uint64, k), make([]estimate.Value, k)
		for _, r := range v.Reports {
			counts[r.Class]++
		}
		v.How.Class.EstimateAll(counts, len(v.Reports), values)
		t := release.Table{Name: "classes"}
		for y, n := range values {
			t.Rows = append(t.Rows, []release.Cell{release.Named(m.Asked.Classes[y]), release.Number(n.Mean, n.StdErr)})
		}
		section.Tables = []release.Table{t}
	}
	headline, err := judgedVectors(m, headline, &section, public.Test)
	sections := []release.Section{section}
	if v.Encoder != nil {
		sections = append(sections, trained(v.Encoder.Trained))
	}
	return headline, sections, err
}

// trained returns what was promised to the records that an encoder was trained on. Of which records it was is
// said by whoever made it.
func trained(t device.Trained) release.Section {
	s := release.Section{Name: claimSection(t.Claim), Key: t.Of, Metrics: []release.Metric{{Name: "trained_records", Value: float64(t.Records)}}}
	if t.Claim == device.ClaimPrivate {
		s.Metrics = append(s.Metrics, release.Metric{Name: "trained_private", Value: float64(t.Private)},
			release.Metric{Name: "trained_epsilon", Value: t.Epsilon}, release.Metric{Name: "trained_delta", Value: t.Delta})
	}
	return s
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
	return append([]release.Metric{accuracy("accuracy", of)}, headline...), nil
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
	return Sheet{File: sheets.CountsFile, Text: text.Bytes()}, c.Error()
}
