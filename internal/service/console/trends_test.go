package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
)

// metrics returns a plan of so many metrics, of which each device says one, and its people.
func metrics(n, people int) (p plan.Plan, all []question.Value) {
	p = example.Histograms()["sample"]
	asked := *p.Question.Histogram
	asked.Attributes = nil
	for i := range n {
		asked.Attributes = append(asked.Attributes, plan.Attribute{Name: fmt.Sprintf("metric %d", i+1), Kind: "categories", Values: []string{"a", "b", "c", "d"}})
	}
	p.Question.Histogram = &asked
	for i := range people {
		said := make([]any, n)
		for k := range said {
			said[k] = []string{"a", "b", "c", "d"}[(i+k)%4]
		}
		all = append(all, histogram.Answers{Values: said})
	}
	return p, all
}

// Of many metrics what is sure of each is listed; a page has one of them, or two beside each other.
func TestAPageAMetric(t *testing.T) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p, people := metrics(5, 3000)
	study := "/studies/" + s.study(t, p, people, people)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	_, page := get(t, c, study)
	if n := strings.Count(page, `href="?metric=metric`); n != 5 || strings.Contains(page, `class="trend"`) {
		t.Errorf("%d metrics are offered, and one is drawn: %v", n, strings.Contains(page, `class="trend"`))
	}
	for ask, want := range map[string]int{"?metric=metric+2": 1, "?metric=metric+2&metric=": 1, "?metric=metric+2&metric=metric+4": 2, "?metric=metric+2&metric=metric+2": 1} {
		res, page := get(t, c, study+ask)
		if n := strings.Count(page, `class="trend"`); n != want || res.StatusCode != http.StatusOK || strings.Contains(page, "trends beside") != (want == 2) {
			t.Errorf("%s draws %d trends", ask, n)
		}
	}
}

// BenchmarkARoundOfFifty reads one round of fifty metrics, as a study's page does once for each.
func BenchmarkARoundOfFifty(b *testing.B) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p, people := metrics(50, 20000)
	s.study(b, p, people)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		clear(c.analyzer.rounds)
		one, err := c.analyzer.round(b.Context(), s.plans[0].Plan)
		if err != nil || one.Numbers() != 200 {
			b.Fatal(err, one)
		}
	}
}
