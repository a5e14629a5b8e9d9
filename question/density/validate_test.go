package density_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Plans come from outside: all that is wrong with one is listed, what its kind says beside
// what is of any plan.
func TestDensityProblemsAreListed(t *testing.T) {
	for name, c := range map[string]struct {
		hurt func(p *plan.Plan, d *plan.Density)
		want []string
	}{
		"title": {func(p *plan.Plan, d *plan.Density) { p.Title, d.Dimension = "", 0 }, []string{"2 problems", "title", "question.density.dimension 0: must be from 1"}},
		"names": {func(_ *plan.Plan, d *plan.Density) {
			d.Kernel = plan.Kernel{Name: strings.Repeat("cosine", 1000), Seed: "zz"}
			d.Bitsum = plan.Bitsum{Name: "rr", Accounting: "guess", FlipProbability: 0.5, Noise: 1}
		}, []string{"kernel.name must be one of exponential", "kernel.seed", "accounting", "flip_probability", "noise belongs to 3nb"}},
		"kernel": {func(_ *plan.Plan, d *plan.Density) {
			d.Kernel.Bandwidth, d.Kernel.Clip, d.Repetitions = 0, 2, 1<<40
		}, []string{"bandwidth 0: must be between", "clip 2: only", "repetitions of 1 channels: at most 4194304"}},
		"one map": {func(_ *plan.Plan, d *plan.Density) {
			d.Kernel.Name, d.Kernel.Bandwidth = "ip-identity", 0
		}, []string{"holds all of a value, so ask for 1"}},
		"too large": {func(_ *plan.Plan, d *plan.Density) { d.Dimension, d.Repetitions = 1<<20, 1<<10 }, []string{"at most 134217728 weights"}},
		"budget":    {func(p *plan.Plan, _ *plan.Density) { p.Budget.Adjacency, p.Budget.LabelEpsilon = "removal", 0 }, []string{`budget.adjacency must be "replacement"`, "budget.label_epsilon is missing"}},
		"crowd":     {func(p *plan.Plan, _ *plan.Density) { p.Crowd.Names, p.Question.Unfit = nil, "" }, []string{"crowd.names is missing", "question.unfit is missing"}},
		"spread":    {func(p *plan.Plan, _ *plan.Density) { p.Route.Mix.Spread = plan.SpreadAll }, []string{"route.mix.spread: a density has no report fragments"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := example.Golden(t, "canonical.json")
			c.hurt(&p, p.Question.Density)
			err := protocol.Validate(p)
			ps, ok := errors.AsType[plan.Problems](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if n := len(ps.Error()); n > 1<<12 {
				t.Errorf("an error of %d bytes", n)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not reported in:\n%v", want, err)
				}
			}
		})
	}
}

// Noise that is divided needs to be told how many may add it.
func TestDividedNoiseNeedsAMaximum(t *testing.T) {
	for bitsum, needed := range map[string]bool{"rr": false, "poisson": false, "3nb": true, "nb": true, "pure": true} {
		p := example.Golden(t, "canonical.json")
		p.Question.Density.Bitsum = plan.Bitsum{Name: bitsum, Accounting: "exact", FlipProbability: 0.1}
		if err := protocol.Validate(p); strings.Contains(fmt.Sprint(err), "crowd.maximum is missing") != needed {
			t.Errorf("%s: %v", bitsum, err)
		}
		for maximum, refused := range map[int]bool{p.Crowd.Minimum - 1: true, -1: true, p.Crowd.Minimum: false, 2 * p.Crowd.Minimum: false} {
			p.Crowd.Maximum = maximum
			if err := protocol.Validate(p); strings.Contains(fmt.Sprint(err), "crowd.maximum") != refused {
				t.Errorf("%s, maximum %d of a minimum of %d: %v", bitsum, maximum, p.Crowd.Minimum, err)
			}
		}
	}
}
