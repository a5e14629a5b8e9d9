package account

import "math"

// A shifter is dominated by a vector's Gaussian, but for the chances of failing that
// failing describes.
type shifter interface {
	shifted() (v VectorResponse, rare, overflow float64)
}

func (e VectorResponse) shifted() (v VectorResponse, rare, overflow float64) { return e, 0, 0 }

// together is the profile of rounds of vectors that differ from each other: squares of
// shifts add, and so does what is charged to delta. Not ok where other mechanisms are
// among them or nothing is proved.
func (o options) together(uses []use) (c curve, ok bool) {
	var squares float64
	var f failing
	charge, rounds := o.Neglect*tailShare, 0.0
	for _, u := range uses {
		s, ok := u.event.(shifter)
		if !ok {
			return nil, false
		}
		v, rare, overflow := s.shifted()
		k, shift := float64(u.rounds), v.slope(charge)*math.Sqrt(v.squares())
		squares += k * shift * shift
		f.rare += k * rare
		f.overflow += k * overflow
		rounds += k
	}
	f.curve = withTail{normal(raised(math.Sqrt(squares))), math.Min(1, charge*rounds)}
	return f, !math.IsInf(squares, 1)
}
