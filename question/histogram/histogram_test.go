package histogram_test

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Every kind of histogram can be designed, keeps its promise, and promises all
// but the least: with epsilon a per cent lower the same numbers are refused.
func TestHistogramsKeepTheirPromise(t *testing.T) {
	for name, p := range example.Histograms() {
		t.Run(name, func(t *testing.T) {
			p := example.Design(t, p)
			promise, err := example.Runnable(t, p).Promise()
			if err != nil {
				t.Fatal(err)
			}
			g := promise.Shuffled
			if g.Epsilon > 1 || g.Adjacency != account.Adjacency(p.Budget.Adjacency) || g.Trust != account.Shuffled {
				t.Errorf("shuffled %v", g)
			}
			if p.Question.Histogram.Randomizer.Accounting == "exact" && g.Epsilon < 0.985 {
				t.Errorf("epsilon %v leaves budget unused", g.Epsilon)
			}
			off := p
			off.Budget.Epsilon = g.Epsilon * 0.99
			example.Mentions(t, protocol.Check(off), "promise does not hold")
		})
	}
}

func TestHistogramFlow(t *testing.T) {
	for name, p := range example.Histograms() {
		t.Run(name, func(t *testing.T) {
			p := example.Design(t, p)
			proto := example.Runnable(t, p)
			tallies := example.Crowds(proto)
			const n = 2000
			for i := range n {
				symbol, err := proto.Encode(example.Answers(p, i))
				if err != nil {
					t.Fatal(err)
				}
				r := seeded.New(7, uint64(i))
				report, err := proto.Randomize(r, symbol, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range report.Parts {
					tallies[report.Crowd].Respondents++
					payloads := fragment.Pack(r, part, proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes)
					if len(payloads) != p.Envelopes.PerDevice {
						t.Fatalf("%d payloads, want %d", len(payloads), p.Envelopes.PerDevice)
					}
					for _, payload := range payloads {
						if err := fragment.Count(tallies[report.Crowd].Tally, payload); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			model, err := proto.Learn(tallies)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range model.(*histogram.Model).Tables {
				for cell, v := range table.Values {
					if math.IsNaN(v.Mean) || !(v.StdErr > 0) {
						t.Errorf("%s: %v", table.Name(cell), v)
					}
				}
				if p.Question.Histogram.Attributes[table.Attribute].Kind == "categories" && p.Crowds() == 1 {
					for cell, want := range []float64{n / 2, n / 4, 0, n / 4} {
						if v := table.Values[cell]; math.Abs(v.Mean-want) > 5*v.StdErr {
							t.Errorf("%s: %v, truth %v", table.Name(cell), v, want)
						}
					}
				}
			}
			headline, sections, err := results.Describe(model, results.Public{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := example.Stated(t, proto, tallies, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Headline, r.Sections = headline, append(sections, r.Sections...)
			r.Provenance.Software, r.Provenance.Randomness = "test", "seed 7"
			r.Created = p.Times.Opens.AddDate(2000, 0, 0)
			if err := errors.Join(results.Words(proto.Plan, proto.Question, &r), r.Validate()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The largest cells come as sorting all of them would give.
func TestTopIsTheHeadOfTheSortedCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := histogram.Table{}
		for _, mean := range rapid.SliceOfN(rapid.IntRange(-3, 3), 1, 40).Draw(t, "means") {
			table.Values = append(table.Values, estimate.Value{Mean: float64(mean)})
		}
		all := make([]int, len(table.Values))
		for i := range all {
			all[i] = i
		}
		slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(table.Values[j].Mean, table.Values[i].Mean) })
		most := rapid.IntRange(1, 45).Draw(t, "most")
		if got := table.Top(most); !slices.Equal(got, all[:min(most, len(all))]) {
			t.Fatalf("top %d of %v: %v", most, table.Values, got)
		}
	})
}
