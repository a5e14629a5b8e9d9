package analyzerd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Remembered is how many prices a service keeps in mind.
func Remembered(s *Service) int { return len(s.prices.known) }

// A price that many ask for at once is worked out once; who goes away meanwhile is told so, and
// the price is kept; so many are kept and no more.
func TestPricesAreRemembered(t *testing.T) {
	p := newPrices()
	var worked atomic.Int32
	began, goOn := make(chan struct{}), make(chan struct{})
	work := func() (rows.Spending, error) {
		if worked.Add(1) == 1 {
			close(began)
		}
		<-goOn
		return rows.Spending{Epsilon: 3}, nil
	}
	one := priceOf{plan: [32]byte{1}}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := p.of(ctx, one, work)
		left <- err
	}()
	<-began
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if got, err := p.of(t.Context(), one, work); err != nil || got.Epsilon != 3 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	waits, stop := context.WithCancel(t.Context())
	stop()
	other := priceOf{plan: [32]byte{2}}
	for _, err := range []error{func() error { leave(); return <-left }(), func() error { _, err := p.of(waits, other, work); return err }()} {
		if problem, ok := errors.AsType[*wire.Problem](err); !ok || problem.Code != wire.Overloaded || problem.RetryAfter == 0 {
			t.Errorf("who goes away hears %v", err)
		}
	}
	close(goOn)
	all.Wait()
	if worked.Load() != 1 {
		t.Errorf("worked out %d times", worked.Load())
	}
	for i := range 2 * remembered {
		p.keep(priceOf{plan: [32]byte{3, byte(i), byte(i >> 8)}}, price{})
	}
	if _, kept := p.find(one); kept || len(p.known) != remembered || len(p.order) != remembered {
		t.Errorf("%d are kept", len(p.known))
	}
	if _, err := p.of(t.Context(), one, func() (rows.Spending, error) { return rows.Spending{}, errors.New("no") }); err == nil {
		t.Error("an error is lost")
	}
	if _, err := p.of(t.Context(), one, work); err == nil {
		t.Error("a refusal is worked out again")
	}
}
