package papers

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/esa"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

const white = 255 // the paper's pictures

// Respondents of the Horse and of the Map.
const (
	ofHorse = 1_914_589
	ofMap   = 236_559_063
)

// printedLocal returns the errors of Table III at local epsilon 2.
func printedLocal(set string) (float64, bool) {
	return esa.Printed("esa-table3", set, experiments.Histogram{Encoding: experiments.OneHot, Accounting: calibrate.Paper, LocalEpsilon: 2})
}

// atLocal picks the reports of Table III at local epsilon 2.
func atLocal(set string) func(experiments.Cell) bool {
	return func(x experiments.Cell) bool {
		h := x.Histogram
		return x.Dataset == set && h.Encoding == experiments.OneHot && h.Accounting == calibrate.Paper && h.LocalEpsilon == 2 && max(h.Fragments, h.Repeats) <= 1 && h.Epsilon == 0
	}
}

// factors returns the printed errors of the Horse beside ours that are taken to white: measured, and computed for a picture of
// which a fifth is bright and the noise that the paper prints.
func factors(c Cells) release.Table {
	t := release.Table{
		Title:   "The Horse: printed errors and those of estimates that are taken to white",
		Columns: columns("reports", "local epsilon, or a curator's sigma", "printed", "ours, measured", "printed / measured", "computed, a fifth bright", "printed / computed"),
		Note:    "The root of three quarters is 0.866.",
	}
	picture := esa.Sketch(0.2)
	add := func(what, of string, printed, measured, computed float64) {
		ours, ratio := none, none
		if measured > 0 {
			ours, ratio = number(measured), fmt.Sprintf("%.3f", printed/measured)
		}
		t.Rows = append(t.Rows, row(what, of, fmt.Sprintf("%.2f", printed), ours, ratio, number(computed), fmt.Sprintf("%.3f", printed/computed)))
	}
	budgets, sigmas := []float64{0.05, 0.25, 0.5, 0.75, 1}, []float64{80.42, 16.18, 8.15, 5.47, 4.14}
	locals := []float64{2.94, 5.96, 7.28, 8.03, 8.55}
	for i, e := range budgets {
		printed, _ := esa.Printed("esa-table4", "horse-like", experiments.Histogram{Encoding: experiments.Central, Accounting: calibrate.Exact, Epsilon: e})
		add("a curator", fmt.Sprint(sigmas[i]), printed, 0, picture.Clipped(sigmas[i], white))
	}
	if m, ok := c.one(atLocal("horse-like")); ok {
		printed, _ := printedLocal("horse-like")
		add("one", "2", printed, m.Result.Within, picture.Clipped(esa.OneHotNoise(ofHorse, 2), white))
	}
	for i, times := range []int{1, 2, 5} {
		for j, e := range budgets {
			h := experiments.Histogram{Encoding: experiments.OneHot, Accounting: calibrate.Paper, Epsilon: e}
			if times > 1 {
				h.Repeats = times
			}
			printed, _ := esa.Printed("esa-table6", "horse-like", h)
			measured := 0.0
			if m, ok := c.one(counted("horse-like", experiments.OneHot, calibrate.Paper, 1, times, e)); ok {
				measured = m.Result.Within
			}
			sigma := esa.OneHotNoise(ofHorse, locals[j]/float64(times)) / math.Sqrt(float64(times))
			add([]string{"one", "two", "five"}[i], fmt.Sprint(locals[j]), printed, measured, picture.Clipped(sigma, white))
		}
	}
	return t
}

// floors returns the printed errors of the Map beside those of a picture with as many respondents and more of them in few cells,
// where estimates are taken to 255 and counts go up to 637.
func floors(c Cells) release.Table {
	const shape = 0.65
	lights := esa.Lights(shape)
	t := release.Table{
		Title:   "The Map: printed errors and those of estimates that are taken to 255, where counts go up to 637",
		Columns: columns("reports", "local epsilon", "printed", "computed", "printed / computed", "ours, measured, taken to 637"),
		Note:    fmt.Sprintf("Computed for counts by Weibull's law of shape %g, the one number that was chosen: it has %.0f as the error that no noise explains.", shape, lights.Floor(white)),
	}
	add := func(what string, printed float64, m experiments.Measured, sigma float64) {
		computed := lights.Clipped(sigma, white)
		t.Rows = append(t.Rows, row(what, localOf(m.Result.EpsilonLocal), fmt.Sprintf("%.1f", printed), fmt.Sprintf("%.1f", computed), fmt.Sprintf("%.3f", printed/computed), number(m.Result.Within)))
	}
	if m, ok := c.one(atLocal("map-like")); ok {
		printed, _ := printedLocal("map-like")
		add(inFragments(1), printed, m, esa.OneHotNoise(ofMap, 2))
	}
	for _, fragments := range []int{1, 4} {
		for _, e := range []float64{0.05, 0.25, 0.5, 0.75, 1} {
			h := experiments.Histogram{Encoding: experiments.OneHot, Accounting: calibrate.Paper, Epsilon: e}
			if fragments > 1 {
				h.Fragments = fragments
			}
			printed, _ := esa.Printed("esa-table8", "map-like", h)
			if m, ok := c.one(counted("map-like", experiments.OneHot, calibrate.Paper, fragments, 1, e)); ok && m.Result.EpsilonLocal != nil {
				sigma := esa.OneHotNoise(ofMap, *m.Result.EpsilonLocal)
				if fragments > 1 {
					sigma *= math.Sqrt2 // fragments add as much as their backstop, at these epsilons
				}
				add(inFragments(fragments), printed, m, sigma)
			}
		}
	}
	return t
}

// sketches are errors of sketches beside what collisions alone come to.
func sketches(c Cells) release.Table {
	t := release.Table{
		Title:   "Sketches with the flips of central epsilon 1: printed errors, ours, and what colliding alone comes to",
		Columns: columns("population", "respondents of the largest value", "collisions, computed", "measured", "printed"),
		Note:    "The flips' noise comes to it, and estimates are taken to zero, which takes some of both away.",
	}
	for _, p := range []struct{ set, words string }{{"heavy-hitters", "heavy hitters, and a power law that begins anew"}, {"heavy-hitters-behind", "heavy hitters, and a power law that goes on behind them"}, {"child-like", "Child"}, {"horse-like", "Horse"}} {
		m, ok := c.one(counted(p.set, experiments.CountMean, calibrate.Paper, 1, 1, 1))
		if !ok {
			continue
		}
		of, err := esa.Population(p.set, m.Cell.Seed, nil)
		if err != nil {
			return t
		}
		most := 0
		for _, f := range of.Holders {
			most = max(most, f)
		}
		t.Rows = append(t.Rows, row(p.words, count(most), number(esa.Collisions(of.Holders)), erring(m, ok), printedError("esa-table3", m, ok)))
	}
	return t
}
