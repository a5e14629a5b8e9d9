package account

import (
	"reflect"

	"github.com/confetti-dp/confetti/internal/account/recent"
)

// Epsilon returns the smallest epsilon that is proved at delta. What was asked lately is remembered: a plan's design, its
// words, its pages and whoever verifies its release ask for the same.
func (o Options) Epsilon(e Event, delta float64) (Guarantee, error) {
	key := identity(e)
	if !plain(reflect.ValueOf(key)) {
		return o.epsilon(e, delta)
	}
	found := recentGuarantees.Find(wanted{key, delta, o}, func() (a answer) {
		a.g, a.err = o.epsilon(e, delta)
		return a
	})
	return found.g, found.err
}

// wanted names all that a guarantee depends on.
type wanted struct {
	event any
	delta float64
	o     Options
}

// answer keeps a guarantee, or the error in its place.
type answer struct {
	g   Guarantee
	err error
}

var recentGuarantees recent.Results[wanted, answer]

// linked joins an event with the rest of its composition.
type linked struct{ first, rest any }

// identity returns what equal events have in common, and can be compared where their parts can: a composition's slice cannot.
func identity(e Event) any {
	switch e := e.(type) {
	case Repeat:
		return linked{identity(e.Event), e.Rounds}
	case All:
		var all any
		for _, x := range e.Events {
			all = linked{identity(x), all}
		}
		return linked{len(e.Events), all}
	}
	return e
}

// plain reports whether a value has numbers and words alone, so that equal ones stay equal. A pointer's target may change
// after it was asked for.
func plain(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return plain(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !plain(v.Field(i)) {
				return false
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return true
}
