package serve

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// handler returns the whole of a service: its routes, those of every service, and
// what stands before them.
func (s *Server) handler() http.Handler {
	mux, inner := http.NewServeMux(), http.NewServeMux()
	mount := func(on *http.ServeMux, pattern string, h Handler) {
		on.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			routed := w.(*unrouted)
			routed.found = true
			s.answer(pattern, h, routed.answer, r)
		})
	}
	handle := func(pattern string, h Handler) {
		s.patterns = append(s.patterns, pattern)
		mount(mux, pattern, h)
	}
	var paged []string
	for pattern, h := range s.config.Routes {
		h = s.undrained(pattern, s.admitted(s.config.kindOf(pattern), h))
		if s.config.hidden(pattern) {
			mount(inner, pattern, h)
		}
		if s.paged(pattern) {
			paged, h = append(paged, pattern), readable(h)
		}
		handle(pattern, h)
	}
	s.handlePreflights(mux, paged)
	if s.config.gateway != nil {
		handle(gatewayPattern, s.admitted(relays, s.open(inner)))
		handle(gatewayKeysPattern, s.getKeys)
	}
	handle("GET /healthz", s.healthz)
	handle("GET /readyz", s.readyz)
	handle("GET /metrics", s.operators(s.metrics))
	handle("GET /status.json", s.operators(s.statusJSON))
	handle("GET /{$}", s.viewers(s.statusPage))
	handle("POST /alarms", s.operators(s.postAlarm))
	handle("POST /drain", s.operators(s.postDrain))
	handle("POST /session", s.postSession)
	handle("GET /session/{code}", s.getSession)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.route(mux, w, s.keepPage(keepCookie(r)))
	})
}

// route lets whichever handler a request is for answer it.
func (s *Server) route(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	forget(r)
	out := &unrouted{answer: w, header: http.Header{}}
	if mux.ServeHTTP(out, r); !out.found {
		s.answer("none", out.noRoute, w, r)
	}
}

// forget takes from a request what would tell who or where its sender is, before
// any handler could keep it.
func forget(r *http.Request) {
	r.RemoteAddr = ""
	for name := range r.Header {
		switch name {
		case "Authorization", "Content-Type", "Content-Length", "Accept", "Accept-Encoding", handover.ReceiptHeader:
		default:
			delete(r.Header, name)
		}
	}
}

// answer runs a handler and turns what goes wrong into a problem.
func (s *Server) answer(pattern string, h Handler, w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	out := &recorder{ResponseWriter: w}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			// Not the panic's value: it may hold anything. The stack has code only.
			s.config.Log.Error("a handler panicked", "route", pattern, "stack", string(debug.Stack()))
			out.fail(wire.Problemf(wire.Internal, "no more is said here"))
		}
		if !s.config.Private[pattern] && pattern != gatewayPattern { // whose number would be that of what is within
			s.config.Metrics.request(pattern, out.status, time.Since(start))
		}
	}()
	w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := h(out, r); err != nil {
		out.fail(err)
		if p := web.AsProblem(err); p.Code == wire.Internal {
			s.config.Log.Error("a request failed", "route", pattern, "reason", err.Error())
		}
	}
}

// admitted lets a request in where there is room for it, and gives back what it
// held. A respondent has a place only after Enter, when the credential is checked.
func (s *Server) admitted(k kind, h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.edge.stopped(); err != nil {
			return err
		}
		held := s.edge.hold(w, r, k)
		if k == respondents {
			select {
			case s.checking <- struct{}{}:
				held.checked = sync.OnceFunc(func() { <-s.checking })
				defer held.checked()
			default:
				return overloaded("too many credentials are being checked")
			}
		} else {
			from := strangers
			if k == relays && held.conn != nil && held.conn.relay {
				from = relays
			}
			if err := s.edge.enter(held, from, Respondent{}); err != nil {
				return err
			}
		}
		defer held.release()
		if out, ok := w.(*recorder); ok {
			out.held = held
		}
		return h(w, r.WithContext(context.WithValue(r.Context(), holdKey{}, held)))
	}
}

// unrouted is what net/http answers a request to that no pattern takes. Nobody sees it.
type unrouted struct {
	answer http.ResponseWriter // where a pattern's handler answers
	found  bool                // one has the request
	header http.Header
	status int
}

func (u *unrouted) Header() http.Header         { return u.header }
func (u *unrouted) Write(b []byte) (int, error) { return len(b), nil }
func (u *unrouted) WriteHeader(status int)      { u.status = status }

// noRoute answers in the place of net/http.
func (u *unrouted) noRoute(w http.ResponseWriter, r *http.Request) error {
	if u.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", u.header.Get("Allow"))
		return wire.Problemf(wire.MethodNotAllowed, "allowed here: %s", u.header.Get("Allow"))
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(first) > 1 && len(first) < 4 && first[0] == 'v' && first != wire.Version && strings.Trim(first[1:], "0123456789") == "" {
		w.Header().Set("Confetti-Versions", wire.Version)
		return wire.Problemf(wire.UnknownVersion, "this service speaks %s", wire.Version)
	}
	return wire.Problemf(wire.NotFound, "no such path")
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	held   *hold // nil outside of what is admitted
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (n int, err error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	write := func() int {
		n, err = r.ResponseWriter.Write(b)
		return n
	}
	if r.held == nil || r.held.place == nil || !r.held.place.waitToWrite(write) {
		write()
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection's deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// fail answers with a problem, unless an answer has begun: then the stream is
// broken off, so that nobody takes half of it for the whole.
func (r *recorder) fail(err error) {
	if r.status != 0 {
		panic(http.ErrAbortHandler)
	}
	web.WriteProblem(r, err)
}

func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	_, err := w.Write([]byte("ok\n"))
	return err
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	if err := s.edge.stopped(); err != nil {
		return err
	}
	if !s.drained().IsZero() {
		return overloaded("the service drains")
	}
	if s.config.Ready != nil {
		if err := s.config.Ready(r.Context()); err != nil {
			s.config.Log.Warn("not ready", "reason", err.Error())
			return overloaded("not ready")
		}
	}
	_, err := w.Write([]byte("ready\n"))
	return err
}

// operators lets only those through to whom the operator has given a token.
func (s *Server) operators(h Handler) Handler {
	if s.config.Operators == nil {
		return h
	}
	return s.config.Operators.Guard(h)
}

func overloaded(why string) error {
	p := wire.Problemf(wire.Overloaded, "%s", why)
	p.RetryAfter = time.Second
	return p
}
