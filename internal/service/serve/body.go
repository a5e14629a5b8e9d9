package serve

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// memory counts the bytes that bodies may hold.
type memory struct {
	mu   sync.Mutex
	free int64
}

func (m *memory) take(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.free {
		return false
	}
	m.free -= n
	return true
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free += n
}

// chunk is what is set aside for a body at first. It doubles as bytes arrive: a
// request that announces a large body and sends none holds no more than this.
const chunk = 64 << 10

// leastRate is the bytes a second that a sender must reach, in every window of
// Limits.Body, until its body has ended.
const leastRate = 32 << 10

// Body returns the body of a request as it may be read: no more than the limit, and no
// more slowly than leastRate. Only the time that is spent waiting for the sender
// counts. Its errors are *wire.Problem, but for io.EOF. The request holds a place.
func Body(w http.ResponseWriter, r *http.Request, limit int64) io.Reader {
	h := held(r)
	if h.place == nil {
		panic("serve: a body is read before its sender is known")
	}
	return &paced{body: http.MaxBytesReader(w, r.Body, limit), hold: h}
}

type paced struct {
	body   io.Reader
	hold   *hold
	waited time.Duration // in this window
	got    int64         // in this window, bytes
	until  time.Time     // the deadline that is set
}

func (p *paced) Read(b []byte) (n int, err error) {
	window := p.hold.window
	if p.got >= int64(window.Seconds()*leastRate) {
		p.got, p.waited = 0, 0
	}
	begin := time.Now()
	var deadline time.Time
	if d := begin.Add(window - p.waited); d.Sub(p.until) > window/16 { // setting it costs more than reading a short body
		deadline, p.until = d, d
	}
	kept := p.hold.place.waitToRead(deadline, func() int {
		n, err = p.body.Read(b)
		return n
	})
	p.waited += time.Since(begin)
	p.got += int64(n)
	switch {
	case err == io.EOF:
		return n, err
	case !kept:
		return n, overloaded("others were waiting, and this body came slowly")
	case err != nil:
		return n, bodyProblem(err)
	}
	return n, nil
}

// ReadBody reads the body of a request under a Server: at most limit bytes, as Body
// does, within what the requests of its kind together may hold. It is called once
// for a request. The error is a *wire.Problem: TooLarge, Overloaded, RequestTimeout
// or BadRequest.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	return ReadBodyInto(w, r, limit, nil)
}

// ReadBodyInto is ReadBody for who has memory that nobody else uses: the body lies there if
// there is room. What the memory held is gone.
func ReadBodyInto(w http.ResponseWriter, r *http.Request, limit int64, buf []byte) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, wire.Problemf(wire.TooLarge, "the body has %d bytes; at most %d fit here", r.ContentLength, limit)
	}
	if r.ContentLength >= 0 {
		limit = r.ContentLength
	}
	h := held(r)
	body := Body(w, r, limit)
	var b []byte
	for {
		if len(b) == cap(b) {
			// Room for one byte more than may come, so that there is always some.
			size := min(max(2*int64(cap(b)), chunk), limit+1)
			if !h.place.pool.memory.take(size - h.body) {
				return nil, overloaded("the bodies under way fill the memory set aside for them")
			}
			h.body = size
			if b == nil && int64(cap(buf)) >= size {
				b = buf[:0:size]
			} else {
				b = append(make([]byte, 0, size), b...)
			}
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func bodyProblem(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return wire.Problemf(wire.TooLarge, "the body has more than %d bytes", tooLarge.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return wire.Problemf(wire.RequestTimeout, "the body did not arrive in time")
	}
	return wire.Problemf(wire.BadRequest, "the body broke off")
}
