package console

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
)

// The curve of a value is of that value in every round, though each round has another leader; it
// has an interval at each point, and begins at zero.
func TestACurveIsOfOneValue(t *testing.T) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p := example.Histograms()["categories"]
	held := func(coffee, tea int) (people []question.Value) {
		for i := range 1500 {
			drink := "water"
			if i%10 < coffee {
				drink = "coffee"
			} else if i%10 < coffee+tea {
				drink = "tea"
			}
			people = append(people, histogram.Answers{Values: []any{drink}})
		}
		return people
	}
	study := s.study(t, p, held(6, 2), held(1, 7), held(2, 2))
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	_, page := get(t, c, "/studies/"+study)
	labels := map[string]string{}
	for _, found := range regexp.MustCompile(`<figcaption>([^<]*)</figcaption>\s*<svg[^>]*aria-label="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if labels[found[1]] != "" {
			t.Errorf("%s has two curves", found[1])
		}
		labels[found[1]] = found[2]
	}
	for _, value := range []string{"coffee", "tea", "water"} {
		want := value + " by round: "
		for round := range 3 {
			one, err := c.analyzer.plan(t.Context(), s.plans[round].Plan)
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.analyzer.release(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			table := r.tables[0][0]
			of := func(x float64) string { return share(x / float64(max(1, table.Respondents))) }
			for _, n := range table.counts {
				if n.Value == value {
					want += fmt.Sprintf("round %d, %s (%s to %s); ", round+1, of(possible(n)), of(n.LowAll), of(n.HighAll))
				}
			}
		}
		if want = strings.TrimSuffix(want, "; "); labels[value] != want {
			t.Errorf("the curve of %s reads\n%s, and should\n%s", value, labels[value], want)
		}
	}
	wants(t, page, "all begin at zero")
	if strings.Contains(page, "<figcaption>Respondents who hold") {
		t.Error("there is a curve of whichever value leads")
	}
}

// Heights are as the numbers: of one chart, whatever its curves, and from zero.
func TestCurvesBeginAtZero(t *testing.T) {
	var s course
	for round, x := range []float64{0.8, 0.9} {
		chart := s.chart("drink", inShares)
		chart.curve("tea").add(point{Round: round, value: x, from: x - 0.05, to: x + 0.05})
		chart.curve("water").add(point{Round: round, value: x / 2, from: x / 2, to: x / 2})
		chart.curve("milk").add(point{Round: round, value: 0, from: -0.1, to: 0.1})
	}
	s.chart("", "once").curve("of one round").add(point{value: 1})
	drawn := s.draw()
	if len(drawn) != 1 || len(drawn[0].Curves) != 3 {
		t.Fatalf("%+v", drawn)
	}
	tea, water, milk := drawn[0].Curves[0], drawn[0].Curves[1], drawn[0].Curves[2]
	for i := range 2 {
		if high, half := tea.Zero-tea.Points[i].Y, water.Zero-water.Points[i].Y; math.Abs(high-2*half) > 1e-9 || high <= 0 {
			t.Errorf("0.4 of 0.8 is drawn %g of %g high", half, high)
		}
		if milk.Points[i].Y != milk.Zero || milk.Points[i].Low <= milk.Zero || milk.Points[i].Low > 190 {
			t.Errorf("nothing, between -0.1 and 0.1, is drawn at %+v above %g", milk.Points[i], milk.Zero)
		}
	}
	var many course
	for round := range 2 {
		for i := range maxCurves + 3 {
			many.chart("word", inPeople).curve(fmt.Sprint(i)).add(point{Round: round, value: float64(i)})
		}
	}
	if c := many.draw()[0]; len(c.Curves) != maxCurves || c.More != 3 || c.Curves[0].Label != fmt.Sprint(maxCurves+2) || !strings.Contains(c.Says(), "3 more") {
		t.Errorf("of many curves %d are drawn, %d are not: %s", len(c.Curves), c.More, c.Says())
	}
}
