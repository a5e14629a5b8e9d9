// Package vectors accounts for bits of whole vectors that are shuffled, of every row and of rows that each device
// chooses in secret, and finds their flips. Used by internal/dp/kde, internal/dp/vector and
// cmd/confetti/internal/account.
package vectors

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/rdp"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// VectorResponse is one bit for each of Coordinates coordinates of a vector of
// each of Users respondents, shuffled: the observer sees every coordinate's
// count of ones. A bit is one with the probability that the vector gives it, and
// is then flipped with probability Flip. Replacing a vector moves the
// probabilities, before the flips, by gaps whose squares sum to at most
// SquaredGap: for "rotate, clip, one bit" of unit vectors in d dimensions
// clipped at R deviations, d/R^2.
//
// Two routes are proved in docs/vector-rr.md, and the smaller epsilon wins: each
// coordinate is dominated by a Gaussian mechanism whose shift is proportional to
// its gap, up to a tail charged to delta; and its Renyi divergence is at most
// kappa times the squared gap.
type VectorResponse struct {
	Users       int     `json:"users"`
	Coordinates int     `json:"coordinates"`
	Flip        float64 `json:"flip_probability"`
	SquaredGap  float64 `json:"squared_gap"`
}

// minVectorFlip bounds the likelihood ratio of one bit, 1/Flip, so that its
// powers fit a float64.
const minVectorFlip = 1e-6

func (e VectorResponse) Terms() (account.Guarantee, error) {
	switch {
	case e.Users < 1 || e.Users > account.MaxUsers:
		return account.Guarantee{}, fmt.Errorf("account: %d users: need 1 to %d", e.Users, account.MaxUsers)
	case e.Coordinates < 1 || e.Coordinates > account.MaxUsers:
		return account.Guarantee{}, fmt.Errorf("account: %d coordinates: need 1 to %d", e.Coordinates, account.MaxUsers)
	case !(e.Flip >= minVectorFlip && e.Flip < 0.5):
		return account.Guarantee{}, fmt.Errorf("account: flip probability %v of a vector's bits: need %v up to, not including, 1/2", e.Flip, minVectorFlip)
	case !(e.SquaredGap >= 1e-12 && e.SquaredGap <= account.MaxUsers):
		return account.Guarantee{}, fmt.Errorf("account: sum of squared gaps %v: need 1e-12 to %d", e.SquaredGap, account.MaxUsers)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "vector-valued randomized response, Gaussian domination or Renyi divergence of the counts",
		Source: "docs/vector-rr.md",
	}, nil
}

// widest returns the largest gap of a coordinate after the flips.
func (e VectorResponse) widest() float64 {
	return (1 - 2*e.Flip) * math.Min(1, math.Sqrt(e.SquaredGap))
}

// squares bounds the sum of squared gaps after the flips.
func (e VectorResponse) squares() float64 {
	keep := 1 - 2*e.Flip
	return keep * keep * math.Min(e.SquaredGap, float64(e.Coordinates))
}

// gaps bounds the sum of the gaps after the flips, by Cauchy and Schwarz.
func (e VectorResponse) gaps() float64 { return math.Sqrt(float64(e.Coordinates) * e.squares()) }

// deviation of a count, whatever the data.
func (e VectorResponse) deviation() float64 {
	return math.Sqrt(float64(e.Users) * e.Flip * (1 - e.Flip))
}

func (e VectorResponse) Spread() float64 { return math.Sqrt(e.squares()) / e.deviation() }

// vectorWorlds is how many numbers of ones stand for all: the price is that of
// two in this many users fewer, 0.2 % of epsilon.
const vectorWorlds = 500

// cover is symmetric under flipping every bit, as the proof asks: with a stride
// that divides the number of users counted on, k' = 0, stride, ..., others. A
// remainder of users is left out too.
//
// The work is bounded whatever the number of users: where laws that leave out tail, each a
// window of some sqrt(users) terms, would have more than so many terms in all, fewer worlds
// stand for all, and more respondents are left out. That is sound for any number of worlds:
// the reports of those who are left out do not depend on the target's, so that the count of
// all is that of the others plus independent noise, and fewer others are never more private
// (TestFewerOthersAreNeverMorePrivate).
func (e VectorResponse) cover(terms, tail float64) shuffle.Worlds {
	l := -math.Log(tail)
	variance := float64(e.Users) * e.Flip * (1 - e.Flip)
	window := math.Min(float64(e.Users), 2*(l/3+math.Sqrt(l*l/9+2*l*variance))) + 1 // as others.law has it
	count := int(math.Min(vectorWorlds, math.Max(2, terms/window)))
	stride := max(1, e.Users/count)
	return shuffle.Worlds{Users: e.Users - e.Users%stride, Dropped: stride - 1}
}

// Terms of all laws together that are looked at: for a slope, and for moments, of each of
// which every order is another term. Each is some 0.3 s of a core.
const (
	slopeTerms  = 1 << 25
	momentTerms = 1 << 28
)

// count returns the law of the number of ones among m others of whom k hold a one,
// without its place. More than half of them ones is the mirror image of fewer,
// which the recurrence joins below the mode, where its scales cannot overflow.
// ok is false if the law does not sum to one.
func (e VectorResponse) count(law *shuffle.Others, m, k int, tail float64) (w []float64, ok bool) {
	_, w = law.Flipped(m, min(k, m-k), e.Flip, tail)
	if 2*k > m {
		slices.Reverse(w)
	}
	sum := 0.0
	for _, p := range w {
		sum += p
	}
	return w, math.Abs(sum-1) < profile.LawError
}

func (e VectorResponse) Certificate(account.Options) string {
	c := e.cover(slopeTerms, profile.MinTail)
	return fmt.Sprintf("every data set, by %d numbers of ones among the others with %d respondents left out",
		c.Count(), e.Users-1-c.Others())
}

// tailShare is the part of delta that the Gaussian route charges for tails, in
// units of what other mechanisms neglect: one percent.
const tailShare = 0.01 / profile.Neglect

// Profile takes the Gaussian route, and the Renyi one too where that could win:
// not where even the Renyi divergence of a Gaussian would not.
func (e VectorResponse) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if o.Lower {
		return e.fullGaps(rounds, o)
	}
	squares := float64(rounds) * e.squares()
	left := e.momentCover()
	charge := o.Neglect * tailShare
	slope := e.slope(charge)
	gauss := withTail{profile.Normal(slope * math.Sqrt(squares)), math.Min(1, charge*float64(rounds))}
	if math.IsInf(slope, 1) {
		return e.renyiCurve(squares), account.Upper, nil
	}
	return &lesser{
		gauss: gauss,
		ideal: rdp.ZeroConcentrated(squares / (2 * float64(left.Others()+1) * e.Flip * (1 - e.Flip))),
		renyi: sync.OnceValue(func() profile.Curve { return e.renyiCurve(squares) }),
	}, account.Upper, nil
}

// fullGaps returns a lower bound: vectors may differ by whole bits in as many
// coordinates as SquaredGap allows, which is plain randomized response.
func (e VectorResponse) fullGaps(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	bits := int(math.Min(e.SquaredGap, float64(e.Coordinates)))
	if bits < 1 {
		return nil, "", nil
	}
	c, err := o.Composed(account.Repeat{Event: shuffle.RandomizedResponse{Users: e.Users, Flip: e.Flip}, Rounds: rounds * bits})
	return c, account.Lower, err
}

func (e VectorResponse) Distributions(o account.Options) ([]*pld.Distribution, error) {
	charge := o.Neglect * tailShare
	slope := e.slope(charge)
	if o.Lower || math.IsInf(slope, 1) {
		return nil, &account.Unsupported{Event: e, Reason: "no loss distribution at these parameters: the counts' deviation is too small"}
	}
	h := profile.Sample(profile.Normal(slope*math.Sqrt(e.squares())).Hockey, o.Step, o.Neglect)
	for i, d := range h { // afterwards: with its tail it would never fall to the neglected
		h[i] = charge + (1-charge)*d
	}
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

// withTail is a Gaussian that fails outright with probability tail.
type withTail struct {
	profile.Normal
	tail float64
}

func (w withTail) Delta(epsilon float64) (float64, error) {
	d, err := w.Normal.Delta(epsilon)
	return w.tail + (1-w.tail)*d, err
}

func (w withTail) Epsilon(delta float64) (float64, error) {
	rest := (delta - w.tail) / (1 - w.tail)
	if !(rest > 0) {
		return math.Inf(1), nil
	}
	return w.Normal.Epsilon(rest)
}

// lesser is the smaller of two upper bounds. The second takes longer, so it is
// computed only where its ideal would beat the first.
type lesser struct {
	gauss profile.Curve
	ideal profile.Curve
	renyi func() profile.Curve
}

func (l *lesser) least(of func(profile.Curve) (float64, error)) (float64, error) {
	best, err := of(l.gauss)
	if err != nil {
		return 0, err
	}
	if ideal, err := of(l.ideal); err != nil || ideal >= best {
		return best, err
	}
	other, err := of(l.renyi())
	return math.Min(best, other), err
}

func (l *lesser) Delta(epsilon float64) (float64, error) {
	return l.least(func(c profile.Curve) (float64, error) { return c.Delta(epsilon) })
}

func (l *lesser) Epsilon(delta float64) (float64, error) {
	return l.least(func(c profile.Curve) (float64, error) { return c.Epsilon(delta) })
}

// VectorFlip returns the least flip probability, to 1e-4 of itself, with which a
// vector-valued randomized response of n users is (epsilon, delta)-DP. Small
// counts leak more than a Gaussian of their deviation, so the search starts from
// that Gaussian's flip and goes by the accountant; its result was checked.
func VectorFlip(users, coordinates int, squaredGap, epsilon, delta float64) (VectorResponse, error) {
	t := theorems.Theorem("vector-valued randomized response")
	if err := t.Amplification(users, epsilon, delta); err != nil {
		return VectorResponse{}, err
	}
	at := func(flip float64) VectorResponse { return VectorResponse{users, coordinates, flip, squaredGap} }
	if _, err := at(0.25).Terms(); err != nil {
		return VectorResponse{}, err
	}
	// The shift m of a Gaussian, and p(1-p) = b/(1+4b) from (1-2p)^2 s/(n p(1-p)) = m^2.
	m := profile.LeastEnough(0, 100, func(x float64) bool { d := profile.Normal(100 - x).Hockey(epsilon); return d <= delta })
	b := math.Min(squaredGap, float64(coordinates)) / (float64(users) * (100 - m) * (100 - m))
	pq := b / (1 + 4*b)
	flip, ok := leastFlip(2*pq/(1+math.Sqrt(1-4*pq)), newLimit(epsilon, delta, func(x float64) account.Event { return at(-x) }))
	if !ok {
		return VectorResponse{}, t.Outside(math.NaN(), "more than %d users for epsilon %v, delta %v", users, epsilon, delta)
	}
	return at(flip), nil
}

// leastFlip returns the least flip probability, to 1e-4 of itself and from above, that is
// enough, looked for from a guess on, by the limit of its negative. Not ok if none is.
func leastFlip(guess float64, l *limit) (flip float64, ok bool) {
	const most, step = 0.5 - 1e-9, 1.1
	low := math.Min(most, math.Max(minVectorFlip, guess))
	high := low
	for !l.enough(-high) {
		if high == most {
			return 0, false
		}
		low, high = high, math.Min(most, high*step)
	}
	for low == high && low > minVectorFlip {
		if low = math.Max(minVectorFlip, low/step); l.enough(-low) {
			high = low
		}
	}
	if high > low {
		l.narrow()
	}
	for high-low > 1e-4*high {
		if middle := low + (high-low)/2; l.enough(-middle) {
			high = middle
		} else {
			low = middle
		}
	}
	for -high != l.kept.x && !l.asked(-high) { // what is given was asked itself
		high *= 1 + 1e-4
	}
	return high, true
}
