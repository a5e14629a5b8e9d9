package histogram_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Plans come from outside: each of these is refused, with all that is wrong with it.
func TestHistogramProblemsAreListed(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(p *plan.Plan, h *plan.Histogram)
		want []string
	}{
		"nothing asked": {func(p *plan.Plan, h *plan.Histogram) { h.Attributes = nil }, []string{"attributes"}},
		"names": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[1].Name, p.Crowd.Names, h.Attributes[0].Values = "drink", []string{"a", "a", ""}, []string{"x", "x"}
		}, []string{`attribute "drink" is named twice`, `crowd.names: "a" is named twice`, "name at 3", `values: "x" is named twice`}},
		"control characters": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0].Name, h.Attributes[0].Values, p.Crowd.Names = "a\x1b", []string{"b\n"}, []string{"c\x00"}
		}, []string{"attributes[0].name holds", "values: \"b\\n\" holds", "crowd.names: \"c\\x00\" holds"}},
		"kinds": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0].Kind, h.Attributes[1].Most, h.Collect = "colours", 3, "guess"
		}, []string{"attributes[0].kind", "most belongs to set", "collect"}},
		"of a table alone": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "a", Kind: "mean", High: 1}
			h.Attributes[1] = plan.Attribute{Name: "b", Kind: "open", Least: 20}
		}, []string{"attributes[0].kind must be one of categories, buckets, set, grid", "attributes[1].kind must"}},
		"arms": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "a", Kind: "categories", Values: []string{"x", "y", "z"}, Arms: []string{"old", "new"}, Outcomes: []string{"no", "no"}}
			h.Attributes[1].Arms = []string{"old", "new"}
		}, []string{"attributes[0].arms and outcomes are 2 or more of each", `attributes[0].outcomes: "no" is named twice`, "attributes[1].arms belongs to categories"}},
		"numbers": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "g", Kind: "grid", X: &plan.Axis{Low: 0, High: math.Inf(1)}}
			h.Attributes[1] = plan.Attribute{Name: "s", Kind: "set", Size: 3, Most: 4}
			h.Randomizer.Keep, h.Randomizer.BackstopFlip, h.Randomizer.Epsilon = 2, 0.99, math.NaN()
		}, []string{"x: low must be below high", "x.cells", "y is missing", "most must be", "keep must be", "backstop_flip", "epsilon"}},
		"another's numbers": {func(p *plan.Plan, h *plan.Histogram) {
			h.Randomizer = plan.Randomizer{Name: "krr", Accounting: "exact", Epsilon: 1, Keep: 0.5, Fragments: 3, Seed: "00"}
		}, []string{"keep belongs to one-hot", "fragments belongs to one-hot", "seed belongs to local-hash"}},
		"hash": {func(p *plan.Plan, h *plan.Histogram) {
			h.Randomizer = plan.Randomizer{Name: "local-hash", Accounting: "exact", Epsilon: 1, Seed: "zz"}
		}, []string{"range", "functions", "seed"}},
		"2^52 cells": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "g", Kind: "grid", X: &plan.Axis{Low: 0, High: 1, Cells: 1 << 26}, Y: &plan.Axis{Low: 0, High: 1, Cells: 1 << 26}}
		}, []string{"more than 67108864 cells"}},
		"a sketch beyond all": {func(p *plan.Plan, h *plan.Histogram) {
			h.Sketch = &plan.Sketch{Name: "count-mean", Hashes: 1 << 16, Width: 1 << 26, Seed: strings.Repeat("0", 64)}
		}, []string{"more than 67108864 cells"}},
		"sizes that overflow": {func(p *plan.Plan, h *plan.Histogram) {
			h.Attributes[0] = plan.Attribute{Name: "n", Kind: "categories", Size: math.MaxInt}
			h.Sketch = &plan.Sketch{Name: "mean", Hashes: math.MaxInt, Width: math.MaxInt, Seed: ""}
		}, []string{"size", "sketch.name", "hashes", "width", "sketch.seed"}},
		"parts that do not fit": {func(p *plan.Plan, h *plan.Histogram) {
			p.Budget.LabelEpsilon, p.Question.Unfit = 1, ""
			h.Randomizer = plan.Randomizer{Name: "krr", Accounting: "exact", Epsilon: 1}
			h.Sketch = &plan.Sketch{Name: "count", Hashes: 2, Width: 8, Seed: strings.Repeat("0", 64)}
		}, []string{"budget.label_epsilon", "question.unfit is missing", `"krr" cannot`, "draws a row for each respondent", "is accounted for replacement"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := example.Golden(t, "histogram.json")
			h := *p.Question.Histogram
			h.Attributes = append([]plan.Attribute(nil), h.Attributes...)
			p.Question.Histogram = &h
			c.hurt(&p, &h)
			err := protocol.Validate(p)
			var ps plan.Problems
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
