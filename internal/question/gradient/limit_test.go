package gradient

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// The normal limit has the noise of reports that are all drawn; that of twice as many has not.
func TestTheLimitIsThatOfReports(t *testing.T) {
	const dim, n, times = 50, 100, 40
	d := directions{direction.Sign{Dim: dim, Clip: 1, Epsilon: 2}, dim, direction.SignBytes}
	r, want := stattest.Rand(t), 0.0
	squares := func(noise func(mean []float64)) (all []float64) {
		for range times {
			mean := make([]float64, dim)
			noise(mean)
			for _, x := range mean {
				all = append(all, x*x)
			}
		}
		return all
	}
	limit := func(n int) []float64 {
		return squares(func(mean []float64) { want = d.limit(r, mean, n) })
	}
	drawn := squares(func(mean []float64) {
		tally := d.tally()
		if err := d.draw(r, slices.Values(slices.Repeat([][]float64{make([]float64, dim)}, n)), tally); err != nil {
			t.Fatal(err)
		}
		m, _, err := d.mean(tally, n)
		if err != nil {
			t.Fatal(err)
		}
		copy(mean, m)
	})
	twice := limit(2 * n)
	near := limit(n)
	square := want * want
	stattest.Mean(t, square, 2*square*square, near)
	stattest.Mean(t, square, 2*square*square, drawn)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, square, 2*square*square, twice) })
}
