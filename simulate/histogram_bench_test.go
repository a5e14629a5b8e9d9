package simulate_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// BenchmarkLawOfHistogram draws a million respondents over 100,000 values of Zipf's
// law, estimates, and describes.
func BenchmarkLawOfHistogram(b *testing.B) {
	const respondents, cells = 1_000_000, 100_000
	p := tiny("one-hot")
	p.Question.Histogram.Attributes = []plan.Attribute{{Name: "word", Kind: "categories", Size: cells}}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal"}
	p.Crowd.Minimum, p.Crowd.Maximum, p.Envelopes.PerDevice = respondents, 0, 0
	if _, err := simulate.NewKeys(&p); err != nil {
		b.Fatal(err)
	}
	p, err := design.Fill(p)
	if err != nil {
		b.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		b.Fatal(err)
	}
	r := seeded.New(1)
	values := make([]question.Value, respondents)
	for i := range values {
		cell := int(math.Exp(r.Float64() * math.Log(cells)))
		values[i] = histogram.Answers{Values: []any{cell - 1}}
	}
	b.ReportAllocs()
	for b.Loop() {
		col, err := simulate.Law(proto, distribution.Values(values), 1, quiet)
		if err != nil {
			b.Fatal(err)
		}
		model, err := proto.Learn(col.Crowds)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := results.Describe(model, results.Public{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*respondents/b.Elapsed().Seconds(), "respondents/s")
}
