package account

import "reflect"

// What the tests of this package see beside its exported names. They stand outside of it,
// since the events they account for do.
var (
	LeastShift  = leastShift
	GaussPower  = gaussPower
	OwnLosses   = ownLosses
	Dominations = dominations
)

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
