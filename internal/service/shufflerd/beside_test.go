package shufflerd

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// deaf is a store in which a process does not find what others have written of a table since, or ever.
type deaf struct {
	keep.Store
	table keep.Table
	until *bool
}

func (d deaf) Open(ctx context.Context, shelf string) (keep.Shelf, error) {
	s, err := d.Store.Open(ctx, shelf)
	if err != nil || shelf != keep.Main {
		return s, err
	}
	return deafShelf{s, d}, nil
}

type deafShelf struct {
	keep.Shelf
	deaf
}

func (d deafShelf) Each(ctx context.Context, t keep.Table, prefix string, fn func(string, []byte) error) error {
	if t == d.table && !*d.until {
		return nil
	}
	return d.Shelf.Each(ctx, t, prefix, fn)
}

// processes are two of an entry, on one database; the second sees its store as around says.
func processes(t testing.TB, around func(keep.Store) keep.Store) (w *world, one, two *node) {
	w = newWorld(t, 1, nil)
	w.url = postgrestest.Postgres(t)
	w.stop(0)
	w.fresh(0)
	one, w.around = w.hops[0], around
	two, err := w.process(0, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.store.Close(); two.store.Close() })
	return w, one, two
}

// beside has an entry of two processes take a plan at one and its withdrawal at the other, in some order,
// and fails if either goes on with it. for ever says that the second one never hears of withdrawals.
func beside(t testing.TB, order string, forever bool) {
	hears := false
	w, one, two := processes(t, func(s keep.Store) keep.Store { return deaf{s, rows.Withdrawn, &hears} })
	another := w.plan
	another.Title = "another"
	signed, hash := plan.Sign(another, w.publish), another.Hash()
	withdrawal, err := plan.Withdraw(plan.Withdrawal{Plan: hash, At: w.now, Reason: "wrong"}, w.publish)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(err error) bool {
		p, ok := errors.AsType[*wire.Problem](err)
		return ok && p.Code == wire.PlanWithdrawn
	}
	register := func() {
		if err := two.service.Load(t.Context(), signed); err != nil && !refused(err) {
			t.Fatal(err)
		}
	}
	withdraw := func() {
		if _, err := one.service.Withdraw(t.Context(), withdrawal); err != nil {
			t.Fatal(err)
		}
	}
	switch order {
	case "withdrawn first":
		hears = !forever
		withdraw()
		if register(); !forever && !refused(two.service.Load(t.Context(), signed)) {
			t.Error("a plan is taken that was withdrawn at the other process")
		}
	case "registered first":
		hears = !forever
		register()
		withdraw()
	case "at once": // the second one takes the plan before it can know
		withdraw()
		register()
		if _, served := two.service.plans.Find(hash); !served {
			t.Fatal("the plan was never taken")
		}
		was := w.signed
		w.plan, w.signed, w.hops[0] = another, signed, two
		w.contribute(0, 0, 1, 2, 3)
		w.plan, w.signed = was.Plan, was
		hears = !forever
	}
	for range 3 { // polls
		for _, n := range []*node{two, one} {
			if err := n.service.takeUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := n.service.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, n := range []*node{one, two} {
		if _, err := n.service.plans.Standing(hash); !refused(err) {
			t.Errorf("%s: process %d goes on with a plan that is withdrawn: %v", order, i+1, err)
		}
	}
	for _, post := range two.service.posts() {
		post.resign()
	}
	one.service.Step(t.Context())
	if names, err := one.store.List(t.Context()); err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, postName(hash, 0, 0)) }) {
		t.Errorf("%s: what was collected is there: %v, %v", order, names, err)
	}
	if _, err := one.service.plans.Standing(w.plan.Hash()); err != nil {
		t.Errorf("%s: another plan has ended with it: %v", order, err)
	}
}

// A withdrawal at one process of an entry ends a plan that another one takes up within the same second,
// whichever was first.
func TestAWithdrawalBesideARegistration(t *testing.T) {
	for _, order := range []string{"withdrawn first", "registered first", "at once"} {
		t.Run(order, func(t *testing.T) {
			beside(t, order, false)
			stattest.Caught(t, func(tb testing.TB) { beside(tb, order, true) })
		})
	}
}

// resigned has a plan's first publisher lose the trust of an entry and a second one sign it at one process,
// and fails if the other one does not go on under that.
func resigned(t testing.TB, deafToPlans bool) {
	hears := true
	w, one, two := processes(t, func(s keep.Store) keep.Store { return deaf{s, rows.Plans, &hears} })
	hears = !deafToPlans
	public, second, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	both, err := w.signed.Sign(second)
	if err != nil {
		t.Fatal(err)
	}
	w.contribute(0, 0, 1)
	trust := serve.Trust(plan.Publisher(public))
	for _, n := range []*node{one, two} {
		n.service.plans.Publishers = trust
		if n.service.plans.Suspended(w.plan.Hash()) == nil {
			t.Fatal("nobody is suspended")
		}
	}
	if err := one.service.Load(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	if err := two.service.takeUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.hops[0] = two
	if status, code := w.do(0, w.request("device2", w.contribution(0, 2))); status != http.StatusCreated {
		t.Errorf("the other process goes on being suspended: %d %s", status, code)
	}
	if posts := found(two.service, w.plan.Hash()).posts; len(posts) != 1 || posts[0].entry.Count(t.Context(), 0) < 2 {
		t.Error("what was collected is not there")
	}
}

// A plan goes on at every process under the signature that one of them was brought.
func TestOtherSignaturesAtOneProcess(t *testing.T) {
	resigned(t, false)
	stattest.Caught(t, func(tb testing.TB) { resigned(tb, true) })
}

// A limit of plans is passed by one for each other process at the most: by what they take while this one cannot know.
// From then on it holds at all of them.
func TestALimitOfPlansAtTwoProcesses(t *testing.T) {
	hears := false
	w, one, two := processes(t, func(s keep.Store) keep.Store { return deaf{s, rows.Plans, &hears} })
	for _, n := range []*node{one, two} {
		n.service.plans.Most = 2
	}
	load := func(n *node, title string) error {
		p := w.plan
		p.Title = title
		return n.service.Load(t.Context(), plan.Sign(p, w.publish))
	}
	if err := errors.Join(load(one, "second"), load(two, "at once")); err != nil {
		t.Fatal(err)
	}
	hears = true
	for i, n := range []*node{one, two} {
		if err := load(n, "one more"); err == nil {
			t.Errorf("process %d takes a plan beyond the limit", i+1)
		}
		if known := n.service.plans.Known(); len(known) != 3 {
			t.Errorf("process %d knows %d plans, and there are one more than two", i+1, len(known))
		}
	}
}
