package serve

import (
	"context"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A browser sends no bearer token by itself. An operator asks for a link with one,
// POST /session; the link, GET /session/{code}, opens once and gives the browser a cookie
// that shows the status page and does nothing else.
const (
	sessionPath   = "/session"
	sessionCookie = "__Host-confetti" // over TLS, for this host and every path alone
	linkTime      = 5 * time.Minute   // until a link is opened
)

type cookieKey struct{}

// keepCookie keeps the cookie of a session, and of the status page alone, from what is
// forgotten of every request.
func keepCookie(r *http.Request) *http.Request {
	c, err := r.Cookie(sessionCookie)
	if err != nil || r.URL.Path != "/" || r.Method != http.MethodGet {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), cookieKey{}, c.Value))
}

// viewers lets operators through, by their token or by a session.
func (s *Server) viewers(h Handler) Handler {
	guarded := s.operators(h)
	return func(w http.ResponseWriter, r *http.Request) error {
		if cookie, ok := r.Context().Value(cookieKey{}).(string); ok && s.config.Operators != nil {
			if one, ok := s.sessions.Find(cookie); ok && s.config.Operators.Knows(one.Name) {
				return h(w, r)
			}
		}
		return guarded(w, r)
	}
}

// postSession answers an operator with the path of a link.
func (s *Server) postSession(w http.ResponseWriter, r *http.Request) error {
	link := struct {
		Path string `json:"path"`
	}{"/"}
	if s.config.Operators != nil {
		name, ok := s.config.Operators.Sender(r)
		if !ok {
			return wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
		}
		link.Path = sessionPath + "/" + s.sessions.Link(name)
	}
	return WriteJSON(w, link)
}

// getSession opens a link.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	name, ok := s.sessions.Follow(r.PathValue("code"))
	if !ok {
		return wire.Problemf(wire.Unauthenticated, "the link was opened before, or is too old: ask for another one with confetti top --web")
	}
	cookie, err := s.sessions.Open(name)
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: cookie, Path: "/", MaxAge: int(session.Time.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, // strict would be left out of the redirect
	})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
