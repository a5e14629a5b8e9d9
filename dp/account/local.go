package account

import (
	"fmt"
	"math"
)

// LocalEpsilon is the epsilon, with delta 0, of all that one respondent sends to an event or to
// its repetition: what everyone together learns. It is an error where only the messages of
// others hide what a device says.
func LocalEpsilon(e Event) (float64, error) {
	if _, err := statement(e); err != nil {
		return 0, err
	}
	sent, local := unshuffled(e, Replacement)
	if sent.Reason != "" {
		return 0, fmt.Errorf("account: no local epsilon: %s", sent.Reason)
	}
	return local.Epsilon, nil
}

// LocalFlip is the least flip probability, up to most, with which an event keeps a local
// epsilon. The more flips, the less it tells.
func LocalFlip(epsilon, most float64, event func(flip float64) Event) (float64, error) {
	if !(epsilon >= 1e-6 && epsilon <= 1e6) {
		return 0, fmt.Errorf("account: local epsilon %v: need 1e-6 to 1e6", epsilon)
	}
	low, high := math.Log(minFlip), math.Log(most)
	keeps := func(x float64) (bool, error) {
		local, err := LocalEpsilon(event(math.Exp(x)))
		return err == nil && local <= epsilon, err
	}
	if ok, err := keeps(high); err != nil || !ok {
		if err == nil {
			err = fmt.Errorf("account: no flip probability up to %v keeps a local epsilon of %v", most, epsilon)
		}
		return 0, err
	}
	for high-low > 1e-12 {
		middle := (low + high) / 2
		if ok, _ := keeps(middle); ok { // vectors of the least flips are refused
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp(high), nil
}
