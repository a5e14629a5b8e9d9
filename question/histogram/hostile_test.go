package histogram_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Plans come from outside: each of these would take a device down, or promises what
// does not hold.
func TestHostileHistogramsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		from string
		hurt func(p *plan.Plan, h *plan.Histogram)
	}{
		"2^26 cells": {"categories", func(_ *plan.Plan, h *plan.Histogram) { h.Attributes[0].Values, h.Attributes[0].Size = nil, 1<<26 }},
		"no cells":   {"categories", func(_ *plan.Plan, h *plan.Histogram) { h.Attributes[0].Values = nil }},
		"one cell": {"categories", func(_ *plan.Plan, h *plan.Histogram) {
			h.Attributes[0].Values, h.Attributes[0].Others = []string{"tea"}, false
		}},
		"cells narrower than 0": {"split", func(_ *plan.Plan, h *plan.Histogram) {
			h.Attributes[1].Low, h.Attributes[1].High = 1, math.Nextafter(1, 2)
		}},
		"too little noise": {"categories", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Flip /= 2 }},
		"no noise":         {"categories", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Keep, h.Randomizer.Flip = 1, 0 }},
		"a larger set":     {"set", func(_ *plan.Plan, h *plan.Histogram) { h.Attributes[0].Most++ }},
		"another attribute": {"split", func(_ *plan.Plan, h *plan.Histogram) {
			h.Attributes = append(h.Attributes, plan.Attribute{Name: "more", Kind: "categories", Size: 2})
		}},
		"split for sample":  {"sample", func(_ *plan.Plan, h *plan.Histogram) { h.Collect = "split" }},
		"replacement":       {"categories", func(p *plan.Plan, _ *plan.Histogram) { p.Budget.Adjacency = "replacement" }},
		"removal":           {"krr", func(p *plan.Plan, _ *plan.Histogram) { p.Budget.Adjacency = "removal" }},
		"fewer respondents": {"categories", func(p *plan.Plan, _ *plan.Histogram) { p.Crowd.Minimum /= 2 }},
		"more liars":        {"krr", func(p *plan.Plan, _ *plan.Histogram) { p.Budget.DishonestShare = 0.6 }},
		"more rows":         {"count-mean", func(_ *plan.Plan, h *plan.Histogram) { h.Sketch.Hashes *= 2 }},
		"a sketch's seed":   {"count-mean", func(_ *plan.Plan, h *plan.Histogram) { h.Sketch.Seed = "" }},
		"rows without end":  {"count-mean", func(_ *plan.Plan, h *plan.Histogram) { h.Sketch.Hashes, h.Sketch.Width = 1<<25, 2 }},
		"a sketch of symbols": {"krr", func(_ *plan.Plan, h *plan.Histogram) {
			h.Sketch = &plan.Sketch{Name: "count", Hashes: 2, Width: 8, Seed: example.Seed}
		}},
		"a set of symbols": {"krr", func(_ *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "s", Kind: "set", Size: 4, Most: 2}
		}},
		"a set of one symbol": {"krr", func(_ *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "s", Kind: "set", Size: 4, Most: 1}
		}},
		"functions without end": {"local-hash", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Functions = math.MaxInt }},
		"a subset of all":       {"subset", func(p *plan.Plan, h *plan.Histogram) { h.Randomizer.Subset = 4 }},
		"fewer envelopes":       {"subset", func(p *plan.Plan, h *plan.Histogram) { h.Randomizer.Subset = 2 }},
		"fragments that do fit": {"spread", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Fragments = 5 }},
		"fragments without end": {"fragments", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Fragments = 1 << 40 }},
		"a backstop of nothing": {"fragments", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.BackstopKeep, h.Randomizer.BackstopFlip = 1, 0 }},
		"deletion in spreads": {"spread", func(p *plan.Plan, _ *plan.Histogram) {
			p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: 0.5, Threshold: 50}
		}},
		"deletion without noise": {"crowds", func(p *plan.Plan, _ *plan.Histogram) {
			p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: 0.5}
		}},
		"epsilon without end": {"krr", func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Epsilon = 1e300 }},
	} {
		t.Run(name, func(t *testing.T) {
			p := example.Design(t, example.Histograms()[c.from])
			if err := protocol.Check(p); err != nil {
				t.Fatal(err)
			}
			h := *p.Question.Histogram
			h.Attributes = append([]plan.Attribute(nil), h.Attributes...)
			if h.Sketch != nil {
				s := *h.Sketch
				h.Sketch = &s
			}
			p.Question.Histogram = &h
			c.hurt(&p, &h)
			if err := protocol.Check(p); err == nil {
				t.Error("accepted")
			} else if len(err.Error()) > 1000 || strings.Contains(err.Error(), "NaN") {
				t.Errorf("unreadable: %v", err)
			}
		})
	}
}

// The accountant's time is bounded whatever crowd a plan speaks of.
func TestCrowdsOfEverybodyAreChecked(t *testing.T) {
	for _, name := range []string{"categories", "asymmetric", "krr", "hadamard", "sample", "fragments"} {
		p := example.Design(t, example.Histograms()[name])
		p.Crowd.Minimum = plan.MaxCrowd
		p.Envelopes.PerDevice += 20 // of so many devices one would overflow
		h := *p.Question.Histogram
		p.Question.Histogram = &h
		if !h.Randomizer.OneHot() {
			h.Randomizer.Epsilon = 1e-3
			h.Attributes = append([]plan.Attribute{{Name: "more", Kind: "categories", Size: 5}}, h.Attributes...)
			h.Collect = "split"
		}
		if err := protocol.Check(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongAnswersAreRefused(t *testing.T) {
	proto := example.Runnable(t, example.Design(t, example.Histograms()["split"]))
	good := example.Answers(proto.Plan, 0).Values
	for name, c := range map[string]struct {
		value question.Value
		want  string
	}{
		"another kind":     {density.Labelled{}, "Answers"},
		"a crowd too many": {histogram.Answers{Crowd: 1, Values: good}, "crowd"},
		"one too few":      {histogram.Answers{Values: good[:2]}, "2 answers to 3"},
		"another type":     {histogram.Answers{Values: []any{62517.5, good[1], good[2]}}, `"drink": takes a string or an int, not float64`},
		"a point":          {histogram.Answers{Values: []any{encode.Point{X: 62517}, good[1], good[2]}}, "takes a string"},
	} {
		symbol, err := proto.Encode(c.value)
		if err == nil || symbol != nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		example.Mentions(t, err, c.want)
	}
}
