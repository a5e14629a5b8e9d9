package kmeans

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// The rule takes more clusters where more is said, never fewer than it may, and at those that it
// takes a typical cell stands out.
func TestClustersForSymbols(t *testing.T) {
	before := 0
	for _, e := range []float64{0.5, 1, 2, 4, 8} {
		j := ForSymbols(13_500, 10, e)
		if j < before || j < fewestSymbols || j > mostSymbols {
			t.Errorf("%d clusters at epsilon %v, after %d", j, e, before)
		}
		if j > fewestSymbols {
			m := randomize.SubsetSelection{K: 10 * j, W: randomize.SubsetSize(10*j, e), Epsilon: e}
			if noise := math.Sqrt(m.Variance(0, 13_500)); 13_500/float64(j) < clearSymbol*noise {
				t.Errorf("at epsilon %v a typical cell of %d clusters is %v errors", e, j, 13_500/float64(j)/noise)
			}
		}
		before = j
	}
}
