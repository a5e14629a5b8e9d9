package issuer

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/token"
)

// No more respondents get tokens than may count in all crowds of all instances; whoever
// has asked before is answered again.
func TestTokensForAsManyAsMayCount(t *testing.T) {
	w := newWorld(t)
	asks, _ := w.ask(token.Seed{1})
	p, _ := w.service.plans.Find(w.plan.Hash())
	p.plan.Crowd.Maximum = 3
	marks := func(respondent int) (all []mark) {
		for _, a := range asks.Asks {
			all = append(all, w.service.mark(p, serve.Respondent{byte(respondent)}, a))
		}
		return all
	}
	most := 3 * p.plan.Crowds() * len(p.plan.Route.Mix.Instances)
	for i := range most {
		if p.full(marks(i)) {
			t.Fatalf("full with %d of %d", i, most)
		}
		if _, err := p.marks.put(marks(i)); err != nil {
			t.Fatal(err)
		}
	}
	if !p.full(marks(most)) || p.full(marks(0)) {
		t.Errorf("one more: %v, one who was there: %v", p.full(marks(most)), p.full(marks(0)))
	}
	p.plan.Crowd.Maximum = 0
	if p.full(marks(most)) {
		t.Error("full without a maximum")
	}
}
