package estimate

import "math"

// Minus returns a - b of two independent estimates with its interval, from theirs (the method
// of variance estimates recovery, Zou and Donner 2008): it is as lopsided as they are. Of
// Wilson's intervals it is Newcombe's tenth method (1998). It holds about as often as both do.
func Minus(a, aLow, aHigh, b, bLow, bHigh float64) (d, low, high float64) {
	d = a - b
	low = d - math.Hypot(max(0, a-aLow), max(0, bHigh-b))
	high = d + math.Hypot(max(0, aHigh-a), max(0, b-bLow))
	return d, low, high
}
