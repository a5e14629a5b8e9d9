// Package registry keeps the plans that a service serves, those that it cannot serve now, and the withdrawals of
// their publishers. Used by internal/service, alike by hops, aggregators, issuers and analyzers.
package registry

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Plans are those that a service serves, each with what the service has of it, and those
// of an earlier process that it cannot serve now. It is safe for concurrent use.
type Plans[P comparable] struct {
	Publishers  *serve.Publishers
	Withdrawals *Withdrawals
	Now         func() time.Time
	Retention   time.Duration // after a plan has closed it may come again for so long
	Most        int           // places: see room
	Closes      func(plan.Signed) time.Time

	Loading sync.Mutex // held by who takes up a plan or ends one

	mu     sync.Mutex
	served map[[32]byte]servedPlan[P]
	idle   map[[32]byte]idlePlan
	added  chan struct{} // closed and replaced when a plan is added
}

type servedPlan[P any] struct {
	signed plan.Signed
	text   []byte
	part   P
}

// idlePlan is one that was served and cannot be now. What was collected is left alone.
type idlePlan struct {
	signed plan.Signed
	why    string
}

// NewPlans begins with none.
func NewPlans[P comparable](c serve.Common, publishers *serve.Publishers, withdrawals *Withdrawals, most int) *Plans[P] {
	return &Plans[P]{
		Publishers: publishers, Withdrawals: withdrawals, Now: c.Now, Retention: c.Retention, Most: most,
		Closes: func(signed plan.Signed) time.Time { return signed.Plan.Times.Closes },
		served: map[[32]byte]servedPlan[P]{}, idle: map[[32]byte]idlePlan{}, added: make(chan struct{}),
	}
}

// Refused returns the problem of a plan that is not served.
func Refused(why string) error { return wire.Problemf(wire.PlanRefused, "%s", why) }

// Load takes up a plan, if it may be. One that is here is no error; with other signatures
// it goes on under those, if under the earlier ones it may not: resign makes them last.
// take does with a new plan what the service does, and adds it. The error is a
// *wire.Problem where the plan is at fault.
func (x *Plans[P]) Load(ctx context.Context, signed plan.Signed, resign, take func() error) error {
	publishers, hash := x.Publishers.Now(), signed.Plan.Hash()
	if err := signed.Verify(publishers); err != nil {
		return Refused(err.Error())
	}
	x.Loading.Lock()
	defer x.Loading.Unlock()
	if err := x.Withdrawals.Admit(ctx, hash, signed.Signers()); err != nil {
		return err
	}
	there, here, idle := x.look(hash)
	switch {
	case here && publishers.Stands(there.signed) == nil:
		return nil
	case here:
		if err := resign(); err != nil {
			return err
		}
		x.put(hash, servedPlan[P]{signed, signed.Marshal(), there.part})
		return nil
	case !idle:
		if err := publishers.Admit(signed, x.Now()); err != nil {
			return Refused(err.Error())
		}
	}
	if err := x.room(signed); err != nil {
		return err
	}
	switch {
	case signed.Plan.Times.Closes.IsZero():
		return Refused("a plan that is served needs times.closes: its end is the end of the collection")
	case x.Over(signed): // its marks are gone: what came then could come again
		return Refused("the plan has closed too long ago")
	}
	return take()
}

// Over reports whether everything about a plan is due to be deleted.
func (x *Plans[P]) Over(signed plan.Signed) bool { return x.past(x.Closes(signed)) }

// Past is Over of a plan by itself.
func (x *Plans[P]) Past(p plan.Plan) bool { return x.past(p.Times.Closes) }

func (x *Plans[P]) past(closes time.Time) bool { return !x.Now().Before(closes.Add(x.Retention)) }

// look returns a plan that is served, here, or was before and cannot be now, idle; of this one
// there is what was signed alone.
func (x *Plans[P]) look(hash [32]byte) (p servedPlan[P], here, idle bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p, here = x.served[hash]; here {
		return p, true, false
	}
	left, idle := x.idle[hash]
	return servedPlan[P]{signed: left.signed}, false, idle
}

func (x *Plans[P]) put(hash [32]byte, p servedPlan[P]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.idle, hash)
	x.served[hash] = p
}

// Add serves a plan from now on.
func (x *Plans[P]) Add(signed plan.Signed, part P) {
	x.put(signed.Plan.Hash(), servedPlan[P]{signed, signed.Marshal(), part})
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.added)
	x.added = make(chan struct{})
}

// Idle keeps a plan in mind that was served and cannot be now, and why.
func (x *Plans[P]) Idle(signed plan.Signed, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.idle[signed.Plan.Hash()] = idlePlan{signed, why}
}

// Remove serves a plan no more.
func (x *Plans[P]) Remove(hash [32]byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.served, hash)
	delete(x.idle, hash)
}

// Find returns what the service has of a plan that is served, whether or not its publishers are
// still trusted.
func (x *Plans[P]) Find(hash [32]byte) (P, bool) {
	p, here, _ := x.look(hash)
	return p.part, here
}

// Signed returns a plan that is served, or was before and cannot be now.
func (x *Plans[P]) Signed(hash [32]byte) (plan.Signed, bool) {
	p, here, idle := x.look(hash)
	return p.signed, here || idle
}

// All returns what the service has of every plan that is served, in the order of their names;
// added is closed when there is one more.
func (x *Plans[P]) All() (all []P, added <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	hashes := slices.SortedFunc(maps.Keys(x.served), func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	for _, hash := range hashes {
		all = append(all, x.served[hash].part)
	}
	return all, x.added
}

// Attend runs work of every plan that is served, now or later, in a goroutine of its own. It
// returns when the context has ended and all work is done.
func (x *Plans[P]) Attend(ctx context.Context, work func(P)) {
	var all sync.WaitGroup
	defer all.Wait()
	attended := map[P]bool{}
	for {
		plans, added := x.All()
		for _, p := range plans {
			if !attended[p] {
				attended[p] = true
				all.Go(func() { work(p) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-added:
		}
	}
}

// Known returns the plans that are served, and those that were before and cannot be now.
func (x *Plans[P]) Known() (all []plan.Signed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.served {
		all = append(all, p.signed)
	}
	for _, p := range x.idle {
		all = append(all, p.signed)
	}
	return all
}

// Suspended says why nothing is done for a plan that is served: its publishers are not
// trusted any more. It goes on once they are, or the plan has the signature of others.
func (x *Plans[P]) Suspended(hash [32]byte) error {
	signed, _ := x.Signed(hash)
	return x.Publishers.Now().Stands(signed)
}

// Standing finds a plan whom its publishers stand for, or the problem to answer with.
func (x *Plans[P]) Standing(hash [32]byte) (P, error) {
	p, err := x.standing(hash)
	return p.part, err
}

func (x *Plans[P]) standing(hash [32]byte) (servedPlan[P], error) {
	if err := x.Withdrawals.Err(hash); err != nil {
		return servedPlan[P]{}, err
	}
	p, here, idle := x.look(hash)
	switch {
	case idle, here && x.Publishers.Now().Stands(p.signed) != nil:
		return servedPlan[P]{}, Suspended()
	case !here:
		return servedPlan[P]{}, wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", hash[:4])
	}
	return p, nil
}

// Unserved says which plans are here and not served, and why.
func (x *Plans[P]) Unserved() (alarms []string) {
	if err := x.Publishers.Err(); err != nil {
		alarms = append(alarms, "publishers: what was read last counts: "+err.Error())
	}
	x.mu.Lock()
	served, idle := maps.Clone(x.served), maps.Clone(x.idle)
	x.mu.Unlock()
	for hash, p := range served {
		if _, withdrawn := x.Withdrawals.Find(hash); withdrawn {
			continue
		}
		if err := x.Publishers.Now().Stands(p.signed); err != nil {
			alarms = append(alarms, fmt.Sprintf("%s is suspended until its publishers are trusted again, or it is withdrawn; what it has is kept: %s", plan.Short(fmt.Sprintf("%x", hash)), err))
		}
	}
	for _, p := range idle {
		alarms = append(alarms, fmt.Sprintf("%s is not served any more: %s", plan.Short(p.signed.Plan.Name()), p.why))
	}
	slices.Sort(alarms)
	return alarms
}

// Show answers GET /v1/plans/{plan} with the signed plan.
func (x *Plans[P]) Show(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	p, err := x.standing(hash)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", wire.PlanType(p.signed))
	_, err = w.Write(p.text)
	return err
}

// Register answers PUT /v1/plans/{plan}: load takes up what a trusted publisher has signed.
// The signature is the authentication, whoever brings it.
func (x *Plans[P]) Register(load func(context.Context, plan.Signed) error) serve.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		known := func(hash [32]byte) bool {
			_, err := x.Standing(hash)
			return err == nil
		}
		return serve.TakePlan(w, r, x.Publishers.Now(), known, func(signed plan.Signed) error { return load(r.Context(), signed) })
	}
}

// Withdraw ends a plan for good, as one of its publishers says: what Withdrawals.Take says
// of it, for a plan that is here or is not. The caller holds Loading.
func (x *Plans[P]) Withdraw(ctx context.Context, c serve.Common, w plan.SignedWithdrawal) (again bool, err error) {
	var signers []string
	signed, here := x.Signed(w.Plan)
	if here {
		signers = signed.Signers()
	}
	if again, err = x.Withdrawals.Take(ctx, w, signers, x.Publishers.Now()); err == nil && !again {
		c.Log.Warn("a plan is withdrawn", "plan", fmt.Sprintf("%x", w.Plan), "publisher", w.Publisher, "reason", w.Reason, "here", here)
	}
	return again, err
}
