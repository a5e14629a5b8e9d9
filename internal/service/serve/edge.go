package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
)

// Edge is what stands before handlers, a service's or those of pages: so many connections and
// requests, of all and of each address. Whoever sends or reads slowly keeps nobody out.
type Edge struct {
	limits   Limits
	pools    [6]*pool      // by kind
	stopping chan struct{} // closed when no new work is wanted
}

// NewEdge makes places by the limits.
func NewEdge(l Limits) *Edge {
	l = l.orDefault()
	e := &Edge{limits: l, stopping: make(chan struct{})}
	known, unknown := &memory{free: l.Memory}, &memory{free: min(l.Memory, strangerMemory)}
	for kind, p := range map[kind]struct {
		most   int
		memory *memory
	}{strangers: {l.Others, unknown}, longs: {l.Long, unknown}, batches: {l.Batches, known}, respondents: {l.Requests, known}, operators: {l.Operators, known}} {
		// As large a share of the places as of the connections.
		ofAddress := max(1, int(int64(p.most)*int64(l.PerAddress)/int64(l.Connections)))
		e.pools[kind] = newPool(p.most, l.PerConn, ofAddress, patience, p.memory)
		e.pools[kind].ofSender = l.PerSender
	}
	e.pools[longs].quick = longRate
	e.pools[batches].ofSender = 1 // none where a batch's hop is the sender
	// Behind a relay are many senders, who have its places whatever its connections are.
	e.pools[relays] = newPool(l.Relayed*max(1, len(l.Relays)), l.Relayed, l.Relayed, patience, known)
	return e
}

// enter gives a request a place among those of a kind.
func (e *Edge) enter(h *hold, k kind, sender Respondent) (err error) {
	h.sender = sender
	h.place, err = e.pools[k].enter(http.NewResponseController(h.w), h.conn, sender)
	return err
}

// hold returns what a request is given to hold, still without a place.
func (e *Edge) hold(w http.ResponseWriter, r *http.Request, k kind) *hold {
	conn, _ := r.Context().Value(connKey{}).(*connection)
	return &hold{edge: e, kind: k, conn: conn, window: e.limits.Body, w: w}
}

// stopped returns a problem once no new work is wanted.
func (e *Edge) stopped() error {
	select {
	case <-e.stopping:
		return errStopping()
	default:
		return nil
	}
}

// Caller says whose request it is. The zero Caller is a stranger.
type Caller struct {
	Operator bool       // has places of its own
	Sender   Respondent // has at most Limits.PerSender of them; zero: not known
}

// Admit lets requests of pages in where there is room among those of their kind. Strangers, known
// senders and operators have places apart, so that none of them takes those of another.
func (e *Edge) Admit(who func(*http.Request) Caller, h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := e.stopped(); err != nil {
			return err
		}
		caller, k := who(r), strangers
		switch {
		case caller.Operator:
			k = operators
		case caller.Sender != Respondent{}:
			k = respondents
		}
		held := e.hold(w, r, k)
		if err := e.enter(held, k, caller.Sender); err != nil {
			return err
		}
		defer held.release()
		return h(&recorder{ResponseWriter: w, held: held}, r.WithContext(context.WithValue(r.Context(), holdKey{}, held)))
	}
}

// EnterLong gives a request the place of a long body, or a long answer, in the place of its own. A
// stranger's keeps it while it goes on faster than slowly. A known sender's is among those of senders,
// who have one each; an operator's stays where it is.
func EnterLong(r *http.Request) error {
	h := held(r)
	k := longs
	switch h.kind {
	case operators:
		return nil
	case respondents:
		k = batches
	}
	pl, err := h.edge.pools[k].enter(http.NewResponseController(h.w), h.conn, h.sender)
	if err != nil {
		return overloaded("others that are as long are under way")
	}
	h.place.leave()
	h.place = pl
	return nil
}

// server returns one of net/http with the times of the limits, which counts requests under way.
func (e *Edge) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if conn, ok := r.Context().Value(connKey{}).(*connection); ok {
				defer conn.begin()()
			}
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: e.limits.Header,
		ReadTimeout:       e.limits.Body, // Body sets a later one as a body keeps coming
		WriteTimeout:      answerTime,    // likewise
		ConnContext:       withConnection,
		IdleTimeout:       e.limits.Idle,
		MaxHeaderBytes:    maxHeader,
		// net/http names the address of whoever broke off a handshake.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// limited bounds the connections of a listener.
func (e *Edge) limited(l net.Listener) net.Listener {
	return limitConnections(l, e.limits.Connections, e.limits.PerAddress, e.limits.Relays...)
}

// ServePages answers by a handler of pages, which lets requests in by Admit, until the context ends,
// and lets those under way finish. Without a certificate it answers in the clear. It speaks HTTP/1.1.
func (e *Edge) ServePages(ctx context.Context, l net.Listener, certificate *tls.Certificate, h http.Handler) error {
	s := e.server(h)
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	failed := make(chan error, 1)
	go func() {
		if certificate == nil {
			failed <- s.Serve(e.limited(l))
			return
		}
		s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*certificate}}
		failed <- s.ServeTLS(e.limited(l), "", "")
	}()
	return e.until(ctx, s, failed, func() {})
}

// until ends a server with the context, which it says, or once it has failed.
func (e *Edge) until(ctx context.Context, s *http.Server, failed <-chan error, say func()) error {
	select {
	case err := <-failed:
		s.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	close(e.stopping) // not ready from now on, so that a balancer looks elsewhere
	say()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.limits.Stop)
	defer cancel()
	if err := s.Shutdown(grace); err != nil {
		s.Close()
		return fmt.Errorf("serve: requests were under way after %v and have been cut off", e.limits.Stop)
	}
	return nil
}
