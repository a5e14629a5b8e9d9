package kinds

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/plan"
)

// The auditor has a law for each randomizer of one message, or none of what a device says is tested. Of
// local hashing the functions, of subsets the cells decide too: Laws has them by other ways.
func TestEveryRandomizerHasALawToTest(t *testing.T) {
	for _, name := range plan.Randomizers {
		z := plan.Randomizer{Name: name, Epsilon: 1}
		if z.OneHot() || z.Seeded() || name == "subset" {
			continue
		}
		channels, law := spoken(z, 3, 1)
		sum := 0.0
		for _, p := range law {
			sum += p
		}
		if channels < 3 || len(law) != channels || math.Abs(sum-1) > 1e-12 {
			t.Errorf("%s: %d channels, and the law %v", name, channels, law)
		}
	}
}
