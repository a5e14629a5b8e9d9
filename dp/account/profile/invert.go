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
	low, high := 0.0, 1.0
	for {
		d, err := f(high)
		if err != nil {
			return 0, err
		}
		if d <= delta {
			break
		}
		low, high = high, 2*high
		if high > MaxEpsilon {
			return math.Inf(1), nil
		}
	}
	if low == 0 {
		if d, err := f(0); err != nil || d <= delta {
			return 0, err
		}
	}
	for high-low > 1e-14*high {
		mid := low + (high-low)/2
		d, err := f(mid)
		if err != nil {
			return 0, err
		}
		if d <= delta {
			high = mid
		} else {
			low = mid
		}
		if mid == low && mid == high {
			break
		}
	}
	return high, nil
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

// Largest is the largest x of [low, high], to a millionth of it, at which an
// increasing epsilon meets the target; an error if there is none.
func Largest(low, high, target float64, epsilon func(x float64) (float64, error)) (float64, error) {
	meets := func(x float64) (bool, error) {
		e, err := epsilon(x)
		return e <= target, err
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
