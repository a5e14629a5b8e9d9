package plan

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// histogram is a valid plan of a histogram with two attributes in two crowds, with
// report fragments; tests change one thing at a time.
func histogram() Plan {
	p := sample()
	p.Title = "What do people drink, and when do they rise?"
	p.Question = Question{Kind: "histogram", Unfit: "reference", Histogram: &Histogram{
		Attributes: []Attribute{
			{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea"}, Others: true},
			{Name: "rising", Kind: "buckets", Low: 4, High: 12, Cells: 16},
		},
		Collect: CollectSample,
		Randomizer: Randomizer{Name: "one-hot", Accounting: "exact", Epsilon: 3, Keep: 0.9375, Flip: 0.0625,
			Fragments: 4, Backstop: 4, BackstopKeep: 0.96875, BackstopFlip: 0.03125},
	}}
	p.Budget = Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal", DishonestShare: 0.05}
	p.Crowd.Names, p.Crowd.Deletion = []string{"north", "south"}, &Deletion{Epsilon: 1, Delta: 1e-6, Noise: 0.5, Threshold: 27}
	return p
}

func TestHistogramIsGolden(t *testing.T) {
	if err := histogram().Validate(); err != nil {
		t.Fatal(err)
	}
	golden(t, "histogram.json", append(histogram().Canonical(), '\n'))
	p, err := Parse(histogram().Canonical())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(histogram(), p); diff != "" {
		t.Errorf("the canonical form reads back another plan:\n%s", diff)
	}
}

// Plans come from outside: each of these is refused, with all that is wrong with it.
func TestHistogramProblemsAreListed(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(p *Plan, h *Histogram)
		want []string
	}{
		"nothing asked": {func(p *Plan, h *Histogram) { h.Attributes = nil }, []string{"attributes"}},
		"names": {func(p *Plan, h *Histogram) {
			h.Attributes[1].Name, p.Crowd.Names, h.Attributes[0].Values = "drink", []string{"a", "a", ""}, []string{"x", "x"}
		}, []string{`attribute "drink" is named twice`, `crowd.names: "a" is named twice`, "name at 3", `values: "x" is named twice`}},
		"control characters": {func(p *Plan, h *Histogram) {
			h.Attributes[0].Name, h.Attributes[0].Values, p.Crowd.Names = "a\x1b", []string{"b\n"}, []string{"c\x00"}
		}, []string{"attributes[0].name holds", "values: \"b\\n\" holds", "crowd.names: \"c\\x00\" holds"}},
		"kinds": {func(p *Plan, h *Histogram) {
			h.Attributes[0].Kind, h.Attributes[1].Most, h.Collect = "colours", 3, "guess"
		}, []string{"attributes[0].kind", "most belongs to set", "collect"}},
		"numbers": {func(p *Plan, h *Histogram) {
			h.Attributes[0] = Attribute{Name: "g", Kind: "grid", X: &Axis{0, math.Inf(1), 0}}
			h.Attributes[1] = Attribute{Name: "s", Kind: "set", Size: 3, Most: 4}
			h.Randomizer.Keep, h.Randomizer.BackstopFlip, h.Randomizer.Epsilon = 2, 0.99, math.NaN()
		}, []string{"x: low must be below high", "x.cells", "y is missing", "most must be", "keep must be", "backstop_flip", "epsilon"}},
		"another's numbers": {func(p *Plan, h *Histogram) {
			h.Randomizer = Randomizer{Name: "krr", Accounting: "exact", Epsilon: 1, Keep: 0.5, Fragments: 3, Seed: "00"}
		}, []string{"keep belongs to one-hot", "fragments belongs to one-hot", "seed belongs to local-hash"}},
		"hash": {func(p *Plan, h *Histogram) {
			h.Randomizer = Randomizer{Name: "local-hash", Accounting: "exact", Epsilon: 1, Seed: "zz"}
		}, []string{"range", "functions", "seed"}},
		"2^52 cells": {func(p *Plan, h *Histogram) {
			h.Attributes[0] = Attribute{Name: "g", Kind: "grid", X: &Axis{0, 1, 1 << 26}, Y: &Axis{0, 1, 1 << 26}}
		}, []string{"more than 67108864 cells"}},
		"a sketch beyond all": {func(p *Plan, h *Histogram) {
			h.Sketch = &Sketch{Name: "count-mean", Hashes: 1 << 16, Width: 1 << 26, Seed: strings.Repeat("0", 64)}
		}, []string{"more than 67108864 cells"}},
		"sizes that overflow": {func(p *Plan, h *Histogram) {
			h.Attributes[0] = Attribute{Name: "n", Kind: "categories", Size: math.MaxInt}
			h.Sketch = &Sketch{Name: "mean", Hashes: math.MaxInt, Width: math.MaxInt, Seed: ""}
		}, []string{"size", "sketch.name", "hashes", "width", "sketch.seed"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := histogram()
			h := *p.Question.Histogram
			h.Attributes = append([]Attribute(nil), h.Attributes...)
			p.Question.Histogram = &h
			c.hurt(&p, &h)
			err := p.Validate()
			var ps Problems
			if !errors.As(err, &ps) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not reported in:\n%v", want, err)
				}
			}
		})
	}
}
