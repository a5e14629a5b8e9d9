package shufflerd

import (
	"context"
	"fmt"
	"maps"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Routes returns the paths of a shuffler, for serve.Config.
func (s *Service) Routes() map[string]serve.Handler {
	routes := map[string]serve.Handler{
		wire.ContributionPattern: s.contribute,
		wire.BatchPattern:        s.receive,
		wire.PartPattern:         s.receivePart,
		wire.HeldPattern:         s.showHeld,
		wire.PlanPattern:         s.plans.Show,
		wire.RegisterPattern:     s.plans.Register(s.Load),
		wire.StatusPattern:       s.showStatus,
		wire.WithdrawPattern:     registry.TakeWith(s.Withdraw),
		wire.WithdrawalPattern:   s.withdrawals.Show,
	}
	if s.o.Witness != nil {
		maps.Copy(routes, s.o.Witness.Routes())
	}
	if s.o.Operators != nil {
		routes[wire.ClosePattern] = s.o.Operators.Guard(s.closePlan)
	}
	return routes
}

// Private returns the routes that serve.Config must not count: the number of
// requests would be the sizes of crowds. Those of public size are counted here.
func (s *Service) Private() map[string]bool {
	return map[string]bool{wire.ContributionPattern: true}
}

// Ready says why nothing can be taken now.
func (s *Service) Ready(ctx context.Context) error {
	if s.disk != nil {
		if err := s.disk.Err(); err != nil {
			return fmt.Errorf("shuffler: %w", err)
		}
	}
	return s.quota.Healthy(ctx)
}
