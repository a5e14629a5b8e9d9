//go:build unix

package confetti_test

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// The hot paths of histograms beside docs/numpy_histograms.py, which does what a user
// of numpy would. docs/performance.md has the
// numbers.

// What the script has, too.
const (
	histogramCells    = 2_795_520   // of the device: ESA, Table II, Map
	histogramMessages = 100_000_000 // counted
	histogramTable    = 3_000_000   // cells estimated
	sketchHashes      = 1024
	sketchWidth       = 65_536
)

// BenchmarkHistogramNumpy alternates ours with numpy: a device before sealing, counting
// messages, estimating cells and describing them, a simulation by law, and the estimates
// from a sketch.
func BenchmarkHistogramNumpy(b *testing.B) {
	for _, c := range []struct {
		name            string
		runs, theirRuns int // in a turn
		start           func(*testing.B) func()
	}{
		{"device/sparse", 20_000, 5000, histogramDevice},
		{"count/100-million", 1, 1, histogramCount},
		{"estimate/3-million", 20, 20, histogramEstimate},
		{"describe/3-million", 1, 1, histogramDescribe},
	} {
		b.Run(c.name, func(b *testing.B) {
			script := startNumpy(b, "docs/numpy_histograms.py")
			script.beside(c.name, c.runs, c.theirRuns, c.start(b))
		})
	}
}

// asking is a histogram of one attribute of numbered cells answered by symmetric one-hot
// reports of the given local epsilon under removal, over two hops.
func asking(b *testing.B, cells int, local float64) *protocol.Protocol {
	b.Helper()
	m := randomize.Symmetric(cells, local, account.Removal)
	p := plan.Plan{
		Version: plan.Version, Title: "benchmark",
		Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: cells}},
			Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact", Epsilon: local, Keep: m.Keep, Flip: m.Flip},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-9, Adjacency: "removal"},
		Crowd:     plan.Crowd{Minimum: 1000},
		Envelopes: plan.Envelopes{PerDevice: m.SmallestCap(1, 1e-12), PayloadBytes: 8, Suite: "x25519"},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "entry"}, {Operator: "second"}}}}}},
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	if _, err := simulate.NewKeys(&p); err != nil {
		b.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		b.Fatal(err)
	}
	return proto
}

// histogramDevice makes one value's fragments, all that a device does before sealing.
func histogramDevice(b *testing.B) func() {
	p, r := asking(b, histogramCells, 13), rng.New()
	value := 0
	return func() {
		value = (value + 1) % histogramCells
		symbol, err := p.Encode(histogram.Answers{Values: []any{value}})
		if err != nil {
			b.Fatal(err)
		}
		report, err := p.Randomize(r, symbol, nil)
		if err != nil {
			b.Fatal(err)
		}
		if payloads := fragment.Pack(r, report.Parts[0], p.Plan.Envelopes.PerDevice, p.Plan.Envelopes.PayloadBytes); len(payloads) != p.Plan.Envelopes.PerDevice {
			b.Fatal("a device sends a constant number of envelopes")
		}
	}
}

// histogramCount counts opened payloads. The same ten million are counted ten times: any one of them is long
// out of the caches by then. Their cells are uniform, the worst case for the tally.
func histogramCount(b *testing.B) func() {
	const kept = histogramMessages / 10
	p, r := asking(b, histogramCells, 13), seeded.New(1)
	payloads := make([][]byte, 0, kept)
	for len(payloads) < kept {
		said := tally.NewMessages(10_000)
		for range 10_000 {
			said.Say(r.Uint32N(histogramCells), 0)
		}
		payloads = append(payloads, fragment.Pack(r, said.Bodies, 10_000, 8)...)
	}
	return func() {
		t := p.NewTally()
		for range histogramMessages / kept {
			for _, payload := range payloads {
				if err := fragment.Count(t, payload); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// counted is a question of three million cells with the tally of two million devices, of
// which one cell in seven is held: about as sparse as an image.
func counted(b *testing.B) (*protocol.Protocol, []tally.Crowd) {
	const devices = 2_000_000
	p, r := asking(b, histogramTable, 10), seeded.New(2)
	t := p.NewTally()
	holders := make([]int, histogramTable)
	for range devices {
		holders[7*int(histogramTable/7*r.Float64()*r.Float64())]++
	}
	q := p.Plan.Question.Histogram.Randomizer
	randomize.OneHot{K: histogramTable, Keep: q.Keep, Flip: q.Flip}.DrawCounts(r, holders, devices, t.(*tally.Counts).N)
	return p, []tally.Crowd{{Tally: t, Respondents: devices, Smallest: devices}}
}

// histogramEstimate debiases three million cells, with standard errors.
func histogramEstimate(b *testing.B) func() {
	p, tallies := counted(b)
	return func() { p.Estimate(tallies) }
}

// histogramDescribe does all that a release says of them: estimates, intervals, the
// projection, heavy hitters.
func histogramDescribe(b *testing.B) func() {
	p, tallies := counted(b)
	return func() {
		model, err := p.Learn(tallies)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := results.Describe(model, results.Public{}); err != nil {
			b.Fatal(err)
		}
	}
}
