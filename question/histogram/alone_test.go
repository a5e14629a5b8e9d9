package histogram

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// By the law of each respondent's one symbol, everybody asked or only some: what two counts have in common is what alone says, and a
// sum of all cells of whom everybody is asked has no error at all. Errors taken for independent give it one.
func TestWhatCountsOfOneSymbolHaveInCommon(t *testing.T) {
	const k, keep = 5, 0.4
	flip := (1 - keep) / (k - 1)
	held := []int{30, 0, 50, 7, 13}
	n := 100
	for _, share := range []float64{1, 0.25} {
		together := alone(n, keep, flip, share)
		// An estimate is the sum over respondents of (symbol is the cell's, less flip), of those asked, over share (keep - flip).
		common := func(a, b int) (c float64) {
			scale := share * (keep - flip)
			for h, people := range held {
				ea, eb, both := 0.0, 0.0, 0.0
				for said := range k {
					p := flip
					if said == h {
						p = keep
					}
					value := func(cell int) float64 {
						if said == cell {
							return 1 - flip
						}
						return -flip
					}
					ea, eb, both = ea+share*p*value(a), eb+share*p*value(b), both+share*p*value(a)*value(b)
				}
				c += float64(people) * (both - ea*eb) / (scale * scale)
			}
			return c
		}
		var blocks []estimate.Block
		for a := range k {
			blocks = append(blocks, estimate.Block{Cells: 1, Mean: float64(held[a]), Variance: common(a, a)})
			for b := range a {
				said := together.Fixed + together.Each*float64(held[a]+held[b])
				if want := common(a, b); math.Abs(said-want) > 1e-9*math.Abs(want) {
					t.Errorf("share %g: cells %d and %d have %g in common, and %g is said", share, a, b, want, said)
				}
			}
		}
		ones := []float64{1, 1, 1, 1, 1}
		whole, twin := together.Sum(ones, blocks), estimate.Together{}.Sum(ones, blocks)
		if want := float64(n) * (1 - share) / share; math.Abs(whole.StdErr*whole.StdErr-want) > 1e-6 || twin.StdErr*twin.StdErr < want+10 {
			t.Errorf("share %g: all together err by %g, want %g; taken for independent %g", share, whole.StdErr, math.Sqrt(want), twin.StdErr)
		}
	}
}
