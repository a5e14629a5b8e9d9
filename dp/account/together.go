package account

import (
	"math"
	"sync"

	"github.com/confetti-dp/confetti/dp/account/rdp"
)

// A shifter is accounted as a vector, but for the chances of failing that failing
// describes.
type shifter interface {
	shifted() (v VectorResponse, rare, overflow float64)
}

func (e VectorResponse) shifted() (v VectorResponse, rare, overflow float64) { return e, 0, 0 }

// together is the profile of rounds of vectors that differ from each other, by the same
// two routes as those of one vector: squares of shifts add, Renyi divergences add order
// by order, and so does what is charged to delta. Not ok where other mechanisms are among
// them.
func (o options) together(uses []use) (c curve, ok bool) {
	var squares, concentrated float64
	var f failing
	var vectors []use
	charge, rounds := o.Neglect*tailShare, 0.0
	for _, u := range uses {
		s, ok := u.event.(shifter)
		if !ok {
			return nil, false
		}
		v, rare, overflow := s.shifted()
		vectors = append(vectors, use{v, u.rounds})
		k, shift := float64(u.rounds), v.slope(charge)*math.Sqrt(v.squares())
		squares += k * shift * shift
		concentrated += k * v.squares() / (2 * v.deviation() * v.deviation())
		f.rare += k * rare
		f.overflow += k * overflow
		rounds += k
	}
	renyi := sync.OnceValue(func() curve { return renyiOf(vectors) })
	if math.IsInf(squares, 1) {
		f.curve = renyi()
		return f, true
	}
	gauss := withTail{normal(raised(math.Sqrt(squares))), math.Min(1, charge*rounds)}
	f.curve = &lesser{gauss: gauss, ideal: rdp.ZeroConcentrated(concentrated), renyi: renyi}
	return f, true
}

// renyiOf adds up the divergences of vectors.
func renyiOf(vectors []use) rdp.Curve {
	curves := make([]rdp.Curve, len(vectors))
	for i, u := range vectors {
		v := u.event.(VectorResponse)
		curves[i] = v.renyiCurve(float64(u.rounds) * v.squares())
	}
	return func(order float64) (sum float64) {
		for _, c := range curves {
			sum += c(order)
		}
		return sum
	}
}
