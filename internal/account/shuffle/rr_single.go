package shuffle

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Profile covers one user, whose loss is +-local in every round, and a single
// release, whose epsilon(delta) and delta(epsilon) need no grid: they are maxima
// over the sets {count >= t} of every world.
func (e RandomizedResponse) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	switch {
	case e.Flip == 0.5:
		return silence{}, account.Exact, nil
	case e.Users == 1:
		c, err := profile.NewOptimal(e.local(), 0, rounds)
		return c, account.Exact, err
	case rounds != 1:
		return nil, "", nil
	case o.Lower:
		return single{e.Users, e.bit(), o}, account.Lower, nil
	case !e.bit().cover(e.Users, o).complete():
		return single{e.Users, e.bit(), o}, account.Upper, nil
	}
	return single{e.Users, e.bit(), o}, account.Exact, nil
}

// silence is the profile of what does not depend on the data.
type silence struct{}

func (silence) Delta(epsilon float64) (float64, error) { return 0, nil }
func (silence) Epsilon(delta float64) (float64, error) { return 0, nil }

type single struct {
	users int
	bit   bit
	o     account.Options
}

// Delta rounds up by the neglected tails and the law's error.
func (s single) Delta(epsilon float64) (float64, error) {
	growth := math.Expm1(epsilon)
	delta := s.most(func(b bit, w, above float64) (p, q float64) { return b.margin(epsilon)*w - growth*above, 1 })
	if !(delta > 0) {
		return 0, nil // beyond the local epsilon
	}
	if s.o.Lower {
		return math.Max(0, delta), nil
	}
	return math.Min(1, math.Max(0, delta)+2*s.tail()), nil
}

// Epsilon is max over t of ln((P(T_t) - delta) / Q(T_t)) where P(T_t) > delta.
func (s single) Epsilon(delta float64) (float64, error) {
	if !s.o.Lower {
		delta -= 2 * s.tail()
	}
	ratio := s.most(func(b bit, w, above float64) (p, q float64) {
		return above + b.keep*w - delta, above + b.flip*w
	})
	return math.Max(0, math.Log(ratio)), nil
}

func (s single) tail() float64 { return math.Max(s.o.Neglect/4, profile.MinTail) }

// most returns the largest ratio over every world and every t of two functions of
// w(t-1) and S(t), in both directions. A lower bound is content with the ends
// and a spread of worlds.
func (s single) most(value func(b bit, w, above float64) (p, q float64)) float64 {
	var worlds []world
	if s.o.Lower {
		stride := max(1, s.users/64)
		for i := range (s.users-1)/stride + 2 {
			worlds = append(worlds, world{s.users - 1, min(s.users-1, i*stride)})
		}
	} else {
		worlds = slices.Collect(s.bit.cover(s.users, s.o).all())
	}
	workers := min(runtime.GOMAXPROCS(0), 1+len(worlds)/8)
	best := make([]float64, workers)
	larger := func(best *float64, p, q float64) {
		if p > *best*q { // few are, and a division takes long
			*best = math.Max(*best, p/q)
		}
	}
	var wait sync.WaitGroup
	for i := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var law Others
			for j := i; j < len(worlds); j += workers {
				_, w := law.law(worlds[j].others, worlds[j].ones, s.bit, s.tail())
				above := 0.0
				for t := len(w) - 1; t >= 0; t-- {
					p, q := value(s.bit, w[t], above)
					larger(&best[i], p, q)
					above += w[t]
				}
				if s.bit.symmetric() {
					continue // the other direction is another world
				}
				below, mirror := 0.0, s.bit.mirror()
				for _, x := range w {
					p, q := value(mirror, x, below)
					larger(&best[i], p, q)
					below += x
				}
			}
		}()
	}
	wait.Wait()
	most := 0.0
	for _, b := range best {
		most = math.Max(most, b)
	}
	return most
}
