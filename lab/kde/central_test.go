package kde

import (
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// The law of the central baselines is noise's; here that they add it to the ones
// and state its deviation. 20,000 draws catch a mean off by 5 % of that.
func TestCentralBaselines(t *testing.T) {
	r := stattest.Rand(t)
	for _, m := range []interface {
		drawEstimate(r *rand.Rand, ones, n int) estimate.Value
	}{exactSum{}, gaussianSum{4}, gaussianSum{0.3}} {
		draws := make([]float64, 20_000)
		var v estimate.Value
		for i := range draws {
			v = m.drawEstimate(r, 7, 10)
			draws[i] = v.Mean
		}
		stattest.Mean(t, 7, v.StdErr*v.StdErr, draws)
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 7+0.05*v.StdErr+0.001, v.StdErr*v.StdErr, draws) })
	}
}
