package analyzerd_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// spread is a histogram of two crowds whose report fragments go through both
// instances.
func spread(t *testing.T) *collection {
	t.Helper()
	p := route()
	p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
		Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}}},
		Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact", Epsilon: 1, Fragments: 4, Backstop: 2},
	}}
	p.Budget = plan.Budget{Epsilon: 8, Delta: 1e-5, Adjacency: "removal", DishonestShare: 0.2}
	p.Crowd.Names, p.Envelopes.Suite = []string{"north", "south"}, "x25519"
	p.Route.Mix.Spread = plan.SpreadAll
	p, err := design.Fill(p)
	if err != nil {
		t.Fatal(err)
	}
	return answered(t, p, func(i int) question.Value {
		return histogram.Answers{Crowd: i % 2, Values: []any{[]string{"coffee", "tea", "coffee", "water"}[i%4]}}
	})
}

// A crowd that came through one instance only lacks half of every report: it is
// left out, and the release says why.
func TestACrowdThatCameInPartIsLeftOut(t *testing.T) {
	c := spread(t)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	// Twice epsilon 8 and 3,000 times its delta, for replacement, is more than there is.
	r.wants(r.register(c), 409, wire.BudgetExceeded)
	r.budget.Adjacency = account.Removal
	r.restart()
	r.wants(r.register(c), created, "")
	for _, h := range c.handovers {
		if h.Batch.Instance == 0 || h.Batch.Crowd == 0 {
			r.wants(r.put(h), created, "")
		}
	}
	r.wants(r.do("POST", wire.ClosePath(c.signed.Plan.Hash()), "", nil), ok, "")
	w := r.get("/v1/releases/" + c.name + ".json")
	r.wants(w, ok, "")
	got, err := release.Read(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Crowds[1]; c.Smallest != 0 || c.Batches != 1 {
		t.Errorf("a crowd of which 1 of 2 batches came: %+v", c)
	}
	page := r.get("/v1/releases/" + c.name + ".html")
	if r.wants(page, ok, ""); !strings.Contains(page.Body.String(), "Crowd 2 is not in this release: 1 of 2 batches came") {
		t.Error("the page does not say that a crowd is left out")
	}
	if b, err := r.service.Budget(t.Context(), "residents"); err != nil || len(b.Plans) != 1 || !strings.Contains(b.Plans[0].Note, "crowd is public") {
		t.Errorf("%+v, %v", b, err)
	}
}
