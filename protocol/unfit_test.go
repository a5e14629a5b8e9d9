package protocol_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
)

// unfit wants a symbol beside an *OutOfDomainError.
func unfit(t testing.TB, p *protocol.Protocol, v question.Value) (question.Symbol, *question.OutOfDomainError) {
	t.Helper()
	symbol, err := p.Encode(v)
	u, ok := errors.AsType[*question.OutOfDomainError](err)
	if !ok || symbol == nil {
		t.Fatalf("symbol %v, error %v", symbol, err)
	}
	return symbol, u
}

// Every kind of answer that an attribute may have, of which some fit.
func anyAnswer(t *rapid.T, kind string) any {
	if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
		return nil
	}
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.5, 6}))
	text := rapid.OneOf(rapid.SampledFrom([]string{"coffee", "tea", "", "\xff", "\u0003"}), rapid.String())
	switch kind {
	case "set":
		return rapid.SliceOfN(rapid.IntRange(-2, 9), 0, 5).Draw(t, "items")
	case "buckets":
		return number.Draw(t, "number")
	case "grid":
		return encode.Point{X: number.Draw(t, "x"), Y: number.Draw(t, "y")}
	}
	return text.Draw(t, "text")
}

// Whatever a respondent holds, its device has something to say, of the plan's one
// shape: only a fault of the program is an error without a report.
func TestEveryValueIsAnswered(t *testing.T) {
	plans := example.Histograms()
	strict := example.Drinks()
	strict.Others = false
	for _, name := range []string{"krr", "hadamard", "count-mean", "fragments"} {
		p := plans[name]
		h := *p.Question.Histogram
		h.Attributes = []plan.Attribute{strict}
		p.Question.Histogram = &h
		plans["strict "+name] = p
	}
	for name, p := range plans {
		for _, way := range []string{plan.UnfitReference, plan.UnfitClip} {
			t.Run(name+" "+way, func(t *testing.T) {
				p := p
				p.Question.Unfit = way
				proto := example.Runnable(t, example.Design(t, p))
				rapid.Check(t, func(t *rapid.T) {
					var a histogram.Answers
					for _, attribute := range p.Question.Histogram.Attributes {
						a.Values = append(a.Values, anyAnswer(t, attribute.Kind))
					}
					symbol, err := proto.Encode(a)
					if _, ok := errors.AsType[*question.OutOfDomainError](err); err != nil && !ok {
						t.Fatalf("%v: %v", a, err)
					}
					if proto.Words().Unfit == "" && err != nil && !slices.Contains(a.Values, nil) {
						t.Fatalf("the domain is total, and still: %v", err)
					}
					report, err := proto.Randomize(seeded.New(rapid.Uint64().Draw(t, "seed")), symbol, nil)
					if err != nil || len(report.Parts) != p.Contributions() {
						t.Fatalf("%d parts, %v", len(report.Parts), err)
					}
					for _, part := range report.Parts {
						if got := fragment.Pack(seeded.New(1), part, proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes); len(got) != proto.Plan.Envelopes.PerDevice {
							t.Fatalf("%d payloads", len(got))
						}
					}
				})
			})
		}
	}
	for _, kernel := range []string{"gaussian", "ip-identity"} {
		p := example.Density("3nb")
		p.Question.Density.Kernel.Name = kernel
		if kernel == "ip-identity" {
			example.Identity(&p, 3)
		}
		proto := example.Runnable(t, example.Design(t, p))
		rapid.Check(t, func(t *rapid.T) {
			x := rapid.SliceOfN(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, 1, float32(math.NaN())})), 0, 5).Draw(t, "features")
			symbol, err := proto.Encode(density.Labelled{Features: x, Class: rapid.IntRange(-1, 3).Draw(t, "class")})
			if _, ok := errors.AsType[*question.OutOfDomainError](err); err != nil && !ok {
				t.Fatal(err)
			}
			report, err := proto.Randomize(seeded.New(2), symbol, nil)
			if err != nil || report.Crowd < 0 || report.Crowd > 1 {
				t.Fatalf("crowd %d, %v", report.Crowd, err)
			}
		})
	}
}

func TestUnfitValuesAreToldOf(t *testing.T) {
	split := example.Runnable(t, example.Design(t, example.Histograms()["split"]))
	good := example.Answers(split.Plan, 0).Values
	vectors := example.Runnable(t, example.Design(t, example.Density("rr")))
	for name, c := range map[string]struct {
		proto *protocol.Protocol
		value question.Value
		want  string
	}{
		"no number":     {split, histogram.Answers{Values: []any{good[0], math.NaN(), good[2]}}, `attribute "rising": encode: a value that is no number`},
		"outside":       {split, histogram.Answers{Values: []any{good[0], good[1], []int{62517}}}, "outside the declared domain"},
		"too many":      {split, histogram.Answers{Values: []any{good[0], good[1], []int{1, 2, 3}}}, "more than 2"},
		"no answer":     {split, histogram.Answers{Values: []any{good[0], nil, good[2]}}, "no answer"},
		"another class": {vectors, density.Labelled{Features: []float32{0, 0, 1}, Class: 62517}, "not one of the plan's 2"},
		"too short":     {vectors, density.Labelled{Features: []float32{0, 62517}}, "2 coordinates, the plan has 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, u := unfit(t, c.proto, c.value)
			example.Mentions(t, u, c.want, "stands in its place")
		})
	}
}

// What is clipped is the nearest that fits, and what cannot be is the reference.
func TestClipping(t *testing.T) {
	p := example.Histograms()["split"]
	p.Question.Unfit = plan.UnfitClip
	clip := example.Runnable(t, example.Design(t, p))
	p.Question.Unfit = plan.UnfitReference
	reference := example.Runnable(t, example.Design(t, p))
	good := example.Answers(p, 0).Values
	symbol := func(proto *protocol.Protocol, values ...any) string {
		s, err := proto.Encode(histogram.Answers{Values: values})
		if _, ok := errors.AsType[*question.OutOfDomainError](err); err != nil && !ok {
			t.Fatal(err)
		}
		return fmt.Sprint(s)
	}
	if got, want := symbol(clip, good[0], good[1], []int{5, 99, 2, 3}), symbol(clip, good[0], good[1], []int{2, 5}); got != want {
		t.Errorf("clipped to %s, want %s", got, want)
	}
	if got, want := symbol(reference, good[0], good[1], []int{5, 2, 3}), symbol(reference, good[0], good[1], []int{}); got != want {
		t.Errorf("the reference is %s, want %s", got, want)
	}
	if a, b := symbol(clip, good[0], math.NaN(), good[2]), symbol(reference, good[0], math.NaN(), good[2]); a != b {
		t.Errorf("what is no number is %s where clipped, and otherwise %s", a, b)
	}
	d := example.Density("rr")
	example.Identity(&d, 3)
	d.Question.Unfit = plan.UnfitClip
	proto := example.Runnable(t, example.Design(t, d))
	long, _ := unfit(t, proto, density.Labelled{Features: []float32{0, 3, 4}})
	unit, err := proto.Encode(density.Labelled{Features: []float32{0, 0.6, 0.8}})
	if err != nil || fmt.Sprint(long) != fmt.Sprint(unit) {
		t.Errorf("%v became %v, want %v (%v)", []float32{0, 3, 4}, long, unit, err)
	}
}

// Where some count for no cell, counts that could be true sum to no more than all.
func TestConsistentCountsLeaveRoomForTheReference(t *testing.T) {
	p := example.Histogram(example.OneHot(plan.Attribute{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}}))
	p.Budget.Epsilon = 8
	proto := example.Runnable(t, example.Design(t, p))
	for name, c := range map[string]struct {
		drink string
		sum   float64
	}{"all hold one": {"tea", 3000}, "two in three hold none": {"beer", 1000}} {
		var values []question.Value
		for i := range 3000 {
			v := "coffee"
			if i%3 > 0 {
				v = c.drink
			}
			values = append(values, histogram.Answers{Values: []any{v}})
		}
		tallies, err := distribution.Draw(proto, distribution.Values(values), func(part ...uint64) *rand.Rand { return seeded.New(1, part...) }, func(int) {})
		if _, ok := errors.AsType[*question.OutOfDomainError](err); err != nil && !ok {
			t.Fatal(err)
		}
		model, err := proto.Learn(tallies)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := model.(*histogram.Model).Tables[0].Consistent()
		sum := 0.0
		for _, n := range counts {
			sum += n
		}
		if err != nil || sum > 3000*(1+1e-9) || math.Abs(sum-c.sum) > 100 {
			t.Errorf("%s: %v sum to %v (%v), want about %v", name, counts, sum, err, c.sum)
		}
	}
}

// product is the law of two independent outcomes.
func product(p, q []float64) []float64 {
	out := make([]float64, 0, len(p)*len(q))
	for _, a := range p {
		for _, b := range q {
			out = append(out, a*b)
		}
	}
	return out
}

// ones is the law of how many of n come out as ones, each with probability p.
func ones(n int, p float64) []float64 {
	law := make([]float64, n+1)
	for k := range law {
		law[k] = math.Exp(prob.LogBinomialPMF(k, n, p))
	}
	return law
}

// worstPair is the largest delta at epsilon between the laws of any two targets.
func worstPair(epsilon float64, laws [][]float64) float64 {
	worst := 0.0
	for i := range laws {
		for j := range laws {
			if i != j {
				worst = max(worst, example.Hockey(epsilon, laws[i], laws[j]))
			}
		}
	}
	return worst
}

// enumerable is a plan so small that the law of all counts can be enumerated.
func enumerable(t testing.TB, p plan.Plan) (_ *protocol.Protocol, epsilon, delta float64) {
	t.Helper()
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.Delta, p.Budget.DishonestShare, p.Budget.LabelEpsilon = 24, 2, 1e-3, 0, 0
	if p.Question.Density != nil {
		p.Budget.LabelEpsilon = plan.Unprotected
	}
	proto := example.Runnable(t, example.Design(t, p))
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	return proto, promise.Shuffled.Epsilon, promise.Shuffled.Delta
}

// The law of all counts of a one-hot histogram of three cells, where the
// respondent in question holds any of them or sends the reference, keeps the
// promise for every pair of these, whatever the others hold. A device that says
// plainly that nothing fits does not keep it.
func TestTheReferenceKeepsTheOneHotPromise(t *testing.T) {
	for _, adjacency := range []string{"replacement", "removal"} {
		for _, name := range []string{"one-hot", "one-hot-asymmetric"} {
			p := example.Histogram(example.OneHot(plan.Attribute{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}}))
			p.Question.Histogram.Randomizer.Name = name
			p.Budget.Adjacency = adjacency
			proto, epsilon, delta := enumerable(t, p)
			z, n := proto.Plan.Question.Histogram.Randomizer, 24
			// counts of one cell where the target sends its bit with probability q and
			// so many others hold it.
			cell := func(q float64, holders int) []float64 {
				return example.Convolved([]float64{1 - q, q}, example.Convolved(ones(holders, z.Keep), ones(n-1-holders, z.Flip)))
			}
			for _, others := range [][3]int{{0, 0, 0}, {0, 0, n - 1}, {8, 8, 7}, {n - 1, 0, 0}, {1, 1, 1}} {
				law := func(held int, sent, other float64) []float64 {
					all := []float64{1}
					for c := range 3 {
						q := other
						if c == held {
							q = sent
						}
						all = product(all, cell(q, others[c]))
					}
					return all
				}
				reference, plain, told := law(-1, 0, z.Flip), law(-1, 0, 1), 0.0
				pairs := [][]float64{reference}
				for held := range 3 {
					one := law(held, z.Keep, z.Flip)
					if pairs = append(pairs, one); adjacency == "removal" { // which compares with the reference only
						pairs = [][]float64{reference, one}
					}
					if got := worstPair(epsilon, pairs); got > delta {
						t.Errorf("%s, %s, others %v: delta %v at epsilon %v", name, adjacency, others, got, epsilon)
					}
					told = max(told, worstPair(epsilon, [][]float64{plain, one}))
				}
				if told < 2*delta {
					t.Errorf("%s, %s, others %v: a device that sends all cells gives delta %v, which the test would take for private", name, adjacency, others, told)
				}
			}
		}
	}
}

// The same of one symbol a device: the reference is a symbol drawn uniformly.
func TestTheReferenceKeepsTheSymbolsPromise(t *testing.T) {
	p := example.Histogram(example.OneHot(plan.Attribute{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}}))
	p.Question.Histogram.Randomizer.Name = "krr"
	p.Budget.Adjacency = "replacement"
	proto, epsilon, delta := enumerable(t, p)
	e := math.Exp(proto.Plan.Question.Histogram.Randomizer.Epsilon)
	says := func(held int) [3]float64 {
		law := [3]float64{1 / (e + 2), 1 / (e + 2), 1 / (e + 2)}
		switch held {
		case -1: // the reference
			law = [3]float64{1. / 3, 1. / 3, 1. / 3}
		default:
			law[held] = e / (e + 2)
		}
		return law
	}
	const n = 24
	add := func(law []float64, one [3]float64) []float64 { // counts of the first two symbols
		out := make([]float64, len(law))
		for i, q := range law {
			if q == 0 {
				continue
			}
			a, b := i/(n+1), i%(n+1)
			out[i] += q * one[2]
			if a < n {
				out[i+n+1] += q * one[0]
			}
			if b < n {
				out[i+1] += q * one[1]
			}
		}
		return out
	}
	for _, others := range []func(i int) int{func(int) int { return 2 }, func(i int) int { return i % 3 }, func(int) int { return -1 }, func(i int) int { return i%2 - 1 }} {
		rest := make([]float64, (n+1)*(n+1))
		rest[0] = 1
		for i := range n - 1 {
			rest = add(rest, says(others(i)))
		}
		var laws [][]float64
		for held := -1; held < 3; held++ {
			laws = append(laws, add(rest, says(held)))
		}
		private := worstPair(epsilon, laws)
		if private > delta {
			t.Errorf("delta %v at epsilon %v", private, epsilon)
		}
		if got := worstPair(epsilon, append(laws, add(rest, [3]float64{1, 0, 0}))); got < 2*private {
			t.Errorf("a device that says plainly that nothing fits gives delta %v, others %v", got, private)
		}
	}
	// And that is what devices do.
	symbol, _ := unfit(t, proto, histogram.Answers{Values: []any{"beer"}})
	r := stattest.Rand(t)
	counts := make([]int, 3)
	for range 3000 {
		report, err := proto.Randomize(r, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		channel, _ := example.Said(t, report.Parts[0][0])
		counts[channel]++
	}
	stattest.GTest(t, []float64{1. / 3, 1. / 3, 1. / 3}, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{0.4, 0.3, 0.3}, counts) })
}

// The same of the bits of a density in two coordinates, whose vectors lie on the
// circle, and of which the reference is the centre.
func TestTheReferenceKeepsTheDensityPromise(t *testing.T) {
	p := example.Density("rr")
	example.Identity(&p, 2)
	proto, epsilon, delta := enumerable(t, p)
	flip, n := proto.Plan.Question.Density.Bitsum.FlipProbability, 24
	sent := func(x float64) float64 { return flip + (1-2*flip)*(1+x)/2 }
	for _, others := range []float64{-1, 0, 0.6, 1} {
		law := func(x, y float64) []float64 {
			channel := func(x, other float64) []float64 {
				return example.Convolved([]float64{1 - sent(x), sent(x)}, ones(n-1, sent(other)))
			}
			return product(channel(x, others), channel(y, math.Sqrt(1-others*others)))
		}
		laws := [][]float64{law(0, 0)} // the reference
		for _, angle := range []float64{0, 0.5, math.Pi / 4, math.Pi, 5 * math.Pi / 4} {
			laws = append(laws, law(math.Cos(angle), math.Sin(angle)))
		}
		if got := worstPair(epsilon, laws); got > delta {
			t.Errorf("others at %v: delta %v at epsilon %v", others, got, epsilon)
		}
	}
	// And that is what devices do.
	symbol, _ := unfit(t, proto, density.Labelled{Features: []float32{0, 0}})
	r := stattest.Rand(t)
	counts := make([]int, 4)
	for range 3000 {
		report, err := proto.Randomize(r, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, x := example.Said(t, report.Parts[0][0])
		_, y := example.Said(t, report.Parts[0][1])
		counts[2*x+y]++
	}
	stattest.GTest(t, []float64{0.25, 0.25, 0.25, 0.25}, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{0.3, 0.3, 0.2, 0.2}, counts) })
}

// The reference adds nothing to any estimate in expectation; where every answer is
// one cell, the same to each. What is compared are collections with and without such
// respondents.
func TestTheReferenceAddsNothing(t *testing.T) {
	const runs, respondents, unfit = 400, 120, 40
	for name, add := range map[string]float64{"categories": 0, "replacement": 0, "fragments": 0, "count-mean": 0, "count": 0, "krr": unfit / 3., "hadamard": unfit / 3.} {
		t.Run(name, func(t *testing.T) {
			p := example.Histograms()[name]
			h := *p.Question.Histogram
			h.Attributes = []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}}}
			p.Question.Histogram = &h
			p.Budget.Epsilon, p.Crowd.Minimum = 4, 300
			p = example.Design(t, p)
			p.Crowd.Minimum = respondents - unfit // fewer come; the noise stays what it is
			proto := example.Runnable(t, p)
			var values []question.Value
			for i := range respondents {
				v := []string{"coffee", "coffee", "tea"}[i%3]
				if i < unfit {
					v = "beer"
				}
				values = append(values, histogram.Answers{Values: []any{v}})
			}
			r := stattest.Rand(t)
			draw := func(values []question.Value, unfit int) []estimate.Value {
				seed := r.Uint64()
				tallies, err := distribution.Draw(proto, distribution.Values(values), func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }, func(int) {})
				if u, ok := errors.AsType[*question.OutOfDomainError](err); ok != (unfit > 0) || ok && u.Values != unfit || err != nil && !ok {
					t.Fatalf("%v", err)
				}
				return proto.Estimate(tallies)[0]
			}
			z := make([][]float64, 3)
			var shifted []float64
			for range runs {
				with, without := draw(values, unfit), draw(values[unfit:], 0)
				for c := range z {
					z[c] = append(z[c], (with[c].Mean-without[c].Mean-add)/math.Hypot(with[c].StdErr, without[c].StdErr))
				}
				shifted = append(shifted, (with[0].Mean-without[0].Mean-add-unfit)/math.Hypot(with[0].StdErr, without[0].StdErr))
			}
			for c := range z {
				stattest.Mean(t, 0, 1.5, z[c])
			}
			stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 0, 1.5, shifted) })
		})
	}
	t.Run("density", func(t *testing.T) {
		p := example.Density("rr")
		example.Identity(&p, 2)
		p.Budget.Epsilon, p.Crowd.Minimum, p.Budget.LabelEpsilon = 4, 100, plan.Unprotected
		p.Crowd.Names = []string{"all"}
		proto := example.Runnable(t, example.Design(t, p))
		var values []question.Value
		for i := range respondents {
			x := []float32{1, 0}
			if i < unfit {
				x = []float32{0, 0}
			}
			values = append(values, density.Labelled{Features: x})
		}
		r := stattest.Rand(t)
		var z, silent []float64
		for range runs {
			seed := r.Uint64()
			tallies, err := distribution.Draw(proto, distribution.Values(values), func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }, func(int) {})
			if u, ok := errors.AsType[*question.OutOfDomainError](err); !ok || u.Values != unfit {
				t.Fatal(err)
			}
			v := proto.Estimate(tallies)[0][0]
			// Ones of the first bit: everybody's whose x is 1, and half of the others'.
			z = append(z, (v.Mean-(respondents-unfit)-unfit/2.)/v.StdErr)
			silent = append(silent, (v.Mean-(respondents-unfit))/v.StdErr)
		}
		stattest.Mean(t, 0, 2, z)
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 0, 2, silent) })
	})
}
