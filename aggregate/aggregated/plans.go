package aggregated

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/confetti-dp/confetti/aggregate"
	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/store"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// served is a plan in which this service has a part.
type served struct {
	// Set once, and not changed after it.
	plan     plan.Plan
	hash     [32]byte
	name     string
	crowds   []*crowd
	auth     serve.Authenticator // by which the leader knows respondents; its tokens are those that this aggregator demands
	sign     wire.SignKey        // of this aggregator's receipts
	receipts []wire.VerifyKey    // of both
	woken    chan struct{}

	working sync.Mutex // held by who carries it on

	mu        sync.Mutex // over all below
	signed    plan.Signed
	text      []byte
	closed    bool
	forgotten bool   // the leader has no reports any more
	failing   string // what was tried last and is tried again
}

// crowd is a task of a plan.
type crowd struct {
	*task.Task
	of     *served
	number int
	leader *aggregate.Leader // of the two, the one that the service is
	helper *aggregate.Helper
}

// batch is the one batch that a task has.
func (c *crowd) batch() dap.BatchID { return dap.BatchID(c.ID) }

// idle is a plan that was served and cannot be now.
type idle struct {
	signed plan.Signed
	why    string
}

// takeUp serves the plans of an earlier process.
func (s *Service) takeUp(ctx context.Context) error {
	if err := s.o.Store.Revocations(ctx, s.withdrawals.Restore); err != nil {
		return err
	}
	all, err := s.o.Store.All(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		signed, err := plan.ParseSigned(one.Signed)
		if err != nil {
			return fmt.Errorf("aggregator: a plan that was served before: %w", err)
		}
		err = s.add(signed, one)
		if p, ok := errors.AsType[*wire.Problem](err); ok {
			// A key that was taken away stops its plans, not the others.
			s.idle[signed.Plan.Hash()] = idle{signed, p.Detail}
		} else if err != nil {
			return err
		}
	}
	return nil
}

func refused(why string) error { return wire.Problemf(wire.PlanRefused, "%s", why) }

// Load serves a plan from now on, restarts included. Loading it again is no error; with
// other signatures it goes on under those, if under the earlier ones it may not. A
// *wire.Problem says what is wrong with the plan.
func (s *Service) Load(ctx context.Context, signed plan.Signed) error {
	publishers, p, hash := s.o.Publishers.Now(), signed.Plan, signed.Plan.Hash()
	if err := signed.Verify(publishers); err != nil {
		return refused(err.Error())
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if err := s.withdrawals.Admit(ctx, hash, signed.Signers()); err != nil {
		return err
	}
	s.mu.Lock()
	there, here := s.plans[hash]
	_, idle := s.idle[hash]
	full := len(s.plans) >= s.o.Limits.Plans
	s.mu.Unlock()
	if here {
		return s.resign(ctx, there, signed)
	}
	if !idle {
		if err := publishers.Admit(signed, s.o.Now()); err != nil {
			return refused(err.Error())
		}
	}
	gone, err := s.o.Store.Gone(ctx, p.Name())
	switch {
	case err != nil:
		return err
	case gone:
		return refused("the plan was served here before, and what left then is not known any more: give it a new name")
	case full:
		return refused(fmt.Sprintf("%d plans are served already, the limit", s.o.Limits.Plans))
	case p.Times.Closes.IsZero():
		return refused("a plan that is served needs times.closes: its end is the end of the collection")
	case s.over(p):
		return refused("the plan has closed too long ago")
	}
	one := store.Served{Name: p.Name(), Signed: signed.Marshal(), Secret: make([]byte, 32)}
	rng.Reader(rng.New()).Read(one.Secret)
	if err := s.check(signed, one); err != nil {
		return err
	}
	if err := s.o.Store.Serve(ctx, one); err != nil {
		return storage(err)
	}
	return s.add(signed, one)
}

// resign has a plan go on under other signatures, where its own are not trusted any more.
func (s *Service) resign(ctx context.Context, p *served, signed plan.Signed) error {
	if s.suspended(p) == nil {
		return nil
	}
	if err := s.o.Store.Serve(ctx, store.Served{Name: p.name, Signed: signed.Marshal(), Secret: []byte{}}); err != nil {
		return storage(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signed, p.text = signed, signed.Marshal()
	s.o.Log.Info("plan signed anew", "plan", p.name)
	return nil
}

// check says why a plan cannot be served here.
func (s *Service) check(signed plan.Signed, one store.Served) error {
	_, err := s.prepare(signed, one)
	return err
}

// add serves a plan that is on disk.
func (s *Service) add(signed plan.Signed, one store.Served) error {
	p, err := s.prepare(signed, one)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, p.hash)
	s.plans[p.hash] = p
	for _, c := range p.crowds {
		s.tasks[c.ID] = c
	}
	close(s.wake)
	s.wake = make(chan struct{})
	return nil
}

// prepare finds the keys for a plan and makes its tasks.
func (s *Service) prepare(signed plan.Signed, one store.Served) (*served, error) {
	route := signed.Plan.Route.Sum
	if route == nil {
		return nil, refused("its answers are not summed")
	}
	us, other := route.Leader, route.Helper
	if s.o.Role == dap.Helper {
		us, other = other, us
	}
	open, err := serve.OpeningKeys(s.o.Keys)
	if err != nil {
		return nil, err
	}
	key, ours := open[us.Key]
	if !ours {
		return nil, refused(fmt.Sprintf("the private key of the plan's %s is not here", s.Role()))
	}
	sign, err := serve.ReceiptKeys(s.o.Keys)
	if err != nil {
		return nil, err
	}
	p := &served{
		plan: signed.Plan, hash: signed.Plan.Hash(), name: signed.Plan.Name(), signed: signed, text: signed.Marshal(), woken: make(chan struct{}, 1),
		auth:   serve.Authenticator{Secret: serve.NewSecret(one.Secret), Bearers: s.o.Bearers, Certificates: s.o.Certificates},
		closed: one.Closed, forgotten: len(one.Secret) == 0,
	}
	if p.sign, ours = sign[us.Receipts]; !ours {
		return nil, refused(fmt.Sprintf("the private key of the receipts of the plan's %s is not here", s.Role()))
	}
	keys, err := wire.ReceiptKeys(signed.Plan)
	if err != nil {
		return nil, refused(err.Error())
	}
	if p.receipts = keys[0]; p.receipts[0].IsZero() || other.URL == "" {
		return nil, refused("both aggregators need a URL and a key for their receipts")
	}
	if us.Tokens != "" {
		key, err := token.ParsePublicKey(us.Tokens)
		if err != nil {
			return nil, refused(err.Error())
		}
		p.auth.Tokens, p.auth.Spent = &key, token.Context{Plan: p.hash, Hop: s.hop()}
	}
	tasks, err := task.All(signed.Plan)
	if err != nil {
		return nil, refused(err.Error())
	}
	for i, t := range tasks {
		c := &crowd{Task: t, of: p, number: i}
		if s.o.Role == dap.Leader {
			c.leader = aggregate.NewLeader(t, key, s.o.Pair)
		} else {
			c.helper = aggregate.NewHelper(t, key, s.o.Pair, p.auth.Tokens)
		}
		p.crowds = append(p.crowds, c)
	}
	return p, nil
}

// plan finds a plan that is served, whether or not its publishers are still trusted.
func (s *Service) plan(hash [32]byte) (*served, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.plans[hash]
	return p, ok
}

// standing finds a plan whom its publishers stand for, or the problem to answer with.
func (s *Service) standing(hash [32]byte) (*served, error) {
	if err := s.withdrawals.Err(hash); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, here := s.plans[hash]
	_, idle := s.idle[hash]
	s.mu.Unlock()
	switch {
	case idle, here && s.suspended(p) != nil:
		return nil, serve.Suspended()
	case !here:
		return nil, wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", hash[:4])
	}
	return p, nil
}

// task finds a task whose plan stands.
func (s *Service) task(id dap.TaskID) (*crowd, error) {
	s.mu.Lock()
	c, here := s.tasks[id]
	s.mu.Unlock()
	if !here {
		return nil, wire.Problemf(wire.UnknownPlan, "the task %s", id)
	}
	_, err := s.standing(c.of.hash)
	return c, err
}

func (s *Service) suspended(p *served) error {
	p.mu.Lock()
	signed := p.signed
	p.mu.Unlock()
	return s.o.Publishers.Now().Stands(signed)
}

// over reports whether everything about a plan is due to be deleted.
func (s *Service) over(p plan.Plan) bool { return !s.o.Now().Before(p.Times.Closes.Add(s.o.Retention)) }

// settled says why the time of day is not reason enough for what cannot be undone.
func (s *Service) settled(ctx context.Context, p *served) error {
	if s.o.Clock == nil {
		return nil
	}
	if err := s.o.Clock.Settled(); err != nil {
		return err
	}
	urls := []string{p.plan.Analyzer.URL}
	for _, party := range p.plan.Route.Sum.Aggregators() {
		if party.URL != p.own(s.o.Role).URL {
			urls = append(urls, party.URL)
		}
	}
	if issuer := p.plan.Route.Issuer(); issuer != nil {
		urls = append(urls, issuer.URL)
	}
	return clock.Asked(s.o.Now(), serve.AskTimes(ctx, s.o.Client, urls...))
}

// own is the party that an aggregator of that role is.
func (p *served) own(role dap.Role) *plan.Party {
	return p.plan.Route.Sum.Aggregators()[role-dap.Leader]
}

// erase deletes all that is left of a plan, for good.
func (s *Service) erase(ctx context.Context, p *served, withdrawal []byte) error {
	if err := s.o.Store.Erase(ctx, p.name, withdrawal); err != nil {
		return storage(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.plans, p.hash)
	for _, c := range p.crowds {
		delete(s.tasks, c.ID)
	}
	return nil
}

// Withdraw ends a plan for good, as one of its publishers says: what came is deleted, and
// nothing of it leaves. When it returns, that is on disk.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	var signers []string
	p, here := s.plan(w.Plan)
	if here {
		p.mu.Lock()
		signers = p.signed.Signers()
		p.mu.Unlock()
	}
	if again, err = s.withdrawals.Take(ctx, w, signers, s.o.Publishers.Now()); err != nil || again {
		return again, err
	}
	s.o.Log.Warn("a plan is withdrawn", "plan", fmt.Sprintf("%x", w.Plan), "publisher", w.Publisher, "reason", w.Reason, "here", here)
	return false, nil
}

func (s *Service) keepWithdrawal(ctx context.Context, name string, w plan.SignedWithdrawal) error {
	p, here := s.plan(w.Plan)
	if !serve.Final(name) || !here {
		return storage(s.o.Store.Revoke(ctx, name, w.Marshal()))
	}
	p.working.Lock() // nothing of it is under way any more
	defer p.working.Unlock()
	return s.erase(ctx, p, w.Marshal())
}

func (p *served) note(failing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = failing
}

func (p *served) poke() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// storage is what to answer where the database refuses; nil where it does not.
func storage(err error) error {
	if errors.Is(err, store.ErrFull) {
		return wire.Problemf(wire.StorageFull, "nothing was kept")
	}
	return err
}
