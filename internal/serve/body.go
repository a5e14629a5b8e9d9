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

// memory counts the bytes that the bodies of all requests may hold.
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

// reservation is what one request holds, until it is answered.
type reservation struct {
	memory *memory
	alone  chan struct{} // see enterAlone
	body   time.Duration
	held   int64
}

type reservationKey struct{}

func (r *reservation) release() {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	r.memory.free += r.held
	r.held = 0
}

// chunk is what is set aside for a body at first. It doubles as bytes arrive: a
// request that announces a large body and sends none holds no more than this.
const chunk = 64 << 10

// enterAlone lets one request at a time go on; leave lets the next one in.
func enterAlone(r *http.Request) (leave func(), err error) {
	held := reserved(r)
	select {
	case held.alone <- struct{}{}:
		return func() { <-held.alone }, nil
	default:
		return nil, overloaded("another long plan is coming in")
	}
}

func reserved(r *http.Request) *reservation {
	held, under := r.Context().Value(reservationKey{}).(*reservation)
	if !under {
		panic("serve: a body read outside a Server")
	}
	return held
}

// ReadBody reads the body of a request under a Server: at most limit bytes, in a
// time that fits them, within what all requests together may hold. It is called
// once for a request. The error is a *wire.Problem: TooLarge, Overloaded,
// RequestTimeout or BadRequest.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, wire.Problemf(wire.TooLarge, "the body has %d bytes; at most %d fit here", r.ContentLength, limit)
	}
	if r.ContentLength >= 0 {
		limit = r.ContentLength
	}
	held := reserved(r)
	deadline := time.Now().Add(held.body + time.Duration(limit)*(time.Second/bodyRate))
	control := http.NewResponseController(w)
	// Both fail where there is no connection to limit, as in a test's recorder.
	control.SetReadDeadline(deadline)
	control.SetWriteDeadline(deadline.Add(answerTime))
	body := http.MaxBytesReader(w, r.Body, limit)
	var b []byte
	for {
		if len(b) == cap(b) {
			// Room for one byte more than may come, so that there is always some.
			size := min(max(2*int64(cap(b)), chunk), limit+1)
			if !held.memory.take(size - held.held) {
				return nil, overloaded("the bodies under way fill the memory set aside for them")
			}
			held.held = size
			b = append(make([]byte, 0, size), b...)
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, bodyProblem(err)
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
