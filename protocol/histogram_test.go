package protocol_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release/findings"
)

// asking is a plan of a histogram, complete but for what Design fills in.
func asking(h plan.Histogram) plan.Plan {
	p := sample("rr")
	p.Title = "What do people drink?"
	p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &h}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal", DishonestShare: 0.1}
	p.Crowd.Minimum = 1000
	return p
}

func drinks() plan.Attribute {
	return plan.Attribute{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}, Others: true}
}

func oneHot(attributes ...plan.Attribute) plan.Histogram {
	return plan.Histogram{Attributes: attributes, Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact"}}
}

var hexSeed = strings.Repeat("5a", 32)

// designs are histograms of every kind, by name.
func designs() map[string]plan.Plan {
	basket := plan.Attribute{Name: "basket", Kind: "set", Size: 8, Most: 2}
	rising := plan.Attribute{Name: "rising", Kind: "buckets", Low: 4, High: 12, Cells: 16}
	plans := map[string]plan.Plan{}
	add := func(name string, h plan.Histogram, edit func(p *plan.Plan, h *plan.Histogram)) {
		p := asking(h)
		if edit != nil {
			edit(&p, p.Question.Histogram)
		}
		plans[name] = p
	}
	replacement := func(p *plan.Plan, _ *plan.Histogram) { p.Budget.Adjacency = "replacement" }
	add("categories", oneHot(drinks()), nil)
	add("replacement", oneHot(drinks()), replacement)
	add("asymmetric", oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
		replacement(p, h)
		h.Randomizer.Name = "one-hot-asymmetric"
	})
	add("paper", oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Randomizer.Accounting, p.Crowd.Minimum = "paper", 100_000
	})
	add("set", oneHot(basket), nil)
	add("grid", oneHot(plan.Attribute{Name: "place", Kind: "grid", X: &plan.Axis{Low: 0, High: 1, Cells: 4}, Y: &plan.Axis{Low: 0, High: 1, Cells: 3}}), nil)
	add("sample", oneHot(drinks(), rising, basket), func(p *plan.Plan, h *plan.Histogram) { h.Collect, p.Crowd.Minimum = "sample", 3000 })
	add("split", oneHot(drinks(), rising, basket), func(_ *plan.Plan, h *plan.Histogram) { h.Collect = "split" })
	add("fragments", oneHot(drinks()), func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Fragments = 4 })
	add("spread", oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Randomizer.Fragments = 4
		spread(p, 2)
	})
	add("crowds", oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Crowds = []string{"north", "south"}
		c, _ := additive.NewCrowd(1, 1e-6)
		p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: c.Noise, Threshold: c.Threshold}
	})
	add("count-mean", oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Sketch, p.Crowd.Minimum = &plan.Sketch{Name: "count-mean", Hashes: 3, Width: 8, Seed: hexSeed}, 3000
	})
	add("count", oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Sketch, p.Crowd.Minimum = &plan.Sketch{Name: "count", Hashes: 3, Width: 8, Seed: hexSeed}, 3000
		h.Randomizer.Fragments = 2
	})
	add("split sketch", oneHot(drinks(), rising), func(p *plan.Plan, h *plan.Histogram) {
		h.Collect, p.Crowd.Minimum = "split", 3000
		h.Sketch = &plan.Sketch{Name: "count-mean", Hashes: 3, Width: 8, Seed: hexSeed}
	})
	for _, name := range []string{"krr", "subset", "local-hash", "hadamard"} {
		add(name, oneHot(drinks()), func(p *plan.Plan, h *plan.Histogram) {
			replacement(p, h)
			h.Randomizer.Name = name
			if name == "local-hash" {
				h.Randomizer.Functions, h.Randomizer.Seed = 5, hexSeed
			}
		})
	}
	return plans
}

func spread(p *plan.Plan, instances int) {
	one := p.Route.Mix.Instances[0]
	p.Route.Mix = &plan.Mix{Spread: plan.SpreadAll}
	for range instances {
		p.Route.Mix.Instances = append(p.Route.Mix.Instances, one)
	}
}

// answers is the value of respondent i to any of the designs.
func answers(p plan.Plan, i int) histogram.Answers {
	a := histogram.Answers{Crowd: i % p.Crowds()}
	for _, attribute := range p.Question.Histogram.Attributes {
		switch attribute.Kind {
		case "categories":
			a.Values = append(a.Values, []string{"coffee", "coffee", "tea", "beer"}[i%4])
		case "set":
			a.Values = append(a.Values, []int{i % 8, 7}[:1+i%2])
		case "buckets":
			a.Values = append(a.Values, 4+float64(i%9))
		case "grid":
			a.Values = append(a.Values, encode.Point{X: float64(i%5) / 5, Y: 0.5})
		}
	}
	return a
}

// Every kind of histogram can be designed, keeps its promise, and promises all
// but the least: with epsilon a per cent lower the same numbers are refused.
func TestHistogramsKeepTheirPromise(t *testing.T) {
	for name, p := range designs() {
		t.Run(name, func(t *testing.T) {
			p := design(t, p)
			promise, err := runnable(t, p).Promise()
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
			mentions(t, protocol.Check(off), "promise does not hold")
		})
	}
}

func TestHistogramFlow(t *testing.T) {
	for name, p := range designs() {
		t.Run(name, func(t *testing.T) {
			p := design(t, p)
			proto := runnable(t, p)
			tallies := newTallies(proto)
			const n = 2000
			for i := range n {
				symbol, err := proto.Encode(answers(p, i))
				if err != nil {
					t.Fatal(err)
				}
				r := replay.New(7, uint64(i))
				report, err := proto.Randomize(r, symbol, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range report.Parts {
					tallies[report.Crowd].Respondents++
					payloads := proto.Fragment(r, part)
					if len(payloads) != p.Envelopes.PerDevice {
						t.Fatalf("%d payloads, want %d", len(payloads), p.Envelopes.PerDevice)
					}
					for _, payload := range payloads {
						if err := proto.Count(tallies[report.Crowd].Tally, payload); err != nil {
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
			headline, sections, err := findings.Describe(model, findings.Public{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := stated(t, proto, tallies, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Headline, r.Sections = headline, append(sections, r.Sections...)
			r.Provenance.Software, r.Provenance.Randomness = "test", "seed 7"
			r.Created = p.Times.Opens.AddDate(2000, 0, 0)
			if err := r.Validate(); err != nil {
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
