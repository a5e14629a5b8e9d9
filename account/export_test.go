package account

import (
	"reflect"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// What the tests of this package see beside its exported names. They stand outside of it,
// since the events they account for do.
var (
	GaussPower   = gaussPower
	OwnLosses    = ownLosses
	DominatePure = dominatePure
	WorkOut      = workOut
	WorkEpsilon  = Options.epsilon
)

// LeastShift returns the least shift, from above, whose hockey stick at epsilon is at least delta.
func LeastShift(epsilon, delta float64) float64 {
	return leastOf(func(shift float64) bool { return profile.Normal(shift).Hockey(epsilon) >= delta })
}

// HooksOf names the hooks that an event has, as the accountant finds them.
func HooksOf(e any) (names []string) {
	all := reflect.TypeFor[Hooks]()
	for i := range all.NumField() {
		if f := all.Field(i); reflect.TypeOf(e).Implements(f.Type) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Dominations are those of plans.
func Dominations(plans []Spending) (all []Domination) {
	for _, p := range plans {
		all = append(all, p.Domination)
	}
	return all
}
