// Package serve runs a service's HTTP side so that a hostile network cannot take it down and an honest one leaves no
// traces. Used by internal/service, cmd/internal/daemon and cmd/confetti/internal.
//
// TLS 1.3 only, limits on connections, requests, sizes and times, failures as problem documents, and neither
// addresses nor headers of clients in any handler or log.
package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Limits bound what the network can make a service hold. Zero fields take the
// values of DefaultLimits.
type Limits struct {
	Connections int           // open at once; the one without a request for longest goes for another one
	PerAddress  int           // of them of one address; a quarter
	Streams     int           // requests at once on one connection
	Requests    int           // of respondents at once, once their credential is checked; more are refused as Overloaded
	Batches     int           // likewise of hops; a sixteenth of Requests, at least 4
	Others      int           // of everybody else; a quarter of Requests
	Operators   int           // of operators, to pages; a sixteenth of Requests, at least 4
	Long        int           // with a long body or a long answer
	PerConn     int           // of any one kind from one connection
	PerSender   int           // of any one kind from one respondent
	Relayed     int           // that one relay brings at once; half of Requests
	Memory      int64         // bytes of bodies of respondents and hops held at once; more are refused as Overloaded
	Header      time.Duration // for a request's header, and for the TLS handshake
	Body        time.Duration // in which so much of a body must come as 32 KiB a second make, or its end
	Idle        time.Duration // of a connection without requests
	Stop        time.Duration // for requests under way when the service stops

	Relays []netip.Prefix // networks from which relays come, one each: it counts as one address
}

// DefaultLimits fit one machine of some gigabytes.
var DefaultLimits = Limits{
	Connections: 4096,
	PerAddress:  1024,
	Streams:     64,
	Requests:    1024,
	Batches:     64,
	Others:      256,
	Operators:   64,
	Long:        1,
	PerConn:     32,
	PerSender:   4,
	Memory:      1 << 30,
	Header:      5 * time.Second,
	Body:        15 * time.Second,
	Idle:        60 * time.Second,
	Stop:        30 * time.Second,
}

const (
	maxHeader = 16 << 10 // bytes: credentials and content type; a token has 400

	// strangerMemory bounds the bodies of requests that need no credential: two
	// signed plans of the longest kind.
	strangerMemory = 18 << 20

	// checking is how many credentials are looked at at once. It takes no network,
	// so that such a request does not stay.
	checking = 1024

	// patience is how long a request keeps its place, waiting for its sender, while
	// others want one.
	patience = time.Second

	// longRate is the bytes a second at which a long plan keeps its place: the longest
	// takes 16 seconds then.
	longRate = 512 << 10

	// receiveBuffer is what HTTP/2 holds of what a connection has sent and no
	// handler has read, in bytes.
	receiveBuffer = 512 << 10

	// answerTime is how long a client may take to read an answer, from its
	// request's body on. Releases are the longest.
	answerTime = 2 * time.Minute
)

// Handler answers one request, or returns why not: an error becomes the problem
// that web.AsProblem makes of it.
type Handler func(http.ResponseWriter, *http.Request) error

// Config is a service to run.
type Config struct {
	Name   string      // of the kind of service, such as "shuffler"
	Listen string      // host:port
	TLS    *tls.Config // see TLS
	Debug  string      // loopback host:port for profiles; empty: none
	Limits Limits
	Log    *slog.Logger // nil: nothing is logged

	Routes map[string]Handler // by pattern of net/http, such as wire.PlanPattern

	// Visited and Handed are patterns, beside those of package wire, of requests that
	// respondents make, and that other services make who hand something over. Their
	// handlers call Enter once they have checked the credential.
	Visited, Handed []string

	// Origins are those of pages whose scripts may make requests of respondents and read what is public, such
	// as https://app.example.org.
	Origins []string

	// Private are patterns whose requests are not counted in the metrics,
	// because their number is what a plan keeps private.
	Private map[string]bool

	Ready  func(context.Context) error   // why the service is not ready; nil: it always is
	Status func(context.Context) *Status // what the status page shows; nil: only that it runs
	// Operators may read /metrics and the status pages; nil: whoever reaches them may.
	Operators *Bearers
	Metrics   *Metrics // nil: New makes some

	// Keys is the folder of private keys whose names and ages the status page tells; empty: none.
	Keys string
	// Disk is a folder on the disk whose room it tells, and none where that would tell the
	// size of a crowd that is private; nil: none.
	Disk func() string

	gateway *gateway // of what devices send by relays; nil: none
}

// Server is a service that is set up. It is an http.Handler for tests.
type Server struct {
	config       Config
	edge         *Edge
	root         http.Handler
	http         *http.Server
	listener     net.Listener
	debug        *debugServer
	started      time.Time
	sessions     *session.Sessions
	acknowledged acknowledgements
	draining     atomic.Pointer[time.Time]
	patterns     []string      // of all routes
	checking     chan struct{} // a place for each credential that is looked at
}

// New sets a service up. It does not listen yet.
func New(c Config) (*Server, error) {
	c.Limits = c.Limits.orDefault()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	if c.gateway != nil && !slices.ContainsFunc(slices.Collect(maps.Keys(c.Routes)), c.hidden) {
		return nil, errors.New("serve: gateway is for what devices send, and this service takes nothing of theirs: leave it out")
	}
	s := &Server{
		sessions: session.New(linkTime, time.Now),
		edge:     NewEdge(c.Limits), config: c, started: time.Now(),
		checking: make(chan struct{}, checking),
	}
	s.root = s.handler()
	s.http = s.edge.server(s.root)
	s.http.TLSConfig = c.TLS
	s.http.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams:          c.Limits.Streams,
		MaxReceiveBufferPerConnection: receiveBuffer,
		MaxReceiveBufferPerStream:     receiveBuffer,
		SendPingTimeout:               c.Limits.Idle,
		PingTimeout:                   c.Limits.Header,
		WriteByteTimeout:              c.Limits.Body,
	}
	return s, nil
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	set(&l.Connections, d.Connections)
	set(&l.PerAddress, max(1, l.Connections/4))
	set(&l.Streams, d.Streams)
	set(&l.Requests, d.Requests)
	set(&l.Batches, max(4, l.Requests/16))
	set(&l.Others, max(4, l.Requests/4))
	set(&l.Operators, max(4, l.Requests/16))
	set(&l.Long, d.Long)
	set(&l.PerConn, d.PerConn)
	set(&l.PerSender, d.PerSender)
	set(&l.Relayed, max(4, l.Requests/2))
	set(&l.Memory, d.Memory)
	set(&l.Header, d.Header)
	set(&l.Body, d.Body)
	set(&l.Idle, d.Idle)
	set(&l.Stop, d.Stop)
	return l
}

func set[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Listen opens the ports and returns the service's address; Serve answers.
func (s *Server) Listen() (net.Addr, error) {
	if s.config.TLS == nil {
		return nil, errors.New("serve: no certificate: a service is reached over TLS only")
	}
	l, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if s.config.Debug != "" {
		if s.debug, err = listenDebug(s.config.Debug); err != nil {
			l.Close()
			return nil, err
		}
	}
	s.listener = s.edge.limited(l)
	return l.Addr(), nil
}

// Serve answers requests until the context ends, then lets those under way
// finish, for as long as Limits.Stop. It listens first if Listen has not been
// called. A graceful stop is no error.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		if _, err := s.Listen(); err != nil {
			return err
		}
	}
	failed := make(chan error, 2)
	go func() { failed <- s.http.ServeTLS(s.listener, "", "") }()
	if s.debug != nil {
		go func() { failed <- s.debug.serve() }()
		defer s.debug.close()
	}
	s.config.Log.Info("serving", "service", s.config.Name, "at", s.listener.Addr().String())
	return s.edge.until(ctx, s.http, failed, func() { s.config.Log.Info("stopping", "service", s.config.Name) })
}

// Patterns returns those of all routes, as of net/http.
func (s *Server) Patterns() []string { return slices.Sorted(slices.Values(s.patterns)) }

// ServeHTTP answers one request without a listener.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// TLS returns the configuration of a service: TLS 1.3 with HTTP/2. With authorities
// of clients a client may show a certificate of theirs; whether it must is the
// handler's to say.
func TLS(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error), clients *x509.CertPool) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: certificate, NextProtos: []string{"h2", "http/1.1"}}
	if clients != nil {
		c.ClientCAs, c.ClientAuth = clients, tls.VerifyClientCertIfGiven
	}
	return c
}

// errStopping returns the problem of a request that comes while the service stops.
func errStopping() error {
	p := wire.Problemf(wire.Overloaded, "the service is stopping")
	p.RetryAfter = 5 * time.Second
	return p
}
