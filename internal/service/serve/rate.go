package serve

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/confetti-dp/confetti/internal/wire"
)

// Rates limits how often each key, such as a Respondent, may do something. It
// remembers a bounded number of keys; who has been quiet for long is forgotten
// first and starts afresh. It is safe for concurrent use.
type Rates[K comparable] struct {
	limit rate.Limit
	burst int
	keys  int

	mu         sync.Mutex
	young, old map[K]*rate.Limiter // a key moves to young when it is used
}

// NewRates allows each key so many a second in the long run and so many at
// once, and remembers at least the given number of keys.
func NewRates[K comparable](perSecond float64, burst, keys int) *Rates[K] {
	return &Rates[K]{limit: rate.Limit(perSecond), burst: burst, keys: keys, young: map[K]*rate.Limiter{}}
}

// Allow takes one from the key's allowance, or returns a RateLimited problem
// that says when there will be one.
func (r *Rates[K]) Allow(key K) error { return r.AllowAt(key, time.Now()) }

// AllowAt is Allow by somebody's own clock.
func (r *Rates[K]) AllowAt(key K, now time.Time) error {
	reservation := r.limiter(key).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	p := wire.Problemf(wire.RateLimited, "at most %g a second in the long run", float64(r.limit))
	p.RetryAfter = wait
	return p
}

func (r *Rates[K]) limiter(key K) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.young[key]
	if l != nil {
		return l
	}
	if l = r.old[key]; l == nil {
		l = rate.NewLimiter(r.limit, r.burst)
	}
	if len(r.young) >= r.keys {
		r.young, r.old = map[K]*rate.Limiter{}, r.young
	}
	r.young[key] = l
	return l
}
