package results_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/simulate/course"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// coursed simulates ten rounds, of which some tell nothing.
func coursed(t *testing.T, cells int, withheld []int, seed uint64) course.Outcome {
	t.Helper()
	var all []course.Happened
	for person := range 900 {
		all = append(all, course.Happened{Person: fmt.Sprint(person), Round: 1 + person%10, Cell: person % cells})
	}
	p := example.Yearly(t, 10, 1, cells, plan.NoiseAggregators)
	out, err := course.Study{Plan: p, People: 1000, Withheld: withheld, Seed: seed}.Run(all, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func courseFigure(t *testing.T, r release.Release, name string) release.Figure {
	t.Helper()
	for _, f := range r.Figures() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no figure %s", name)
	return release.Figure{}
}

// A release of a study that counts events has the line of all rounds, marks and names those that told nothing, and tells
// of a round's own events what the running total grew by.
func TestACourseIsShown(t *testing.T) {
	out := coursed(t, 2, []int{3, 4}, 1)
	r := out.Release
	total, own := courseFigure(t, r, "so-far"), courseFigure(t, r, "in-round")
	for i, s := range total.Series {
		if len(s.X) != 8 || len(s.Gaps) != 2 || s.Gaps[0] != 3 || s.Gaps[1] != 4 || s.X[2] != 5 || s.Title == "" {
			t.Errorf("series %d: x %v, gaps %v, label %q", i, s.X, s.Gaps, s.Title)
		}
		grown := s.Y[0]
		for j := 1; j < len(s.Y); j++ {
			grown += own.Series[i].Y[j]
		}
		if last := s.Y[len(s.Y)-1]; grown-last > 1e-6 || last-grown > 1e-6 || own.Series[i].Y[0] != s.Y[0] {
			t.Errorf("series %d: rounds add up to %v of %v", i, grown, last)
		}
	}
	section := r.Sections[0]
	if !strings.Contains(section.Text, "Rounds 3, 4 told nothing") || !strings.Contains(section.Text, "at most 1 event in all 10 rounds") || !strings.Contains(section.Text, "all 2 values at once") {
		t.Error(section.Text)
	}
	if rows := section.Tables[0].Rows; len(rows) != 10 || rows[2][1].Text != "no row" || rows[2][1].Value != nil || rows[4][1].Value == nil {
		t.Errorf("%+v", rows[2])
	}
	if m := r.Headline[1]; m.Among != 20 || m.Name != "so_far" {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(r.Answer, "After round 10 of 10") {
		t.Error(r.Answer)
	}
}

// Intervals of running totals hold for all rounds at once as often as is said, and those of single rounds do. The twin,
// whose intervals hold one by one, is caught.
func TestIntervalsOfACourseHoldAtOnce(t *testing.T) {
	const runs = 100
	failed, alone := map[string]int{}, 0
	for seed := range uint64(runs) {
		r := coursed(t, 1, nil, seed).Release
		for _, name := range []string{"so-far", "in-round"} {
			s := courseFigure(t, r, name).Series[0]
			missed, narrow := false, false
			for i, truth := range s.Truth {
				missed = missed || truth < s.Low[i] || truth > s.High[i]
				half := (s.High[i] - s.Y[i]) * 1.96 / 2.807 // of 95 % by itself in the place of .5 %
				narrow = narrow || truth < s.Y[i]-half || truth > s.Y[i]+half
			}
			if missed {
				failed[name]++
			}
			if narrow && name == "in-round" {
				alone++
			}
		}
	}
	for name, n := range failed {
		t.Logf("%s: %d of %d failed; by themselves %d would", name, n, runs, alone)
		stattest.AtMost(t, .05, runs, n)
	}
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, .05, runs, alone) })
}

// A release of what begins and ends says of how many it holds, after each round and now, with the truth within its range; who
// says it again without an end between is not counted twice.
func TestWhatHoldsIsShown(t *testing.T) {
	var all []course.Happened
	for person := range 900 {
		all = append(all, course.Happened{Person: fmt.Sprint(person), Round: 1 + person%5}, course.Happened{Person: fmt.Sprint(person), Round: 6})
		if person%3 == 0 {
			all = append(all, course.Happened{Person: fmt.Sprint(person), Round: 8, Cell: 1})
		}
	}
	out, err := course.Study{Plan: example.Turning(t, 10, 3, plan.NoiseAggregators), People: 1000, Withheld: []int{7}, Seed: 1}.Run(all, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if out.Beyond != 900 {
		t.Errorf("%d events are not said, want those of round 6", out.Beyond)
	}
	r := out.Release
	s := courseFigure(t, r, "on").Series[0]
	total := courseFigure(t, r, "so-far").Series
	for i := range s.X {
		if off := s.Y[i] - (total[0].Y[i] - total[1].Y[i]); off > 1e-9 || off < -1e-9 || s.Low[i] > s.Truth[i] || s.High[i] < s.Truth[i] {
			t.Errorf("round %.0f: %v (%v to %v), the truth is %v", s.X[i], s.Y[i], s.Low[i], s.High[i], s.Truth[i])
		}
	}
	m := r.Headline[1]
	if m.Name != "on" || m.Among != 10 || *m.Truth != 600 || m.StdErr != out.Stated || m.Title == "" || len(s.Gaps) != 1 {
		t.Errorf("%+v, gaps %v", m, s.Gaps)
	}
	if !strings.Contains(r.Answer, "holds of ") || !strings.Contains(r.Sections[0].Text, "says in turn") {
		t.Error(r.Answer, r.Sections[0].Text)
	}
}
