package console

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// limits bounds what the network can make the console hold. People in a room may be behind one
// address, and so is everybody whom something on this machine hands on: then an address has no
// bound of its own.
func (o Options) limits() serve.Limits {
	l := serve.Limits{Connections: 1024, Requests: 128, Batches: 32, Others: 64, Operators: 32, Long: 8, PerSender: 8, Memory: 1 << 20, Stop: 2 * time.Second}
	if o.Poll != nil || slices.ContainsFunc(o.Hosts, local) {
		l.PerAddress = l.Connections
	}
	return l
}

// local reports whether a name by which browsers call the console is this machine's alone.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	return err == nil && (name == "localhost" || net.ParseIP(name).IsLoopback())
}

// caller says whose request it is: an operator's, who has a session, a phone's, which has joined,
// or a stranger's.
func (c *Console) caller(r *http.Request) serve.Caller {
	if cookie, err := r.Cookie(cookieName(c.secure(r))); err == nil {
		if _, ok := c.sessions.Find(cookie.Value); ok {
			return serve.Caller{Operator: true, Sender: sha256.Sum256([]byte(cookie.Value))}
		}
	}
	if c.o.Poll == nil {
		return serve.Caller{}
	}
	if cookie, err := r.Cookie(phoneCookie); err == nil && c.o.Poll.knows(cookie.Value) {
		return serve.Caller{Sender: sha256.Sum256([]byte(cookie.Value))}
	}
	return serve.Caller{}
}

// turns is how many pages are drawn at once for others than operators, who so have their part of
// the processors whoever else comes.
const turns = 2

// drawing is a page that is handed out once it is whole: who takes it slowly has no turn.
type drawing struct {
	http.ResponseWriter
	status int
	whole  bytes.Buffer
}

func (d *drawing) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

func (d *drawing) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	return d.whole.Write(b)
}

// drawn answers by a page, when it is the request's turn.
func (c *Console) drawn(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := &drawing{ResponseWriter: w}
		if err := c.inTurn(r, func() {
			if err := h(d, r); err != nil {
				c.fail(d, r, err)
			}
		}); err != nil {
			return // who asked is gone
		}
		d.WriteHeader(http.StatusOK)
		w.WriteHeader(d.status)
		w.Write(d.whole.Bytes())
	}
}

// inTurn does something for a request when fewer than so many others do; for an operator at once.
func (c *Console) inTurn(r *http.Request, do func()) error {
	if _, is := c.session(r); !is {
		select {
		case c.turns <- struct{}{}:
			defer func() { <-c.turns }()
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
	do()
	return nil
}

// errBusy refuses what there is no place for.
var errBusy = &pageError{http.StatusServiceUnavailable, "Many others are here at this moment.", "Try again in a moment."}

// busy answers a request for which there is no place, in a few words: a page would take one.
func busy(w http.ResponseWriter, err error) {
	why := errBusy.title
	if problem, ok := errors.AsType[*wire.Problem](err); ok {
		why = "The console is busy: " + sanitize.Text(problem.Detail) + "."
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(problem.RetryAfter/time.Second))))
	}
	http.Error(w, why, http.StatusServiceUnavailable)
}

// Serve answers at the listener until the context ends: over TLS by the certificate; nil: in the
// clear, which is for this machine alone. Requests that are under way then are cut off.
func (c *Console) Serve(ctx context.Context, l net.Listener, certificate *tls.Certificate) error {
	if c.bands != nil {
		ctx, stop := context.WithCancel(ctx)
		var looking sync.WaitGroup
		looking.Go(func() { c.watchBands(ctx) })
		defer looking.Wait()
		defer stop()
	}
	if err := c.edge.ServePages(ctx, l, certificate, c); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
