// Package power says of an experiment how many people it takes, and fills in what follows from what is known beforehand.
// Used by internal/cli/flags, internal/studio and internal/release/results, and by no device.
package power

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
)

// Aim is the lift that an experiment is to see, as a part of the mean, and how often it is to see it.
type Aim struct{ Lift, Power float64 }

// Check says what is wrong with it.
func (a Aim) Check() error {
	if !(a.Lift > 0 && a.Lift <= 10) || !(a.Power >= 0.5 && a.Power < 1) {
		return fmt.Errorf("a lift of %v with power %v: give a lift from above 0 to 10 (2%% or 0.02), and a power from 0.5 to below 1", a.Lift, a.Power)
	}
	return nil
}

// crowd holds how many people an experiment takes, in all its looks together.
type crowd struct {
	People   int
	Plain    int     // without privacy, by the metric alone
	Adjusted int     // without privacy, by what was known before too
	Noise    float64 // share of the interval's width that the noise causes
}

// mostPeople bounds what is looked for.
const mostPeople = 1 << 31

// needed returns the fewest people of whom a lift in the metric is seen as often as is aimed for. noise is the deviation of each
// number of the sums of so many, in one look.
func needed(e plan.Experiment, metric int, s Shape, a Aim, noise func(people int) float64) (crowd, error) {
	var c crowd
	z, m := lift.Line(e), e.Metrics[metric]
	z += prob.NormalQuantile(a.Power)
	small := smallestShare(e)
	each := 1/lift.ShareOf(e, 0) + 1/small
	effect := a.Lift * s.Mean
	without := func(variance float64) int {
		return int(math.Min(mostPeople, math.Ceil(z*z*each*variance/(effect*effect))))
	}
	c.Plain, c.Adjusted = without(s.Whole), without(s.Best)
	effect *= 1 - s.Lost
	width := m.High - m.Low
	var drawn, noised float64
	enough := func(n int) bool {
		people, look := float64(n), max(1, n/e.Looks)
		sigma := noise(look)
		drawn = s.Variance * each / people
		noised = float64(e.Looks) * sigma * sigma * width * width * ((1-s.Unit)*(1-s.Unit) + s.Unit*s.Unit) * (1/(lift.ShareOf(e, 0)*lift.ShareOf(e, 0)) + 1/(small*small)) / (people * people)
		return z*z*(drawn+noised) <= effect*effect
	}
	high := 1024
	for ; high < mostPeople && !enough(high); high *= 2 {
	}
	if high >= mostPeople {
		return c, fmt.Errorf("experiment: a lift of %.3g %% is not seen among %d people: ask for a larger one, or for a larger epsilon", 100*a.Lift, mostPeople)
	}
	low := high / 2
	for high-low > 1 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	enough(high)
	c.People, c.Noise = high, 1-math.Sqrt(drawn/(drawn+noised))
	return c, nil
}

// smallestShare returns that of an arm that is compared with the first.
func smallestShare(e plan.Experiment) float64 {
	small := 1.0
	for arm := range e.Arms[1:] {
		small = math.Min(small, lift.ShareOf(e, arm+1))
	}
	return small
}
