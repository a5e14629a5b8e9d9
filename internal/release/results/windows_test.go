package results_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/simulate/course"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

const windowedRounds = 8

// windowed simulates eight rounds, of which some tell nothing, and returns how many distinct people the devices said in
// each window.
func windowed(t *testing.T, withheld []int, seed uint64) (course.Outcome, func(first, last int) float64) {
	t.Helper()
	var all []course.Happened
	came := make([][]int, 600)
	for person := range came {
		for n := 1 + person%5; n <= windowedRounds; n += 2 + person%3 {
			all = append(all, course.Happened{Person: fmt.Sprint(person), Round: n})
			came[person] = append(came[person], n)
		}
	}
	out, err := course.Study{Plan: example.Windowed(t, windowedRounds, windowedRounds, plan.NoiseAggregators), People: 1000, Withheld: withheld, Seed: seed}.Run(all, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return out, func(first, last int) (n float64) {
		for _, rounds := range came {
			for _, r := range rounds {
				if first <= r && r <= last {
					n++
					break
				}
			}
		}
		return n
	}
}

// A release of a study of windows has a picture of all, whose page lists the last rounds of each first one, and a line of
// gaps.
func TestWindowsAreShown(t *testing.T) {
	out, _ := windowed(t, []int{3}, 1)
	r := out.Release
	g := courseFigure(t, r, "windows").Grid
	if g.Columns != windowedRounds || g.Rows() != windowedRounds || g.Within[1] != 0 || g.Within[g.Columns] == 0 {
		t.Errorf("%+v", g)
	}
	if s := courseFigure(t, r, "gaps").Series[0]; len(s.X) != windowedRounds-1 || s.Title == "" {
		t.Errorf("%+v", s)
	}
	var b bytes.Buffer
	if err := page.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `<details name="windows">`); n != windowedRounds || !strings.Contains(b.String(), `<ol start="5"><li>`) || strings.Contains(b.String(), "<script") {
		t.Errorf("the page lists windows of %d first rounds", n)
	}
	if text := r.Sections[0].Text; !strings.Contains(text, "Intervals of all 36 windows hold at once") || !strings.Contains(text, "Round 3 told nothing") {
		t.Error(text)
	}
	if m := r.Headline[len(r.Headline)-1]; m.Name != "window_error" || m.Value != out.Stated || m.Note == "" {
		t.Errorf("%+v, stated %v", m, out.Stated)
	}
	if !strings.Contains(r.Answer, "different people so far") || !strings.Contains(r.Answer, "for all windows at once") {
		t.Error(r.Answer)
	}
}

// Intervals of windows hold the true number of distinct people for all windows at once as often as is said. The twin, whose
// intervals hold one by one, is caught.
func TestIntervalsOfWindowsHoldAtOnce(t *testing.T) {
	const runs = 60
	failed, alone := 0, 0
	for seed := range uint64(runs) {
		out, truth := windowed(t, nil, seed)
		g := courseFigure(t, out.Release, "windows").Grid
		missed, narrow := false, false
		for first := 1; first <= windowedRounds; first++ {
			for last := first; last <= windowedRounds; last++ {
				at := (last-1)*windowedRounds + first - 1
				off, within := g.Values[at]-truth(first, last), g.Within[at]
				missed = missed || off > within || off < -within
				narrow = narrow || off > within*1.96/3.19 || off < -within*1.96/3.19 // of 95 % by itself in the place of .14 %
			}
		}
		if missed {
			failed++
		}
		if narrow {
			alone++
		}
	}
	t.Logf("%d of %d failed; by themselves %d would", failed, runs, alone)
	stattest.AtMost(t, .05, runs, failed)
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, .05, runs, alone) })
}
