package aggregated

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// served is a plan in which this service has a part.
type served struct {
	// Set once, and not changed after it.
	plan     plan.Plan
	hash     [32]byte
	name     string
	kept     *rows.Plan // nil before it is taken up
	crowds   []*crowd
	auth     serve.Authenticator // by which the leader knows respondents; its tokens are those that this aggregator demands
	sign     relay.SignKey       // of this aggregator's receipts
	receipts []relay.VerifyKey   // of both
	woken    chan struct{}

	working sync.Mutex   // held by who carries it on
	adding  sync.RWMutex // held for reading by who adds a job of a shard

	mu        sync.Mutex // over all below
	closed    bool
	forgotten bool   // the leader has no reports any more
	failing   string // what was tried last and is tried again
	hindered  string // likewise, of shards that this process took
	since     time.Time
	compared  bool // all neighbours have said which shares they were given
}

// crowd is a task of a plan.
type crowd struct {
	*task.Task
	of     *served
	number int
	asked  map[int]time.Time  // when workers were asked for a shard: of who carries the plan on
	leader *aggregator.Leader // of the two, the one that the service is
	helper *aggregator.Helper

	failure failure // under the plan's mu
}

// batch returns the one batch that a task has.
func (c *crowd) batch() dap.BatchID { return dap.BatchID(c.ID) }

// takeUp serves the plans of an earlier process, or that another one has taken since, and ends
// those that another one has withdrawn.
func (s *Service) takeUp(ctx context.Context) error {
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	if err := s.rows.Revocations(ctx, s.withdrawals.Restore); err != nil {
		return err
	}
	known := map[string][]byte{}
	for _, signed := range s.plans.Known() {
		known[signed.Plan.Name()] = signed.Marshal()
		if _, err := s.stays(ctx, signed); err != nil {
			return err
		}
	}
	all, err := s.rows.All(ctx)
	if err != nil {
		return err
	}
	var errs []error // of one plan, which keeps no other out
	for _, one := range all {
		if !bytes.Equal(known[one.Name], one.Signed) {
			errs = append(errs, s.takeOne(ctx, one))
		}
	}
	return errors.Join(errs...)
}

// stays reports whether a plan is not withdrawn. One that is, is erased.
func (s *Service) stays(ctx context.Context, signed plan.Signed) (bool, error) {
	hash := signed.Plan.Hash()
	err := s.withdrawals.Admit(ctx, hash, signed.Signers())
	w, withdrawn := s.withdrawals.Find(hash)
	if !withdrawn {
		return err == nil, err
	}
	if _, known := s.plans.Signed(hash); known {
		return false, s.keepWithdrawal(ctx, signed.Plan.Name(), w)
	}
	return false, shelves.Answer(s.rows.Erase(ctx, signed.Plan.Name(), w.Marshal()))
}

func (s *Service) takeOne(ctx context.Context, one rows.Served) error {
	signed, err := plan.ParseSigned(one.Signed)
	if err != nil {
		return fmt.Errorf("a plan that was served before: %w", err)
	}
	if stays, err := s.stays(ctx, signed); !stays {
		return err
	}
	if p, here := s.plans.Find(signed.Plan.Hash()); here { // it goes on under other signatures
		s.plans.Add(signed, p)
		return nil
	}
	if s.worker == nil { // a process that writes beside others could undo what they have written
		if err := s.claimed(ctx, signed, one); err != nil {
			return err
		}
	}
	kept, err := s.rows.Plan(ctx, one.Name)
	if errors.Is(err, keep.ErrDamaged) { // the others go on
		if gone, unread := s.rows.Gone(ctx, one.Name); unread != nil || gone { // meanwhile
			return unread
		}
		s.o.Log.Error("a plan is not served: what is kept of it is damaged", "plan", one.Name, "error", err.Error())
		s.plans.Idle(signed, fmt.Sprintf("what is kept of it is damaged on disk (%v): withdraw it", err))
		return nil
	}
	if err != nil {
		return err
	}
	err = s.add(ctx, signed, kept)
	if p, ok := errors.AsType[*wire.Problem](err); ok && p.Code == wire.PlanRefused {
		// A key that was taken away stops its plans, not the others.
		s.plans.Idle(signed, p.Detail)
		return nil
	}
	return err
}

// Load serves a plan from now on, restarts included. Loading it again is no error; with
// other signatures it goes on under those, if under the earlier ones it may not. A
// *wire.Problem says what is wrong with the plan.
func (s *Service) Load(ctx context.Context, signed plan.Signed) error {
	if err := s.abreast(ctx); err != nil {
		return err
	}
	one := rows.Served{Name: signed.Plan.Name(), Signed: signed.Marshal(), Round: roundOf(signed)}
	resign := func() error { return shelves.Answer(s.rows.Serve(ctx, one)) }
	return s.plans.Load(ctx, signed, resign, func() error {
		if gone, err := s.rows.Gone(ctx, one.Name); err != nil || gone {
			return cmp.Or(err, registry.Refused("the plan was served here before, and what left then is not known any more: give it a new name"))
		}
		if err := s.check(ctx, signed); err != nil {
			return err
		}
		kept, err := s.rows.Create(ctx, one.Name) // first: a plan that is served has its shelves
		if err == nil {
			err = s.rows.Serve(ctx, one)
		}
		if errors.Is(err, rows.ErrRound) {
			return registry.RoundTaken(*signed.Plan.Round)
		} else if err != nil {
			return shelves.Answer(err)
		}
		return s.add(ctx, signed, kept)
	})
}

// roundOf returns the round of a study that a plan is.
func roundOf(signed plan.Signed) rows.Round {
	if r := signed.Plan.Round; r != nil {
		return rows.Round{Study: r.Study, Number: r.Number}
	}
	return rows.Round{}
}

// claimed claims the number of a round that an earlier process took. Where a build that took
// several versions left some, they go on: what they have is kept.
func (s *Service) claimed(ctx context.Context, signed plan.Signed, one rows.Served) error {
	if one.Round = roundOf(signed); one.Round == (rows.Round{}) {
		return nil
	}
	err := s.rows.Serve(ctx, one)
	if errors.Is(err, rows.ErrRound) {
		s.o.Log.Warn("several versions of a round are served: have their publisher withdraw all but one", "plan", one.Name)
		return nil
	}
	return err
}

// check says why a plan cannot be served here. Of one that has opened, somebody may have a share
// that a database drew which is lost.
func (s *Service) check(ctx context.Context, signed plan.Signed) error {
	p, err := s.prepare(signed)
	if err != nil || s.o.Now().Before(p.plan.Times.Opens) {
		return err
	}
	if err := s.compare(ctx, p); errors.Is(err, errOlder) {
		return registry.Refused(err.Error() + ": have it withdrawn")
	} else if err != nil {
		return err
	}
	return nil
}

// add serves a plan that is on disk.
func (s *Service) add(ctx context.Context, signed plan.Signed, kept *rows.Plan) error {
	p, err := s.prepare(signed)
	if err != nil {
		return err
	}
	secret, err := kept.Secret(ctx)
	if err == nil {
		p.closed, err = kept.Closed(ctx)
	}
	if err != nil {
		return shelves.Answer(err)
	}
	p.kept, p.forgotten, p.auth.Secret = kept, kept.Forgotten(), serve.NewSecret(secret)
	s.mu.Lock()
	for _, c := range p.crowds {
		s.tasks[c.ID] = c
	}
	s.mu.Unlock()
	s.plans.Add(signed, p)
	return nil
}

// prepare finds the keys for a plan and makes its tasks.
func (s *Service) prepare(signed plan.Signed) (*served, error) {
	route := signed.Plan.Route.Sum
	if route == nil {
		return nil, registry.Refused("its answers are not summed")
	}
	if signed.Plan.Correlated() != nil && signed.Plan.Round == nil {
		return nil, registry.Refused("its rounds are correlated, and it is none of a study")
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
		return nil, registry.Refused(fmt.Sprintf("the private key of the plan's %s is not here", s.Role()))
	}
	if err := s.o.Relayed(us); err != nil {
		return nil, err
	}
	sign, err := serve.SigningKeys(s.o.Keys)
	if err != nil {
		return nil, err
	}
	p := &served{
		plan: signed.Plan, hash: signed.Plan.Hash(), name: signed.Plan.Name(), woken: make(chan struct{}, 1),
		auth: serve.Authenticator{Bearers: s.o.Bearers, Certificates: s.o.Certificates},
	}
	if p.sign, ours = sign[us.Receipts]; !ours {
		return nil, registry.Refused(fmt.Sprintf("the private key of the receipts of the plan's %s is not here", s.Role()))
	}
	keys, err := relay.ReceiptKeys(signed.Plan)
	if err != nil {
		return nil, registry.Refused(err.Error())
	}
	if p.receipts = keys[0]; p.receipts[0].IsZero() || other.URL == "" {
		return nil, registry.Refused("both aggregators need a URL and a key for their receipts")
	}
	if us.Tokens != "" {
		key, err := token.ParsePublicKey(us.Tokens)
		if err != nil {
			return nil, registry.Refused(err.Error())
		}
		p.auth.Tokens, p.auth.Spent = &key, token.Context{Plan: p.hash, Hop: s.hop()}
	}
	tasks, err := task.All(signed.Plan)
	if err != nil {
		return nil, registry.Refused(err.Error())
	}
	for i, t := range tasks {
		c := &crowd{Task: t, of: p, number: i}
		if s.o.Role == dap.Leader {
			c.leader = aggregator.NewLeader(t, key, s.o.Pair)
		} else {
			c.helper = aggregator.NewHelper(t, key, s.o.Pair, p.auth.Tokens)
		}
		if most := max(t.ReportSize(), 16*t.VDAF.Length()+4<<10); most > keep.MaxValue {
			return nil, registry.Refused(fmt.Sprintf("a report or a share of it has %d bytes, and an aggregator keeps %d at most", most, keep.MaxValue))
		}
		p.crowds = append(p.crowds, c)
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
	_, err := s.plans.Standing(c.of.hash)
	return c, err
}

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

// own returns the party that an aggregator of that role is.
func (p *served) own(role dap.Role) *plan.Party {
	return p.plan.Route.Sum.Aggregators()[role-dap.Leader]
}

// erase deletes all that is left of a plan, for good.
func (s *Service) erase(ctx context.Context, p *served, withdrawal []byte) error {
	p.adding.Lock()
	defer p.adding.Unlock()
	if err := s.rows.Erase(ctx, p.name, withdrawal); err != nil {
		return shelves.Answer(err)
	}
	s.plans.Remove(p.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p.crowds {
		delete(s.tasks, c.ID)
	}
	return nil
}

// Withdraw ends a plan for good, as one of its publishers says: what came is deleted, and
// nothing of it leaves. When it returns, that is on disk.
func (s *Service) Withdraw(ctx context.Context, w plan.SignedWithdrawal) (again bool, err error) {
	if err := s.abreast(ctx); err != nil {
		return false, err
	}
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	return s.plans.Withdraw(ctx, s.o.Common, w)
}

func (s *Service) keepWithdrawal(ctx context.Context, name string, w plan.SignedWithdrawal) error {
	p, here := s.plans.Find(w.Plan)
	_, known := s.plans.Signed(w.Plan)
	switch {
	case !registry.Final(name) || !known:
		return shelves.Answer(s.rows.Revoke(ctx, name, w.Marshal()))
	case !here: // of an earlier process, which cannot be served now
		err := shelves.Answer(s.rows.Erase(ctx, name, w.Marshal()))
		if err == nil {
			s.plans.Remove(w.Plan)
		}
		return err
	}
	p.working.Lock() // nothing of it is under way any more
	defer p.working.Unlock()
	return s.erase(ctx, p, w.Marshal())
}

// note notes how it went to carry a plan on.
func (p *served) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = hindrance(err)
}

// hinder notes how it went to add a job of a shard. Which process has the next is open, so that it says little soon.
func (p *served) hinder(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hindered, p.since = hindrance(err), time.Now()
}

// hindrance says what went wrong, in words for a status.
func hindrance(err error) string {
	if err == nil {
		return ""
	}
	if peer, ok := errors.AsType[*peerError](err); ok {
		return peer.Error()
	}
	return string(web.AsProblem(err).Code)
}

// fails says what was tried last and is tried again.
func (p *served) fails() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing == "" && time.Since(p.since) < time.Minute {
		return p.hindered
	}
	return p.failing
}

func (p *served) poke() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}
