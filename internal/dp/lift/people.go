package lift

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/vector"
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
	z, m := boundary(e.Looks, comparisons(e)), e.Metrics[metric]
	z += prob.NormalQuantile(a.Power)
	small := smallestShare(e)
	each := 1/shareOf(e, 0) + 1/small
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
		noised = float64(e.Looks) * sigma * sigma * width * width * ((1-s.Unit)*(1-s.Unit) + s.Unit*s.Unit) * (1/(shareOf(e, 0)*shareOf(e, 0)) + 1/(small*small)) / (people * people)
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

// Fewest is how many people a look needs for intervals that hold where tails are heavy.
const Fewest = 5000

// UsualBits are how many a device sends where nobody says how many.
const UsualBits = 1024

// excess is about what the accountant charges for bits above a Gaussian of the counts' deviation.
const excess = 1.06

// Deviation returns about what the noise in each number of the sums of so many is, before a plan of so many is designed.
func Deviation(e plan.Experiment, r plan.Route, b plan.Budget, people int) float64 {
	t := calibrate.Target{Users: 1, Rounds: 1, Epsilon: b.Epsilon, Delta: b.Delta}
	metrics, distance := float64(len(e.Metrics)), t.Distance()
	private := SquaredGap * metrics / (distance * distance)
	if s := r.Sum; s != nil {
		if s.Noise == plan.NoiseShared {
			return math.Sqrt(private)
		}
		return math.Sqrt(2 * private)
	}
	answered := UsualBits
	if e.Bits != nil {
		answered = e.Bits.Answered
	}
	n, rows, reach := float64(people), float64(vector.LeastRows(Numbers(e), answered)), Reach(e)
	honest := 1 - b.DishonestShare
	return math.Sqrt(excess*excess*private/honest + metrics*n*(reach*reach/float64(answered)-1/rows))
}
