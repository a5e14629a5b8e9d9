package account

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// underGauss finds the least shift for a profile.
type underGauss struct {
	profile profile.Curve
	tail    float64
}

// knot holds a point of the profile.
type knot struct{ epsilon, h float64 }

const dominationCells = 200

func (u underGauss) shift() (float64, error) {
	last, err := u.last()
	if err != nil {
		return 0, err
	}
	if last.epsilon == 0 {
		return 0, nil
	}
	epsilons := make([]float64, dominationCells)
	for i := range epsilons {
		epsilons[i] = last.epsilon * float64(i) / dominationCells
	}
	heights, err := u.heights(epsilons)
	if err != nil {
		return 0, err
	}
	knots := make([]knot, 0, dominationCells+1)
	for i, h := range heights {
		knots = append(knots, knot{epsilons[i], h})
	}
	knots = append(knots, last)
	// A cell that the shift of the others covers needs no search. Neighbours differ little, so cells are met far
	// apart, and a handful of them are searched.
	const stride = 89 // no divisor of theirs
	least := 0.
	for i := range dominationCells {
		at := i * stride % dominationCells
		if least == 0 || !u.covers(least, knots[at], knots[at+1]) {
			least = leastOf(func(shift float64) bool { return u.covers(shift, knots[at], knots[at+1]) })
		}
	}
	return least, nil
}

// last returns a point from which on the profile is at most the tail.
func (u underGauss) last() (knot, error) {
	epsilon, err := u.profile.Epsilon(u.tail)
	for more := 1e-9; err == nil; more *= 2 { // Epsilon and Delta are inverse up to rounding
		if !(epsilon <= profile.MaxEpsilon) {
			return knot{}, errors.New("something is revealed outright more often than that")
		}
		var h []float64
		if h, err = u.heights([]float64{epsilon}); err == nil && h[0] <= u.tail {
			return knot{epsilon, h[0]}, nil
		}
		epsilon = math.Max(1e-12, epsilon*(1+more))
	}
	return knot{}, err
}

// heights returns the profile at epsilons that do not fall, rounded against us.
func (u underGauss) heights(epsilons []float64) (h []float64, err error) {
	if w, ok := u.profile.(walker); ok {
		h, err = w.Deltas(epsilons, -1)
	} else {
		h = make([]float64, len(epsilons))
		for i := 0; i < len(h) && err == nil; i++ {
			h[i], err = u.profile.Delta(epsilons[i])
		}
	}
	for i := range h {
		if math.IsNaN(h[i]) {
			return nil, fmt.Errorf("no delta at epsilon %v", epsilons[i])
		}
		h[i] *= 1 + dominationError
	}
	return h, err
}

// A walker knows its profile at many epsilons at once.
type walker interface {
	Deltas(epsilons []float64, neglect float64) ([]float64, error)
}

// beside returns what is left for the Gaussian of a hockey stick, beside the tail.
func (u underGauss) beside(h float64) float64 { return (h - u.tail) / (1 - u.tail) }

// covers reports whether the chord of a cell lies below the Gaussian of the shift.
func (u underGauss) covers(shift float64, left, right knot) bool {
	// Relative to l at the left end: l = 1 there and 1 + width at the right one.
	width := math.Expm1(right.epsilon - left.epsilon)
	a, b := u.beside(left.h), u.beside(right.h)
	fall := (a - b) / width * math.Exp(-left.epsilon) // of the chord, in l itself
	e := right.epsilon
	if fall > 0 { // the slope of K is that of the chord
		e = math.Max(left.epsilon, math.Min(right.epsilon, -shift*(prob.NormalQuantile(math.Min(1, fall))+shift/2)))
	}
	chord := a - (a-b)*math.Expm1(e-left.epsilon)/width
	return profile.Normal(shift).Hockey(e)*(1-dominationError) >= chord
}

// leastOf returns the least shift, from above, that is enough, where every larger one is
// too; infinite where none that is counted with is.
func leastOf(enough func(shift float64) bool) float64 {
	const low, high = 1e-12, 1e3
	if enough(low) {
		return low
	}
	if !enough(high) {
		return math.Inf(1)
	}
	a, b := math.Log(low), math.Log(high)
	for b-a > 1e-10 {
		if middle := a + (b-a)/2; enough(math.Exp(middle)) {
			b = middle
		} else {
			a = middle
		}
	}
	return math.Exp(b)
}
