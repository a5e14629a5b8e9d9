package serve

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A browser sends no bearer token by itself. An operator asks for a link with one,
// POST /session; the link, GET /session/{code}, opens once and gives the browser a cookie
// that shows the status page and does nothing else. Links and sessions are in memory.
const (
	sessionPath   = "/session"
	sessionCookie = "__Host-confetti" // over TLS, for this host and every path alone
	linkTime      = 5 * time.Minute   // until a link is opened
	sessionTime   = 12 * time.Hour
	maxSessions   = 256 // links, and sessions: the oldest go first
)

// session is a link that was asked for, or a browser that has opened one.
type session struct {
	name  string // of the operator, whose token must be known still
	since time.Time
}

type sessions struct {
	mu          sync.Mutex
	links, open map[[sha256.Size]byte]session // by the hash of the secret
}

// add draws a secret for a session.
func (s *sessions) add(to *map[[sha256.Size]byte]session, name string) (secret string) {
	raw := make([]byte, 32)
	rng.Reader(rng.New()).Read(raw)
	secret = base64url.EncodeToString(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *to == nil {
		*to = map[[sha256.Size]byte]session{}
	}
	if len(*to) >= maxSessions {
		var oldest [sha256.Size]byte
		first := true
		for key, one := range *to {
			if first || one.since.Before((*to)[oldest].since) {
				oldest, first = key, false
			}
		}
		delete(*to, oldest)
	}
	(*to)[sha256.Sum256([]byte(secret))] = session{name, time.Now()}
	return secret
}

// follow opens a link, which then is none any more.
func (s *sessions) follow(code string) (name string, ok bool) {
	key := sha256.Sum256([]byte(code))
	s.mu.Lock()
	defer s.mu.Unlock()
	link, ok := s.links[key]
	delete(s.links, key)
	return link.name, ok && time.Since(link.since) < linkTime
}

func (s *sessions) find(cookie string) (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[sha256.Sum256([]byte(cookie))]
	return one.name, ok && time.Since(one.since) < sessionTime
}

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
			if name, ok := s.sessions.find(cookie); ok && s.config.Operators.Knows(name) {
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
		link.Path = sessionPath + "/" + s.sessions.add(&s.sessions.links, name)
	}
	return WriteJSON(w, link)
}

// getSession opens a link.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	name, ok := s.sessions.follow(r.PathValue("code"))
	if !ok {
		return wire.Problemf(wire.Unauthenticated, "the link was opened before, or is too old: ask for another one with confetti top --web")
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: s.sessions.add(&s.sessions.open, name), Path: "/", MaxAge: int(sessionTime.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, // strict would be left out of the redirect
	})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
