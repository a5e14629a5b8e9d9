package console

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/question/histogram"
)

// The line of a value is of that value in every round, though each round has another leader; it has an interval at each
// round, which its release has too, and what changed is said once.
func TestALineIsOfOneValue(t *testing.T) {
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
	for _, value := range []string{"coffee", "tea", "water"} {
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
			row := regexp.MustCompile(fmt.Sprintf(`<th scope="row">%d</th>(.*)</tr>`, round+1)).FindStringSubmatch(page)
			if row == nil {
				t.Fatalf("round %d is not in the table", round+1)
			}
			of := func(x float64, to func(float64) float64) string {
				return numerals.FormatDecimals(to(1000*x/float64(table.Respondents))/10, 1)
			}
			for _, n := range table.counts {
				if want := of(n.LowAll, math.Floor) + " to " + of(n.HighAll, math.Ceil); n.Value == value && !strings.Contains(row[1], "<td>"+want+"</td>") {
					t.Errorf("of %s round %d reads %q, without %s", value, round+1, row[1], want)
				}
			}
		}
	}
	wants(t, page, "the axis begins at zero", "Since round 2 ", "“tea” fell by")
	if strings.Contains(page, "Respondents who hold") {
		t.Error("there is a line of whichever value leads")
	}
	_, csv := get(t, c, "/studies/"+study+"/trends.csv")
	if rows := strings.Count(csv, "\n"); !strings.HasPrefix(csv, "metric,crowd,value,season,round,") || rows != 1+3*strings.Count(csv, ",1,1,") {
		t.Errorf("the table has %d rows:\n%s", rows, csv)
	}
	_, text := get(t, c, "/studies/"+study+"/prometheus")
	wants(t, text, `confetti_trend_share_low{study="`+study+`",metric="drink",crowd="",value="tea"} `, `confetti_trend_round{study="`+study+`",metric="drink",crowd=""} 3`)
	if r, _ := get(t, c, "/studies/"+study+"/other"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a file that there is not: %d", r.StatusCode)
	}
	if r, _ := get(t, c, "/studies/"+study+"?note=soon%3Dversion"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a note without a day: %d", r.StatusCode)
	}
	_, page = get(t, c, "/studies/"+study+"?metric=drink&note=2026-11-21%3Dversion+5%3Cb%3E")
	wants(t, page, "21 November 2026", "version 5&lt;b&gt;")
}

// Heights are as the numbers, from zero.
func TestCurvesBeginAtZero(t *testing.T) {
	var s course
	for round, x := range []float64{0.8, 0.4} {
		tea, milk := s.curve("tea", "tea"), s.curve("milk", "milk")
		tea.Points = append(tea.Points, point{Round: round, value: x, from: x - 0.05, to: x + 0.05})
		milk.Points = append(milk.Points, point{Round: round, value: 0, from: -0.1, to: 0.1})
	}
	once := s.curve("once", "of one round")
	once.Points = append(once.Points, point{value: 1})
	drawn := s.draw()
	if len(drawn) != 2 {
		t.Fatalf("%+v", drawn)
	}
	tea, milk := drawn[0], drawn[1]
	if high, half := tea.Zero-tea.Points[0].Y, tea.Zero-tea.Points[1].Y; math.Abs(high-2*half) > 1e-9 || high <= 0 {
		t.Errorf("0.4 of 0.8 is drawn %g of %g high", half, high)
	}
	for i := range 2 {
		if milk.Points[i].Y != milk.Zero || milk.Points[i].Low <= milk.Zero || milk.Points[i].Low > 190 {
			t.Errorf("nothing, between -0.1 and 0.1, is drawn at %+v above %g", milk.Points[i], milk.Zero)
		}
	}
}
