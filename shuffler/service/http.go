package service

import (
	"io"
	"net/http"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Handler serves the paths of a shuffler. What goes with every service (health,
// metrics, limits of time and size on connections) is the caller's.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		wire.ContributionPattern: s.contribute,
		wire.BatchPattern:        s.receive,
		wire.PlanPattern:         s.showPlan,
		wire.RegisterPattern:     s.register,
		wire.StatusPattern:       s.showStatus,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			if err := handle(w, r); err != nil {
				wire.WriteProblem(w, err)
			}
		})
	}
	return mux
}

// showPlan answers with the signed plan.
func (s *Service) showPlan(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	p, ok := s.plan(hash)
	if !ok {
		return wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", hash[:4])
	}
	w.Header().Set("Content-Type", wire.SignedPlanType)
	w.Write(p.text)
	return nil
}

// register loads a plan that a trusted publisher has signed. The signature is
// the authentication: whoever brings it.
func (s *Service) register(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	if err := wire.CheckType(r, wire.SignedPlanType); err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, plan.MaxSignedBytes))
	if err != nil {
		return unread(err)
	}
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return wire.Problemf(wire.PlanRefused, "%w", err)
	}
	if signed.Plan.Hash() != hash {
		return wire.Problemf(wire.BadRequest, "{plan} in the path is not the plan's name")
	}
	if _, there := s.plan(hash); there {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := s.Load(r.Context(), signed); err != nil {
		return wire.Problemf(wire.PlanRefused, "%w", err)
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}
