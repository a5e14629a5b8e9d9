package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// newWork are the patterns of what a draining service does not take, beside what respondents
// bring and services hand over: plans and states. What it is asked for, withdrawals and closing
// it answers as before, and what it has it finishes.
var newWork = []string{wire.RegisterPattern, wire.KeepStatePattern}

// maxDrain bounds the body of an order to drain, in bytes.
const maxDrain = 1 << 10

// undrained refuses new work while the service drains.
func (s *Server) undrained(pattern string, h Handler) Handler {
	if s.config.kindOf(pattern) == strangers && !slices.Contains(newWork, pattern) {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		if !s.drained().IsZero() {
			p := wire.Problemf(wire.Overloaded, "the service takes no new work: its operator drains it")
			p.RetryAfter = 30 * time.Second
			return p
		}
		return h(w, r)
	}
}

// drained is since when the service drains; zero if it does not.
func (s *Server) drained() time.Time {
	if at := s.draining.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// postDrain begins or ends draining, which a restart ends too.
func (s *Server) postDrain(w http.ResponseWriter, r *http.Request) error {
	if s.config.Operators == nil {
		return wire.Problemf(wire.Unauthenticated, "anybody could ask this of a service without operators: set http.operators")
	}
	var asked struct {
		Drain *bool `json:"drain"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDrain))
	if err != nil || json.Unmarshal(body, &asked) != nil || asked.Drain == nil {
		return wire.Problemf(wire.BadRequest, `a JSON object of at most %d bytes is wanted: {"drain": true} or {"drain": false}`, maxDrain)
	}
	now := time.Now().UTC().Truncate(time.Second)
	switch {
	case !*asked.Drain:
		s.draining.Store(nil)
	case s.drained().IsZero():
		s.draining.Store(&now)
	}
	s.config.Log.Info("an operator has the service drain", "drain", *asked.Drain)
	return WriteJSON(w, s.status(r.Context()))
}
