package histogram

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/plan"
)

// counted is the exact law of the count of one cell that so many of n devices hold.
func (t *bits) counted(holders, n int) []float64 {
	of := func(sent float64) []float64 {
		law := []float64{1}
		for range t.tau() {
			law = added(law, []float64{1 - sent, sent})
		}
		return law
	}
	kept, lost := of(t.mechanism.Fragment.Keep), of(t.mechanism.Fragment.Flip)
	all := []float64{1}
	for i := range n {
		one, p := make([]float64, len(kept)), t.mechanism.Backstop.Flip
		if i < holders {
			p = t.mechanism.Backstop.Keep
		}
		for j := range one {
			one[j] = p*kept[j] + (1-p)*lost[j]
		}
		all = added(all, one)
	}
	return all
}

func added(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		if p < 1e-30 {
			continue
		}
		for j, q := range b {
			sum[i+j] += p * q
		}
	}
	return sum
}

// Of 300 cells counted over report fragments the interval of each holds with all but a
// 300th of 5 %, whatever the number of its holders, by the exact law of its count. By the
// normal law, the twin, that of a cell that nobody holds misses three times as often.
func TestIntervalsOverFragmentsHoldFarOut(t *testing.T) {
	const n, cells = 200, 300
	ask := plan.Histogram{Randomizer: plan.Randomizer{Name: "one-hot", Fragments: 4, Keep: 0.97, Flip: 0.03, BackstopKeep: 0.9925, BackstopFlip: 0.0075}}
	a, err := newAttribute(plan.Attribute{Name: "id", Kind: "categories", Size: cells})
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBits(ask, a, account.Removal, 1)
	if err != nil {
		t.Fatal(err)
	}
	alpha := 0.05 / cells
	law, ends := b.perDevice(1), b.errors(nil, n, 1).ends
	missed := func(holders int, interval func(count int) [2]float64) (p float64) {
		for count, q := range b.counted(holders, n) {
			if e := interval(count); q > 0 && (e[0] > float64(holders) || e[1] < float64(holders)) {
				p += q
			}
		}
		return p
	}
	bounded := map[int][2]float64{}
	for count := range n*b.tau() + 1 {
		bounded[count] = ends(law.estimate(float64(count), n).Mean, alpha)
	}
	normal := func(count int) [2]float64 {
		low, high := law.estimate(float64(count), n).Interval(1 - alpha)
		return [2]float64{math.Max(0, low), math.Max(0, high)}
	}
	for _, holders := range []int{0, 1, 2, 5, 20, 100, 180, 198, 199, 200} {
		if p := missed(holders, func(count int) [2]float64 { return bounded[count] }); p > alpha {
			t.Errorf("%d holders: missed with probability %v of %v", holders, p, alpha)
		}
	}
	if p := missed(0, normal); p < 3*alpha {
		t.Errorf("the normal law misses with probability %v of %v: the test has no power", p, alpha)
	}
	// What that costs: the intervals of frequent cells are a fifth wider at most.
	middle := law.estimate(float64(b.tau())*n/2, n)
	e := ends(middle.Mean, alpha)
	if wide := 2 * estimate.Quantile(1-alpha) * middle.StdErr; e[1]-e[0] > 1.25*wide || e[1]-e[0] < wide {
		t.Errorf("an interval of width %v, by the normal law %v", e[1]-e[0], wide)
	}
}
