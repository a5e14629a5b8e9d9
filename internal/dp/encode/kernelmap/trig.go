package kernelmap

import "math"

// sinCos returns the sine and cosine of an angle in radians, off by less than 3e-9 up to
// angles of 10^6: far below the 6e-8 of a float32, and a third of the time of
// math.Sincos. It has no branch, whose side random angles would make unforeseeable.
//
// The angle is reduced to t in [-pi/2, pi/2], a half of it without whole turns, and
// doubled again: sin 2t = 2 sin t cos t, cos 2t = 1 - 2 sin^2 t. Taylor's series for t
// is cut off where the next term is below (pi/2)^15/15! = 7e-10 for the sine and
// (pi/2)^16/16! = 7e-11 for the cosine.
func sinCos(angle float64) (sin, cos float32) {
	t := halved(angle)
	s, c := sine(t), 0.0
	u := t * t
	c = 1 + u*(-1./2+u*(1./24+u*(-1./720+u*(1./40320+u*(-1./3628800+u*(1./479001600-u/87178291200))))))
	return float32(2 * s * c), float32(1 - 2*s*s)
}

// cosine returns the second of sinCos.
func cosine(angle float64) float32 {
	s := sine(halved(angle))
	return float32(1 - 2*s*s)
}

// halved returns half of what an angle exceeds the nearest whole number of turns by. Adding
// and taking off 1.5 2^52 rounds to an integer.
func halved(angle float64) float64 {
	const round = 3 << 51
	turns := angle * (1 / (2 * math.Pi))
	whole := turns + round
	whole -= round
	return (turns - whole) * math.Pi
}

// sine returns that of t in [-pi/2, pi/2].
func sine(t float64) float64 {
	u := t * t
	return t * (1 + u*(-1./6+u*(1./120+u*(-1./5040+u*(1./362880+u*(-1./39916800+u/6227020800))))))
}
