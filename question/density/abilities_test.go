package density

import (
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/plan"
)

// abilities are the optional ones of a bitsum, which are found by assertion.
var abilities = []struct {
	name string
	has  func(m summer) bool
}{
	{"varying", is[varying]}, {"flipping", is[flipping]}, {"published", is[published]}, {"computed", is[computed]},
	{"thinnable", is[thinnable]}, {"divisible", is[divisible]},
}

func is[A any](m summer) bool { _, ok := m.(A); return ok }

// mustHave says which abilities each bitsum has. A bitsum without varying promises that its messages
// never outgrow their envelopes, and one with flipping that a device hides its bits by itself.
var mustHave = map[string]string{
	"rr":      "flipping published divisible",
	"3nb":     "varying published computed divisible",
	"pure":    "varying published divisible",
	"poisson": "varying divisible",
	"nb":      "varying thinnable divisible",
}

func abilitiesOf(m summer) string {
	var names []string
	for _, a := range abilities {
		if a.has(m) {
			names = append(names, a.name)
		}
	}
	return strings.Join(names, " ")
}

func TestBitsumsHaveTheirAbilities(t *testing.T) {
	for _, name := range plan.Bitsums {
		m, err := summerOf(plan.Bitsum{Name: name}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := abilitiesOf(m); got != mustHave[name] {
			t.Errorf("%s has %q, and must have %q", name, got, mustHave[name])
		}
		// What plan knows of a bitsum by its name is what this package knows by its abilities.
		if b := (plan.Bitsum{Name: name}); Flips(b) && b.Divided() {
			t.Errorf("%s: a share of noise hides nobody by itself", name)
		}
	}
	if len(mustHave) != len(plan.Bitsums) || slices.Contains(plan.Bitsums, "") {
		t.Errorf("%d bitsums, and %d are listed", len(plan.Bitsums), len(mustHave))
	}
	if _, err := summerOf(plan.Bitsum{Name: "another"}, 1); err == nil || Flips(plan.Bitsum{Name: "another"}) {
		t.Error("a bitsum that nobody knows has abilities")
	}
}

// changed flips bits, and returns an infinity of another type: nobody may take it for one that hides
// a device's bits.
type changed struct{ flips }

func (changed) LocalEpsilon() float32 { return 0 }

func TestABitsumOfAnotherSignatureIsRefused(t *testing.T) {
	if got := abilitiesOf(changed{}); got != "published divisible" {
		t.Errorf("a bitsum without one of its abilities has %q", got)
	}
}

// Each bitsum has numbers in a plan, of which it is known what they may be: without, a plan would say
// nothing of its noise.
func TestBitsumsHaveNumbers(t *testing.T) {
	for _, name := range plan.Bitsums {
		n := 0
		for _, f := range bitsumFields {
			if f.bitsum == name {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s has no row in bitsumFields", name)
		}
	}
}
