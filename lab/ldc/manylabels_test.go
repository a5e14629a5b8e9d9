package ldc

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Clusters are named as often as is computed, where mechanisms draw all reports: 4,000 clusters catch a share that is off by
// five points, as that of an epsilon which is a third larger is.
func TestClustersAreNamedAsComputed(t *testing.T) {
	const epsilon, clusters = 0.9, 4000
	c, r := crowded{40, 50}, stattest.Rand(t)
	for name, way := range map[string]struct {
		share func(epsilon float64) float64
		draw  func(r *rand.Rand, holders []int, out []uint64)
	}{
		"response": {func(e float64) float64 { return c.reported(c.response(e)) }, randomize.KRR{K: c.labels, Epsilon: epsilon}.DrawCounts},
		"subsets":  {func(e float64) float64 { return c.reported(c.subsets(e)) }, randomize.SubsetSelection{K: c.labels, W: randomize.SubsetSize(c.labels, epsilon), Epsilon: epsilon}.DrawCounts},
		"counts": {func(e float64) float64 { return c.counted(e / 8) }, func(r *rand.Rand, holders []int, out []uint64) {
			d := noise.DiscreteLaplace{Decay: epsilon / 8 / 2}
			for y, n := range holders {
				out[y] = uint64(100_000 + n + d.Sample(r))
			}
		}},
	} {
		right := []int{0, 0}
		for range clusters {
			holders, counts := make([]int, c.labels), make([]uint64, c.labels)
			holders[0] = c.size - c.others()
			for range c.others() {
				holders[r.IntN(c.labels)]++
			}
			way.draw(r, holders, counts)
			most, ties := slices.Max(counts), 0
			for _, n := range counts {
				if n == most {
					ties++
				}
			}
			if counts[0] == most && r.IntN(ties) == 0 {
				right[0]++
			} else {
				right[1]++
			}
		}
		share := way.share(epsilon)
		t.Logf("%s: %v, computed %.4f", name, right, share)
		stattest.GTest(t, []float64{share, 1 - share}, right)
		stattest.Caught(t, func(tb testing.TB) {
			more := way.share(epsilon * 4 / 3)
			stattest.GTest(tb, []float64{more, 1 - more}, right)
		})
	}
}

// Two stages name every cluster where nearly nothing is hidden, and hardly more than chance where nearly all is.
func TestTwoStagesOfManyLabels(t *testing.T) {
	c, r := crowded{40, 50}, stattest.Rand(t)
	if all, none := c.twoStages(r, 6, 200), c.twoStages(r, 0.01, 1000); all < 0.99 || none > 0.08 || none == 0 {
		t.Errorf("named rightly: %v with an epsilon of 6, %v with 0.01, and by chance a fortieth", all, none)
	}
}
