package histogram_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// BenchmarkHistogramDevice is all that a device does before sealing, over a domain of
// 2,795,520 cells at a local epsilon of 13 (ESA, Table II: Map).
func BenchmarkHistogramDevice(b *testing.B) {
	h := example.OneHot(plan.Attribute{Name: "cell", Kind: "categories", Size: 2_795_520})
	h.Randomizer.Epsilon, h.Randomizer.Flip = 13, 2.2603e-6
	h.Randomizer.Keep = 1 - h.Randomizer.Flip
	p := example.Histogram(h)
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 32, 8
	proto := example.Runnable(b, p)
	r := seeded.New(1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		symbol, err := proto.Encode(histogram.Answers{Values: []any{i % 2_795_520}})
		if err != nil {
			b.Fatal(err)
		}
		report, err := proto.Randomize(r, symbol, nil)
		if err != nil {
			b.Fatal(err)
		}
		if payloads := fragment.Pack(r, report.Parts[0], proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes); len(payloads) != 32 {
			b.Fatal("envelopes")
		}
	}
}

// BenchmarkHistogramCount counts opened payloads over as many cells.
func BenchmarkHistogramCount(b *testing.B) {
	h := example.OneHot(plan.Attribute{Name: "cell", Kind: "categories", Size: 2_795_520})
	h.Randomizer.Epsilon, h.Randomizer.Keep, h.Randomizer.Flip = 13, 0.75, 0.25
	p := example.Histogram(h)
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 1<<17, 8 // some 14 MB, as much as a contribution may have
	proto := example.Runnable(b, p)
	r := seeded.New(1)
	symbol, err := proto.Encode(histogram.Answers{Values: []any{1}})
	if err != nil {
		b.Fatal(err)
	}
	report, err := proto.Randomize(r, symbol, nil)
	if err != nil {
		b.Fatal(err)
	}
	payloads := fragment.Pack(r, report.Parts[0], proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes)
	block := make([]byte, 8*len(payloads)) // one after the other, as opening leaves them
	for i, payload := range payloads {
		copy(block[8*i:], payload)
	}
	tally := proto.NewTally()
	for i := 0; b.Loop(); i++ {
		at := i & (1<<20 - 1)
		if err := fragment.Count(tally, block[8*at:8*at+8]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmessages/s")
}

// BenchmarkHistogramEstimate estimates and describes three million cells.
func BenchmarkHistogramEstimate(b *testing.B) {
	h := example.OneHot(plan.Attribute{Name: "cell", Kind: "categories", Size: 3_000_000})
	h.Randomizer.Epsilon, h.Randomizer.Keep, h.Randomizer.Flip = 13, 1-1e-4, 1e-4
	p := example.Histogram(h)
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 1000, 8
	proto := example.Runnable(b, p)
	tallies := example.Crowds(proto)
	r := seeded.New(1)
	tallies[0].Respondents = 1_000_000
	for i := range example.Cells(tallies[0]) {
		example.Cells(tallies[0])[i] = 90 + r.Uint64N(20)
	}
	for b.Loop() {
		model, err := proto.Learn(tallies)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := results.Describe(model, results.Public{}); err != nil {
			b.Fatal(err)
		}
	}
}
