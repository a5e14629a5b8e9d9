package analyzerd

import (
	"context"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// turns lets one through at a time. Who waits goes with its request.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// wait is how long whoever found no turn leaves the service alone.
const wait = 5 * time.Second

func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return busy("others come before it")
	}
}

func (t turns) give() { <-t }

func busy(why string) error {
	p := wire.Problemf(wire.Overloaded, "the plan was not registered: %s", why)
	p.RetryAfter = wait
	return p
}

// remembered is how many plans' prices are kept in mind.
const remembered = 1 << 10

// prices remembers what plans cost: a plan that is brought again, or by somebody who did not
// wait, is not priced twice. One is worked out at a time, outside of every lock, and is bounded
// (TestAPriceIsBounded of protocol), so that one whose request is over is finished and kept.
type prices struct {
	turn turns

	mu    sync.Mutex
	known map[priceOf]price
	order []priceOf // the oldest first
}

type priceOf struct {
	plan      [32]byte
	adjacency account.Adjacency
}

// price is what a plan costs, or why it may not be asked.
type price struct {
	cost rows.Spending
	err  error
}

func newPrices() *prices { return &prices{turn: newTurns(), known: map[priceOf]price{}} }

func (p *prices) find(of priceOf) (price, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.known[of]
	return found, ok
}

func (p *prices) keep(of priceOf, found price) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.order) == remembered {
		delete(p.known, p.order[0])
		p.order = p.order[1:]
	}
	p.known[of], p.order = found, append(p.order, of)
}

// of finds what a plan costs: what is remembered, or what work gives, which is remembered then.
func (p *prices) of(ctx context.Context, of priceOf, work func() (rows.Spending, error)) (rows.Spending, error) {
	if found, ok := p.find(of); ok {
		return found.cost, found.err
	}
	if err := p.turn.take(ctx); err != nil {
		return rows.Spending{}, err
	}
	if found, ok := p.find(of); ok { // the one before was the same
		p.turn.give()
		return found.cost, found.err
	}
	done := make(chan price, 1)
	go func() {
		defer p.turn.give()
		var found price
		found.cost, found.err = work()
		p.keep(of, found)
		done <- found
	}()
	select {
	case found := <-done:
		return found.cost, found.err
	case <-ctx.Done():
		return rows.Spending{}, busy("its price is being worked out")
	}
}

// price returns what a plan costs its population, or why it cannot be counted here.
func (s *Service) price(ctx context.Context, signed plan.Signed, adjacency account.Adjacency) (rows.Spending, error) {
	r, err := s.prepare(ctx, signed)
	if err != nil {
		return rows.Spending{}, wire.Problemf(wire.PlanRefused, "%w", err)
	}
	cost, err := s.prices.of(ctx, priceOf{signed.Plan.Hash(), adjacency}, func() (rows.Spending, error) { return charged(r.protocol, adjacency, signed.Study) })
	if _, waits := err.(*wire.Problem); err != nil && !waits {
		err = wire.Problemf(wire.PlanRefused, "%w", err)
	}
	return cost, err
}
