package results

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// What a release shows of a study that asks for windows: beside its rounds the distinct people of any rounds that follow
// each other, and after how many rounds people came back.

// windows returns what any window errs by at most, the grid of all and the line of gaps. Intervals of windows have the level
// given.
func windows(w *histogram.Windows, joint float64) (release.Metric, []release.Figure) {
	g := release.Grid{Columns: w.Last, Left: 0.5, Right: float64(w.Last) + 0.5, Bottom: 0.5, Top: float64(w.Last) + 0.5}
	g.Values, g.Within = make([]float64, w.Last*w.Last), make([]float64, w.Last*w.Last)
	worst := 0.0
	for first := 1; first <= w.Last; first++ {
		for i, v := range w.From(first) {
			at := (first+i-1)*w.Last + first - 1
			low, high := v.Interval(joint)
			g.Values[at], g.Within[at] = tenths(v.Mean, math.Round), max(tenths((high-low)/2, math.Ceil), 0.1)
			worst = max(worst, v.StdErr)
		}
	}
	figures := []release.Figure{{Name: "windows", Grid: &g}}
	if back := w.Gaps(); len(back) > 0 {
		figures = append(figures, release.Figure{Name: "gaps", Series: []release.Series{gaps(back, estimate.Joint(level, w.Of*w.Of))}})
	}
	return release.Metric{Name: "window_error", Value: worst}, figures
}

func tenths(x float64, to func(float64) float64) float64 { return to(10*x) / 10 }

// gaps returns the line of how often somebody came back after so many rounds.
func gaps(all []estimate.Value, level float64) (s release.Series) {
	for i, v := range all {
		low, high := ends(v, level)
		s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, v.Mean)
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	return s
}

func (w histogramWords) windowsPhrase(m release.Metric) (phrase, bool) {
	name := thing(w.asked(place{}))
	if m.Name != "window_error" && m.Key != name {
		return phrase{}, false
	}
	switch m.Name {
	case "people_so_far":
		return phrase{title: fmt.Sprintf("Different people who said “%s” so far", name), unit: release.Count, note: "in the rounds that told something"}, true
	case "people_in_round":
		return phrase{title: fmt.Sprintf("People who said “%s” in this round", name), unit: release.Count}, true
	case "window_error":
		return phrase{title: "What the number of any window errs by at most", note: "standard deviation of the noise, which is proved: rounds that follow each other, whichever, so far"}, true
	}
	return phrase{}, false
}

// windows returns the words of the rounds and windows so far.
func (w histogramWords) windows(s release.Section, of plan.Correlated, missing string) said {
	name, sure := thing(w.asked(place{})), numerals.Percent(level)
	keys := among([]string{name})
	beyond := ""
	if of.Events < of.Rounds {
		beyond = fmt.Sprintf(" Who did more in all counts for too little after %s, and never for too much.", numerals.Count(of.Events, "event", "events"))
	}
	return said{
		title: w.title(place{}) + ", in any rounds",
		text: fmt.Sprintf("A window is rounds that follow each other, from any first to any last one. Who was there in several of its rounds counts once in it. All windows together cost what one answer is charged, and each person counts for at most %s.%s Intervals of all %d windows hold at once, in this release and in every other of the study, with probability %s.%s",
			numerals.Count(of.Events, "event", "events"), beyond, of.Rounds*(of.Rounds+1)/2, sure, missing),
		tables: map[string]sheetWords{"rounds": {
			title: "The newest rounds of “%s”", of: keys,
			columns: []column{
				{title: "round", unit: release.Count}, {title: "people in this round", unit: release.Count, empty: "no row"}, {title: sure + ", all at once", unit: release.Count, empty: "–"},
				{title: "different people so far", unit: release.Count, empty: "–"}, {title: sure + ", all at once", unit: release.Count, empty: "–"},
				{title: "truth, this round", unit: release.Count, known: true}, {title: "truth, so far", unit: release.Count, known: true},
			},
		}, "missed": missedWords()},
		figures: map[string]figureWords{
			"so-far": {kind: release.Lines, title: "Different people so far", x: "round", y: "people", keys: keys,
				alt: fmt.Sprintf("Distinct people from the first round to each, with a band that holds all windows at once with probability %s.", sure)},
			"in-round": {kind: release.Lines, title: "People in each round", x: "round", y: "people", keys: keys,
				alt: fmt.Sprintf("People of each round, with a band that holds all windows at once with probability %s.", sure)},
			"windows": {kind: release.Heat, title: "Different people of any window: choose its first round below", x: "first round", y: "last round",
				alt: fmt.Sprintf("Distinct people from each first round to each last one; below, each with a range that holds all windows at once with probability %s.", sure)},
			"gaps": {kind: release.Lines, title: "How often people came back, by the rounds between", x: "rounds after the last time", y: "times", series: []string{name},
				alt: fmt.Sprintf("How often somebody who said “%s” had said it exactly so many rounds before, with a band that holds all gaps of all rounds at once with probability %s.", name, sure)},
		},
	}
}
