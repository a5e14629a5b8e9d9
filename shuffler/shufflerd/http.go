package shufflerd

import (
	"context"
	"maps"
	"net/http"

	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Routes are the paths of a shuffler, for serve.Config.
func (s *Service) Routes() map[string]serve.Handler {
	routes := map[string]serve.Handler{
		wire.ContributionPattern: s.contribute,
		wire.BatchPattern:        s.receive,
		wire.HeldPattern:         s.showHeld,
		wire.PlanPattern:         s.showPlan,
		wire.RegisterPattern:     s.register,
		wire.StatusPattern:       s.showStatus,
		wire.WithdrawPattern:     serve.TakeWith(s.Withdraw),
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

// Private are the routes that serve.Config must not count: the number of
// requests would be the sizes of crowds. Those of public size are counted here.
func (s *Service) Private() map[string]bool {
	return map[string]bool{wire.ContributionPattern: true}
}

// Ready says why nothing can be taken now.
func (s *Service) Ready(ctx context.Context) error { return s.o.Queue.Healthy(ctx) }

// showPlan answers with the signed plan.
func (s *Service) showPlan(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	p, err := s.standing(hash)
	if err != nil {
		return err
	}
	s.mu.Lock()
	text, kind := p.text, wire.PlanType(p.signed)
	s.mu.Unlock()
	w.Header().Set("Content-Type", kind)
	w.Write(text)
	return nil
}

// register loads a plan that a trusted publisher has signed. The signature is
// the authentication: whoever brings it.
func (s *Service) register(w http.ResponseWriter, r *http.Request) error {
	known := func(hash [32]byte) bool {
		_, err := s.standing(hash)
		return err == nil
	}
	return serve.TakePlan(w, r, s.o.Publishers.Now(), known, func(signed plan.Signed) error { return s.Load(r.Context(), signed) })
}
