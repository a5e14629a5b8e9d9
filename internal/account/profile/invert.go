package profile

import (
	"cmp"
	"fmt"
	"math"
)

// Invert finds the least epsilon >= 0 with f(epsilon) <= delta for a decreasing
// f, to within 1e-14 relative, from above.
func Invert(f func(float64) (float64, error), delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("account: delta %v: need 0 < delta < 1", delta)
	}
	b := bracket{high: 1}
	for {
		d, err := f(b.high)
		if err != nil {
			return 0, err
		}
		if b.below = math.Log(d / delta); d <= delta {
			break
		}
		b.low, b.above, b.high = b.high, b.below, 2*b.high
		if b.high > MaxEpsilon {
			return math.Inf(1), nil
		}
	}
	if b.low == 0 {
		d, err := f(0)
		if err != nil || d <= delta {
			return 0, err
		}
		b.above = math.Log(d / delta)
	}
	return b.close(f, delta)
}

// bracket holds an epsilon between low, where the logarithm of f over delta is above > 0,
// and high, where it is below <= 0.
type bracket struct{ low, high, above, below float64 }

// close narrows the bracket by the secant of that logarithm, which bends little. An end that
// stays is counted half the next time (the Illinois rule), so that both ends move; where two
// steps did not take three quarters off, the middle is next.
func (b bracket) close(f func(float64) (float64, error), delta float64) (float64, error) {
	for slow, side := 0, 0.; b.high-b.low > 1e-14*b.high; {
		width, least := b.high-b.low, 0.4e-14*b.high // nearer to an end there is nothing to learn
		x := b.low + width*b.above/(b.above-b.below)
		if slow == 3 || math.IsInf(b.above, 1) || math.IsInf(b.below, -1) {
			x, slow = b.low+width/2, 0
		}
		x = math.Min(math.Max(x, b.low+least), b.high-least)
		if x <= b.low || x >= b.high {
			break
		}
		d, err := f(x)
		if err != nil {
			return 0, err
		}
		y := math.Log(d / delta)
		if d <= delta {
			if b.high, b.below = x, y; side < 0 {
				b.above /= 2
			}
			side = -1
		} else {
			if b.low, b.above = x, y; side > 0 {
				b.below /= 2
			}
			side = 1
		}
		if slow++; b.high-b.low <= width/4 {
			slow = 0
		}
	}
	return b.high, nil
}

// LeastEnough bisects for the smallest x in [low, high] with enough(x), a
// monotone condition that holds at high. It ends on the side where it holds.
func LeastEnough(low, high float64, enough func(float64) bool) float64 {
	if enough(low) {
		return low
	}
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return high
		}
		if enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
}

// margin of epsilon is left by calibrations.
const margin = 1e-9

// Keeps reports whether an epsilon is at most a target's, and will be for whoever recomputes it on a
// machine that rounds otherwise, or from numbers whose last digits differ.
func Keeps(epsilon, target float64) bool { return epsilon <= target*(1-margin) }

// Largest returns the largest x of [low, high], to a millionth of it, at which an
// increasing epsilon meets the target; an error if there is none.
func Largest(low, high, target float64, epsilon func(x float64) (float64, error)) (float64, error) {
	meets := func(x float64) (bool, error) {
		e, err := epsilon(x)
		return Keeps(e, target), err
	}
	if ok, err := meets(low); err != nil || !ok {
		return 0, cmp.Or(err, fmt.Errorf("account: no noise reaches epsilon %v", target))
	}
	for high > low*(1+1e-6) {
		mid := math.Sqrt(low * high)
		ok, err := meets(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}
