package amplify

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// stickOf returns the hockey stick of the law of a report, number by number and class by class, from the law of the
// same moved: of two numbers, the first of them moved by the first shift and the second by the second.
func stickOf(e GaussianReport, first, second int, epsilon float64) (most float64) {
	reach := int(10*e.Sigma) + max(first, second)
	law, total := make([]float64, 2*reach+1), 0.0
	for i := range law {
		x := float64(i-reach) / e.Sigma
		law[i] = math.Exp(-x * x / 2)
		total += law[i]
	}
	at := func(k int) float64 {
		if k < -reach || k > reach {
			return 0
		}
		return law[k+reach] / total
	}
	keep, lie := 1.0, 1.0
	losses := []float64{0}
	if e.Classes > 0 {
		lie = 1 / (math.Exp(e.ClassEpsilon) + float64(e.Classes) - 1)
		keep = math.Exp(e.ClassEpsilon) * lie
		losses = []float64{e.ClassEpsilon, -e.ClassEpsilon, 0}
	}
	for class, loss := range losses {
		p, times := keep, 1.0
		if class > 0 {
			p = lie
		}
		if class == 2 {
			times = float64(e.Classes - 2)
		}
		sum := 0.0
		for i := -reach; i <= reach; i++ {
			for j := -reach; j <= reach; j++ {
				if second == 0 && j > -reach { // the second number is the same in both worlds
					break
				}
				here, there := at(i), at(i-first)
				if second != 0 {
					here, there = here*at(j), there*at(j-second)
				}
				sum += math.Max(0, here-math.Exp(epsilon-loss)*there)
			}
		}
		most += times * p * sum
	}
	return most
}

// What is promised of a report covers its law, which is summed term by term, and by no more than the grid costs. A report
// whose class has a larger epsilon than is said, one that moves further, and one with less noise are not covered.
func TestGaussianReportCoversItsLaw(t *testing.T) {
	for _, e := range []GaussianReport{
		{Sigma: 64, Apart: 40, Numbers: 2}, {Sigma: 64, Apart: 100, Numbers: 2, Classes: 2, ClassEpsilon: 0.7}, {Sigma: 64, Apart: 100, Numbers: 2, Classes: 10, ClassEpsilon: 2},
	} {
		caught := 0
		for _, epsilon := range []float64{0, 0.3, 1, 2, 3.5} {
			g, err := account.Delta(e, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			along := stickOf(e, e.Apart, 0, epsilon)
			across := stickOf(e, e.Apart*3/5, e.Apart*4/5, epsilon)
			if g.Delta < max(along, across)*(1-1e-9) || g.Delta > along*1.03+1e-14 {
				t.Errorf("%+v, epsilon %v: promised %v, true %v along an axis and %v across", e, epsilon, g.Delta, along, across)
			}
			for _, twin := range []GaussianReport{{e.Sigma * 0.9, e.Apart, 2, e.Classes, e.ClassEpsilon}, {e.Sigma, e.Apart * 11 / 10, 2, e.Classes, e.ClassEpsilon}, {e.Sigma, e.Apart, 2, e.Classes, e.ClassEpsilon * 1.2}} {
				if broken := stickOf(twin, twin.Apart, 0, epsilon); broken > g.Delta {
					caught++
				}
			}
		}
		if caught < 6 {
			t.Errorf("%+v: broken twins are caught %d times", e, caught)
		}
	}
}

// The profile of both is below the sum of what each costs, two rounds by losses are above one, and calibration leaves
// nothing: less noise breaks the promise.
func TestGaussianReportCalibrated(t *testing.T) {
	const epsilon, delta = 3, 1e-6
	for _, e := range []GaussianReport{{Apart: 8192, Numbers: 8}, {Apart: 8192, Numbers: 8, Classes: 10, ClassEpsilon: 1}} {
		got, err := CalibrateGaussianReport(e, epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		g, err := account.Epsilon(got, delta)
		if err != nil || g.Epsilon > epsilon || g.Epsilon < epsilon*(1-1e-5) {
			t.Errorf("%+v keeps %v: %v", got, g.Epsilon, err)
		}
		less := got
		less.Sigma *= 0.999
		if g, err = account.Epsilon(less, delta); err != nil || g.Epsilon <= epsilon {
			t.Errorf("with less noise it keeps %v: %v", g.Epsilon, err)
		}
		alone := got
		alone.Classes, alone.ClassEpsilon = 0, 0
		if g, err = account.Epsilon(alone, delta); err != nil || g.Epsilon+e.ClassEpsilon < epsilon*(1-1e-5) {
			t.Errorf("its parts cost %v and %v, less than both: %v", g.Epsilon, e.ClassEpsilon, err)
		}
		twice, err := account.Epsilon(account.Repeat{Event: got, Rounds: 2}, delta)
		if err != nil || twice.Epsilon <= epsilon || twice.Epsilon >= 2*epsilon {
			t.Errorf("two rounds keep %v: %v", twice.Epsilon, err)
		}
		d, err := account.Dominate(account.Repeat{Event: got, Rounds: 2}, 1e-9)
		if err != nil || !(d.Shift > 0 && d.Shift < 10) {
			t.Errorf("domination %+v: %v", d, err)
		}
	}
	for name, bad := range map[string]GaussianReport{
		"no noise": {Apart: 8, Numbers: 1}, "no numbers": {Sigma: 100, Apart: 8}, "one class": {Sigma: 100, Apart: 8, Numbers: 1, Classes: 1, ClassEpsilon: 1},
		"an epsilon of no class": {Sigma: 100, Apart: 8, Numbers: 1, ClassEpsilon: 1},
	} {
		if _, err := account.Epsilon(bad, 1e-6); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
