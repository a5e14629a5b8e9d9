package simulate_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// tiny are histograms of every kind over few cells, their noise written down.
func tiny(name string) plan.Plan {
	p := sample("rr", 1)
	h := &plan.Histogram{
		Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}}},
		Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact", Epsilon: 1, Keep: 0.75, Flip: 0.2},
	}
	p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: h}
	p.Crowd.Names = nil
	p.Budget.Adjacency, p.Budget.LabelEpsilon = "replacement", 0
	p.Envelopes.PerDevice = 24 // so many that none overflow
	more := plan.Attribute{Name: "snack", Kind: "categories", Size: 2}
	z := &h.Randomizer
	switch name {
	case "sample", "split":
		h.Attributes, h.Collect = append(h.Attributes, more), name
	case "set":
		h.Attributes[0].Kind, h.Attributes[0].Most = "set", 2
	case "fragments":
		z.Fragments, z.Backstop, z.BackstopKeep, z.BackstopFlip = 4, 2, 0.9, 0.15
	case "spread":
		z.Fragments, z.Backstop, z.BackstopKeep, z.BackstopFlip = 4, 2, 0.9, 0.15
		p.Route.Mix.Spread = plan.SpreadAll
		p.Route.Mix.Instances = append(p.Route.Mix.Instances, plan.Instance{Hops: []plan.Party{{Operator: "East"}}})
	case "count-mean", "count":
		h.Sketch = &plan.Sketch{Name: name, Hashes: 2, Width: 3, Seed: strings.Repeat("5a", 32)}
	case "krr", "hadamard":
		*z = plan.Randomizer{Name: name, Accounting: "exact", Epsilon: 1.5}
	case "subset":
		*z = plan.Randomizer{Name: name, Accounting: "exact", Epsilon: 1.5, Subset: 2}
	case "local-hash":
		*z = plan.Randomizer{Name: name, Accounting: "exact", Epsilon: 1.5, Range: 3, Functions: 2, Seed: strings.Repeat("5a", 32)}
	}
	return p
}

var kinds = []string{"one-hot", "sample", "split", "set", "fragments", "spread", "count-mean", "count", "krr", "subset", "local-hash", "hadamard"}

// drinkers hold cell i mod 3, or two cells where they may.
func drinkers(p plan.Plan, n int) []question.Value {
	values := make([]question.Value, n)
	for i := range values {
		var held any = i % 3
		if p.Question.Histogram.Attributes[0].Kind == "set" {
			held = []int{i % 3, (i + 1) % 3}[:1+i%2]
		}
		values[i] = histogram.Answers{Values: []any{[]string{"coffee", "tea", "water"}[i%3], i % 2}[:len(p.Question.Histogram.Attributes)]}
		if _, ok := held.([]int); ok {
			names := []string{}
			for _, c := range held.([]int) {
				names = append(names, []string{"coffee", "tea", "water"}[c])
			}
			values[i] = histogram.Answers{Values: []any{names}}
		}
	}
	return values
}

// saying is the law of the counts of channels 0 and 1 from respondent i, in all its
// contributions, written from the definition of the mechanism.
func saying(p plan.Plan, i int) pairs {
	h := p.Question.Histogram
	z := h.Randomizer
	x := i % 3
	law := make(pairs, side*side)
	switch z.Name {
	case "krr":
		e := math.Exp(z.Epsilon)
		at := func(y int) float64 {
			if y == x {
				return e / (e + 2)
			}
			return 1 / (e + 2)
		}
		law[side], law[1], law[0] = at(0), at(1), at(2)
		return law
	case "subset": // of {0,1}, {0,2}, {1,2} those that hold x are e^epsilon times as likely
		e := math.Exp(z.Epsilon)
		at := func(holds bool) float64 {
			if holds {
				return e / (2*e + 1)
			}
			return 1 / (2*e + 1)
		}
		law[side+1], law[side], law[1] = at(x != 2), at(x != 1), at(x != 0)
		return law
	case "hadamard": // columns 0 and 1 of 4; row x+1
		e := math.Exp(z.Epsilon)
		at := func(column int) float64 {
			if bits.OnesCount(uint((x+1)&column))%2 == 0 {
				return e / (e + 1) / 2
			}
			return 1 / (e + 1) / 2
		}
		law[side], law[1] = at(0), at(1)
		law[0] = 1 - law[side] - law[1]
		return law
	case "local-hash":
		m := randomize.LocalHash{K: 3, G: z.Range, Functions: z.Functions, Epsilon: z.Epsilon}
		for b := range m.Seed {
			m.Seed[b] = 0x5a
		}
		e := math.Exp(z.Epsilon)
		at := func(symbol int) float64 { // of function 0, one of two
			if m.Hash(0, x) == symbol {
				return e / (e + 2) / 2
			}
			return 1 / (e + 2) / 2
		}
		law[side], law[1] = at(0), at(1)
		law[0] = 1 - law[side] - law[1]
		return law
	}
	asked := 1.0
	held := []bool{x == 0, x == 1}
	switch {
	case h.Collect == "sample":
		asked = 0.5
	case h.Attributes[0].Kind == "set":
		second := (i + 1) % 3
		held = []bool{x == 0 || i%2 == 1 && second == 0, x == 1 || i%2 == 1 && second == 1}
	case h.Sketch != nil:
		asked = 0.5 // row 0 of two
		cell := hashed(h.Sketch, uint32(x))
		held = []bool{cell == 0, cell == 1}
	}
	zero, one := cellLaw(z, held[0]), cellLaw(z, held[1])
	for a, pa := range zero {
		for b, pb := range one {
			law[a*side+b] = asked * pa * pb
		}
	}
	law[0] += 1 - asked
	return law
}

func hashed(s *plan.Sketch, value uint32) uint32 {
	var seed [32]byte
	for b := range seed {
		seed[b] = 0x5a
	}
	if s.Name == "count" {
		c, err := sketch.NewCount(s.Hashes, s.Width, seed)
		if err != nil {
			panic(err)
		}
		return c.Cell(0, value)
	}
	c, err := sketch.NewCountMean(s.Hashes, s.Width, seed)
	if err != nil {
		panic(err)
	}
	return c.Cell(0, value)
}

// cellLaw is the law of one device's messages for one cell: a bit, or tau bits that
// share a backstop.
func cellLaw(z plan.Randomizer, held bool) []float64 {
	send := func(held bool) float64 {
		if held {
			return z.Keep
		}
		return z.Flip
	}
	if z.Fragments == 0 {
		return []float64{1 - send(held), send(held)}
	}
	kept := z.BackstopFlip
	if held {
		kept = z.BackstopKeep
	}
	law := make([]float64, z.Fragments+1)
	for k := range law {
		law[k] = kept*prob.BinomialPMF(k, z.Fragments, send(true)) + (1-kept)*prob.BinomialPMF(k, z.Fragments, send(false))
	}
	return law
}

// The two fidelities agree in law for every kind of histogram: over 6,000
// collections from eight devices, the pair of counts of the first two channels has
// its exact law, be it drawn as a total or counted message by message. A keep that
// is 10 % off, or an epsilon that is 25 % off, would be caught.
func TestBothFidelitiesOfHistogramsHaveTheExactLaw(t *testing.T) {
	const devices, runs = 8, 6000
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := tiny(kind)
			proto, _ := runnable(t, p)
			values := drinkers(p, devices)
			exact := func(p plan.Plan) pairs {
				all := make(pairs, side*side)
				all[0] = 1
				for i := range values {
					all = all.plus(saying(p, i))
				}
				return all
			}
			drawn, counted := make([]int, side*side), make([]int, side*side)
			at := func(n []uint64) int { return min(int(n[0]), side-1)*side + min(int(n[1]), side-1) }
			r := stattest.Rand(t)
			for range runs {
				col, err := simulate.Law(proto, distribution.Values(values), r.Uint64(), quiet)
				if err != nil {
					t.Fatal(err)
				}
				if want := devices * p.Contributions(); col.Crowds[0].Respondents != want {
					t.Fatalf("%d contributions, want %d", col.Crowds[0].Respondents, want)
				}
				drawn[at(cells(col.Crowds[0]))]++
				counted[at(cells(unsealed(t, proto, values, func(int) *rand.Rand { return r })[0]))]++
			}
			stattest.GTest(t, exact(p), drawn)
			stattest.GTest(t, exact(p), counted)
			off := p
			h := *p.Question.Histogram
			off.Question.Histogram = &h
			h.Randomizer.Keep *= 0.9
			h.Randomizer.Epsilon /= 3
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, exact(off), drawn) })
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, exact(off), counted) })
		})
	}
}

// Sealing, mixing and opening deliver every message of a histogram once, through
// one instance or spread over several.
func TestSealsChangeNothingOfHistograms(t *testing.T) {
	for _, kind := range kinds {
		p := tiny(kind)
		proto, keys := runnable(t, p)
		values := drinkers(p, 6)
		const seed = 5
		col, err := simulate.Full(proto, keys, values, seed, quiet)
		if err != nil {
			t.Fatal(kind, err)
		}
		want := unsealed(t, proto, values, func(i int) *rand.Rand { return seeded.New(seed, uint64(i)) })
		if diff := cmp.Diff(cells(want[0]), cells(col.Crowds[0])); diff != "" {
			t.Errorf("%s: counts differ (-unsealed +full):\n%s", kind, diff)
		}
		if n := len(values) * p.Contributions(); col.Crowds[0].Respondents != n || col.Fragments != n*p.Envelopes.PerDevice || col.Dropped != 0 {
			t.Errorf("%s: %d contributions, %d fragments, %d dropped", kind, col.Crowds[0].Respondents, col.Fragments, col.Dropped)
		}
	}
}
