package account

import (
	"fmt"
	"math"
)

// invert finds the least epsilon >= 0 with f(epsilon) <= delta for a decreasing
// f, to within 1e-14 relative, from above.
func invert(f func(float64) (float64, error), delta float64) (float64, error) {
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
		if high > maxEpsilon {
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
