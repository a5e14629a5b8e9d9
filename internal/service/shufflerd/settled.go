package shufflerd

import (
	"context"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// settled says why the time of day is not reason enough to end an epoch or to
// delete what is left of a plan: nobody can take either back.
func (t *post) settled(ctx context.Context) error {
	c := t.s.o.Clock
	if err := c.Settled(); err != nil || c == nil {
		return err
	}
	// Services whose clocks are not ours, the next one first.
	urls := []string{t.next().URL, t.plan.Analyzer.URL}
	if issuer := t.plan.Route.Issuer(); issuer != nil {
		urls = append(urls, issuer.URL)
	}
	return clock.Asked(t.s.o.Now(), serve.AskTimes(ctx, t.s.o.Client, urls...))
}
