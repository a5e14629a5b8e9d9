package vectors

import (
	"math"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/rdp"
)

// A shifter is accounted as a vector, but for the chances of failing that failing
// describes.
type shifter interface {
	shifted() (v VectorResponse, rare, overflow float64)
}

func (e VectorResponse) shifted() (v VectorResponse, rare, overflow float64) { return e, 0, 0 }

// Together returns the profile of rounds of vectors that differ from each other.
func (e VectorResponse) Together(all []account.Repeat, o account.Options) (c profile.Curve, ok bool) {
	return shiftedTogether(all, o)
}

// Together returns the profile of rounds of rows and vectors that differ from each other.
func (e SecretRows) Together(all []account.Repeat, o account.Options) (c profile.Curve, ok bool) {
	return shiftedTogether(all, o)
}

// shiftedTogether goes by the same two routes as the rounds of one vector: squares of
// shifts add, Renyi divergences add order by order, and so does what is charged to delta.
// Not ok where other mechanisms are among them.
func shiftedTogether(all []account.Repeat, o account.Options) (c profile.Curve, ok bool) {
	var squares, concentrated float64
	var f failing
	var vectors []account.Repeat
	charge, rounds := o.Neglect*tailShare, 0.0
	for _, r := range all {
		s, ok := r.Event.(shifter)
		if !ok {
			return nil, false
		}
		v, rare, overflow := s.shifted()
		vectors = append(vectors, account.Repeat{Event: v, Rounds: r.Rounds})
		k, shift := float64(r.Rounds), v.slope(charge)*math.Sqrt(v.squares())
		squares += k * shift * shift
		concentrated += k * v.squares() / (2 * v.deviation() * v.deviation())
		f.rare += k * rare
		f.overflow += k * overflow
		rounds += k
	}
	renyi := sync.OnceValue(func() profile.Curve { return renyiOf(vectors) })
	if math.IsInf(squares, 1) {
		f.Curve = renyi()
		return f, true
	}
	gauss := withTail{profile.Normal(profile.Raised(math.Sqrt(squares))), math.Min(1, charge*rounds)}
	f.Curve = &lesser{gauss: gauss, ideal: rdp.ZeroConcentrated(concentrated), renyi: renyi}
	return f, true
}

// renyiOf adds up the divergences of vectors.
func renyiOf(vectors []account.Repeat) rdp.Curve {
	curves := make([]rdp.Curve, len(vectors))
	for i, r := range vectors {
		v := r.Event.(VectorResponse)
		curves[i] = v.renyiCurve(float64(r.Rounds) * v.squares())
	}
	return func(order float64) (sum float64) {
		for _, c := range curves {
			sum += c(order)
		}
		return sum
	}
}
