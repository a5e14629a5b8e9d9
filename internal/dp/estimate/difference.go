package estimate

import "math"

// Minus returns a - b of two independent estimates with its interval, from theirs (the method
// of variance estimates recovery, Zou and Donner 2008): it is as lopsided as they are. Of
// Wilson's intervals it is Newcombe's tenth method (1998). It holds about as often as both do.
func Minus(a, aLow, aHigh, b, bLow, bHigh float64) (d, low, high float64) {
	return MinusTied(a, aLow, aHigh, b, bLow, bHigh, 0)
}

// MinusTied does what Minus does, for two estimates whose errors are correlated.
func MinusTied(a, aLow, aHigh, b, bLow, bHigh, correlation float64) (d, low, high float64) {
	apart := func(x, y float64) float64 {
		x, y = max(0, x), max(0, y)
		return math.Sqrt(max(0, x*x+y*y-2*correlation*x*y))
	}
	d = a - b
	return d, d - apart(a-aLow, bHigh-b), d + apart(aHigh-a, b-bLow)
}
