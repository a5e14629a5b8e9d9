// Package shuffle accounts for messages of many respondents that are seen shuffled, where others' noise hides what
// one respondent sends: bits, fragments, symbols and vectors. Used by internal/dp and question/histogram for their
// events, and by cmd/confetti/internal/account.
package shuffle

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// RandomizedResponse is one shuffled bit of each of Users respondents, flipped
// with probability Flip in (0, 1/2]: the observer sees the count of ones among
// all of them. Neighbours replace one respondent's bit (replacement). With one
// user it is local randomized response. Users are those whose noise is relied upon.
type RandomizedResponse struct {
	Users int     `json:"users"`
	Flip  float64 `json:"flip_probability"`
}

func (e RandomizedResponse) Terms() (account.Guarantee, error) {
	if err := checkFlip(e.Users, e.Flip); err != nil {
		return account.Guarantee{}, err
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "exact law of the count of ones, worst number of ones among the others",
		Source: "dominating pairs (Zhu, Dong, Wang 2022); docs/accounting.md",
	}, nil
}

func checkFlip(users int, flip float64) error {
	if users < 1 || users > account.MaxUsers {
		return fmt.Errorf("account: %d users: need 1 to %d", users, account.MaxUsers)
	}
	if !(flip >= minFlip && flip <= 0.5) {
		return fmt.Errorf("account: flip probability %v: need %v to 1/2", flip, minFlip)
	}
	return nil
}

// minFlip has a local epsilon of 27: no protection to account for.
const minFlip = 1e-12

// bit returns how a respondent answers.
func (e RandomizedResponse) bit() bit { return bit{1 - e.Flip, e.Flip, e.Flip, 1 - e.Flip} }

// local returns the loss that no data set exceeds: ln((1-p)/p), that of one report.
func (e RandomizedResponse) local() float64 { return math.Log1p(-e.Flip) - math.Log(e.Flip) }

// RMSE returns the root mean square error of the debiased count: sqrt(n p(1-p))/(1-2p).
func (e RandomizedResponse) RMSE() float64 {
	return math.Sqrt(float64(e.Users)*e.Flip*(1-e.Flip)) / (1 - 2*e.Flip)
}

func (e RandomizedResponse) Certificate(o account.Options) string {
	return e.bit().certified(e.Users, o)
}

const leastOf = "some data sets only"

func (b bit) certified(users int, o account.Options) string {
	if o.Lower {
		return leastOf
	}
	return b.cover(users, o).words()
}

// words says what the worlds stand for.
func (c Worlds) words() string {
	switch {
	case c.rate > 0:
		return fmt.Sprintf("every k of the others, by an envelope of %d k with %d respondents left out, and more where a count spreads more", len(slices.Collect(c.all())), c.Dropped)
	case c.complete():
		return fmt.Sprintf("every k of the others, 0 to %d", c.Users-1)
	}
	return fmt.Sprintf("every k of the others, by an envelope of %d k with %d respondents left out", c.Count(), c.Users-1-c.Others())
}

func (e RandomizedResponse) Spread() float64 {
	n, p := float64(e.bit().counted(e.Users)), e.Flip
	return math.Min(e.local(), (1-2*p)/math.Sqrt(n*p*(1-p)))
}

// Lattice: the largest loss is an atom, which matters with few users.
func (e RandomizedResponse) Lattice() float64 { return e.local() }

// Distributions gives one pair that dominates every data set and, since k with
// the bit falling is n-1-k with the bit rising, both directions.
func (e RandomizedResponse) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if e.Flip == 0.5 {
		d, err := pld.FromAtoms([]pld.Atom{{Loss: 0, Mass: 1}}, 0, o.Step)
		return []*pld.Distribution{d}, err
	}
	if o.Lower {
		return e.bit().unanimous(e.Users, o)
	}
	if e.Users == 1 { // two losses, which need no envelope and none of its slack
		d, err := pld.FromAtoms([]pld.Atom{{Loss: e.local(), Mass: 1 - e.Flip}, {Loss: -e.local(), Mass: e.Flip}}, 0, o.Step)
		return []*pld.Distribution{d}, err
	}
	h := e.bit().envelope(e.bit().cover(e.Users, o), o)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// envelope returns the largest hockey stick of the worlds at epsilon = 0, step, ...,
// plus what the laws' windows and rounding neglect. It ends where nothing but
// the neglected is left, or at the local epsilon, beyond which it is zero.
//
// Given W, the number of ones among the others, the set of counts >= t has
// probability S(t) + a w(t-1) if the target holds a one, S(t) + b w(t-1) if
// not, S(t) = P(W >= t), a = keep, b = flip. The likelihood ratio grows with the
// count, so
//
//	h(epsilon) = max over t of (a - e^epsilon b) w(t-1) - (e^epsilon - 1) S(t),
//
// and the best t grows with epsilon: one walk over both. The other direction is
// the same with counts of zeros: the law upside down, 1-b for a and 1-a for b.
// Where the bit is symmetric that is the world of n-1-k.
func (b bit) envelope(c Worlds, o account.Options) []float64 {
	rising, falling := b.envelopes(c, o)
	return pld.Larger(rising, falling)
}

// walk computes the envelopes of either direction.
func (b bit) walk(c Worlds, o account.Options) (rising, falling []float64) {
	points := int(math.Ceil(max(b.local(), b.mirror().local())/o.Step)) + 1
	worlds := slices.Collect(c.all())
	if b.symmetric() { // each of the other worlds is one of these upside down
		worlds = worlds[:(len(worlds)+1)/2]
	}
	workers := min(runtime.GOMAXPROCS(0), 1+len(worlds)/8)
	partial := make([][]float64, 2*workers)
	tail := math.Max(o.Neglect/4, profile.MinTail)
	var wait sync.WaitGroup
	for i := range workers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var law Others
			rising, falling := &sticks{bit: b}, &sticks{bit: b.mirror()}
			if b.symmetric() {
				falling = rising
			}
			for j := i; j < len(worlds); j += workers {
				_, w := law.law(worlds[j].others, worlds[j].ones, b, tail)
				rising.raise(w, o.Step, tail, points)
				slices.Reverse(w)
				falling.raise(w, o.Step, tail, points)
			}
			partial[i], partial[workers+i] = rising.h, falling.h
		}()
	}
	wait.Wait()
	rising = roundUp(partial[:workers], points, tail)
	if b.symmetric() {
		return rising, rising
	}
	return rising, roundUp(partial[workers:], points, tail)
}

// roundUp takes the maximum and adds what was neglected.
func roundUp(partial [][]float64, points int, tail float64) []float64 {
	longest := 0
	for _, h := range partial {
		longest = max(longest, len(h))
	}
	h := make([]float64, longest)
	for _, one := range partial {
		for i, v := range one {
			h[i] = max(h[i], v)
		}
	}
	for i := len(h) - 1; i >= 0; i-- {
		h[i] = math.Min(1, h[i]*(1+profile.LawError)+2*tail)
		if i+1 < len(h) {
			h[i] = max(h[i], h[i+1])
		}
	}
	last := 2 * tail // whoever stopped earlier was below this
	if len(h) >= points-1 {
		last = 0 // the next point is beyond the local epsilon
	}
	return append(h, last)
}

// sticks collects the maximum of hockey sticks on a grid of epsilons.
type sticks struct {
	bit          bit
	h            []float64
	keep, growth []float64 // a - e^epsilon b and e^epsilon - 1 on the grid
	above        []float64 // scratch: S(t)
}

// raise takes the law w of W into account.
func (s *sticks) raise(w []float64, step, tail float64, points int) {
	if cap(s.above) < len(w)+1 {
		s.above = make([]float64, 2*(len(w)+1))
	}
	above := s.above[:len(w)+1] // above[i] = P(W >= low+i), down to the mode
	above[len(w)] = 0
	sum, top, mode := 0.0, 0.0, len(w)
	for i := len(w) - 1; i >= 0 && w[i] >= top; i-- {
		sum += w[i]
		above[i] = sum
		mode, top = i, w[i]
	}
	// At epsilon zero the best set starts right above the mode: t-1 = mode.
	here, beyond := w[mode], above[mode+1]
	w, above = w[mode+1:], above[mode+2:] // of the next sets
	for i := 0; ; {
		keeps, growths, h := s.keep[:len(s.h)], s.growth[:len(s.h)], s.h
		for ; i < len(h); i++ {
			keep, growth := keeps[i], growths[i]
			best := keep*here - growth*beyond
			for len(w) > 0 && len(above) > 0 {
				next := keep*w[0] - growth*above[0]
				if next < best {
					break
				}
				best, here, beyond = next, w[0], above[0]
				w, above = w[1:], above[1:]
			}
			if best <= tail {
				if h[i] == 0 { // nobody came as far
					s.h = h[:i]
				}
				return
			}
			if best > h[i] {
				h[i] = best
			}
		}
		if len(h) == points-1 {
			return
		}
		if s.h = append(h, 0); len(s.keep) < len(s.h) {
			s.extend(step)
		}
	}
}

// extend adds a grid point.
func (s *sticks) extend(step float64) {
	x := float64(len(s.keep)) * step
	s.keep = append(s.keep, s.bit.margin(x))
	s.growth = append(s.growth, math.Expm1(x))
}

// unanimous returns the pair of data sets whose others all hold ones, or zeros where
// these are the less noisy, as a lower bound: its loss is there whatever the
// accountant does.
func (b bit) unanimous(users int, o account.Options) ([]*pld.Distribution, error) {
	if b.flip*b.stay < b.keep*b.drop {
		b = b.mirror()
	}
	falling, rising := b.atoms(users, users-1, o)
	down, err := pld.LowerFromAtoms(falling, 0, o.Step)
	if err != nil {
		return nil, err
	}
	up, err := pld.LowerFromAtoms(rising, 0, o.Step)
	return []*pld.Distribution{down, up}, err
}

// atoms returns the losses of a count whose other users hold so many ones, of a one told
// from a zero and the reverse, without what is too rare to be resolved.
func (b bit) atoms(users, ones int, o account.Options) (falling, rising []pld.Atom) {
	var law Others
	low, w := law.law(users-1, ones, b, math.Max(o.Neglect/4, profile.MinTail))
	// Counts at the ends of a window that does not hold all of the law have too large a loss, for
	// want of their neighbour.
	first, last := 1, len(w)
	if low == 0 {
		first = 0
	}
	if low+len(w) == users {
		last++
	}
	for i := first; i < last; i++ {
		var before, here float64
		if i > 0 {
			before = w[i-1]
		}
		if i < len(w) {
			here = w[i]
		}
		one, zero := b.keep*before+b.drop*here, b.flip*before+b.stay*here
		if one == 0 || zero == 0 {
			continue // underflow: leaving it out lowers the bound
		}
		loss := math.Log(one / zero)
		falling = append(falling, pld.Atom{Loss: loss, Mass: one})
		rising = append(rising, pld.Atom{Loss: -loss, Mass: zero})
	}
	return falling, rising
}

// Losses: the bit is the only message.
func (e RandomizedResponse) Losses() account.Losses {
	return account.Losses{Report: e.local(), Message: e.local(), Bound: account.Exact}
}

// Opened: the opened bit is that of a respondent whom nobody else hides.
func (e RandomizedResponse) Opened(rounds int) (rest []account.Event, alone account.Event) {
	return less(e, rounds), RandomizedResponse{1, e.Flip}
}
