package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
)

// budget is what a population has spent, plan by plan.
type budget struct {
	Name   string
	Full   float64 // in [0, 1]
	Words  string
	Stacks []stack
	Ghost  string // what the pale part is of
	Over   bool   // it does not fit, by epsilon
}

// stack is one plan's part of the bar, in percent.
type stack struct {
	X, Width float64
	Shade    int
	Name     string
}

// budgets returns those that an analyzer keeps: each plan a part of the bar, and after them a pale one
// of a plan that may come, of the planned epsilon, or of that of the last plan where it is 0.
func (c *Console) budgets(ctx context.Context, p party, planned float64) (all []budget) {
	for _, g := range p.Status.Gauges {
		name, ok := strings.CutPrefix(g.Name, "budget of ")
		if !ok {
			continue
		}
		b := budget{Name: name, Full: g.Share, Words: g.Text}
		text, err := c.o.Operator.Get(ctx, p.URL+"/v1/budgets/"+url.PathEscape(name))
		var of analyzerd.Budget
		if err == nil && json.Unmarshal(text, &of) == nil && len(of.Plans) > 0 {
			b.stack(of, g.Share, planned)
		}
		all = append(all, b)
	}
	return all
}

// stack draws a budget of which so much is spent. Widths are by epsilon, and so rough: what fits
// the analyzer computes when a plan is registered.
func (b *budget) stack(of analyzerd.Budget, share, planned float64) {
	sum := 0.0
	for _, s := range of.Plans {
		sum += s.Epsilon
	}
	wide := func(epsilon float64) float64 { return 100 * share * epsilon / max(sum, 1e-300) }
	at := 0.0
	for i, s := range of.Plans {
		b.Stacks = append(b.Stacks, stack{at, wide(s.Epsilon), i % 6, fmt.Sprintf("%s: epsilon %.3g (replacement)", s.Publisher, s.Epsilon)})
		at += wide(s.Epsilon)
	}
	ghost, words := planned, fmt.Sprintf("planned: epsilon %.3g (replacement)", planned)
	if planned == 0 {
		ghost, words = of.Plans[len(of.Plans)-1].Epsilon, "one more like the last"
	}
	b.Ghost, b.Over = words, at+wide(ghost) > 100
	b.Stacks = append(b.Stacks, stack{at, min(wide(ghost), 100-at), -1, words})
}
