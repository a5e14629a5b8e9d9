package console

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
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

// What a round's numbers rest on is its own: a study with one release that was changed, or is of another round, has no trend,
// and counts that are not whole are in none.
func TestAChangedReleaseHasNoTrend(t *testing.T) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p, people := metrics(2, 3000)
	study := "/studies/" + s.study(t, p, people, people, people) + "/trends.csv"
	at := func(round int, format string) string {
		return base + "/v1/releases/" + s.plans[round].Plan + "." + format
	}
	open := func() (int, string) {
		c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
		if err != nil {
			t.Fatal(err)
		}
		res, text := get(t, c, study)
		return res.StatusCode, text
	}
	status, good := open()
	if status != http.StatusOK || strings.Contains(good, "could not") {
		t.Fatal(good)
	}
	json, counts := at(1, "json"), at(1, sheets.CountsFile)
	for name, plant := range map[string]func(){
		"the release of another round": func() { s.answers[json] = s.answers[at(2, "json")] },
		"a headline that cannot be": func() {
			s.answers[json] = bytes.Replace(s.answers[json], []byte(`"value": `), []byte(`"value": 1e999`), 1)
		},
		"a release that is cut off": func() { s.answers[json] = s.answers[json][:len(s.answers[json])/2] },
		"counts with a row too few": func() {
			s.answers[counts] = s.answers[counts][:bytes.LastIndexByte(bytes.TrimSpace(s.answers[counts]), '\n')+1]
		},
	} {
		was, were := s.answers[json], s.answers[counts]
		plant()
		if bytes.Equal(was, s.answers[json]) && bytes.Equal(were, s.answers[counts]) {
			t.Fatalf("%s is not planted", name)
		}
		status, text := open()
		s.answers[json], s.answers[counts] = was, were
		if status == http.StatusOK && !strings.Contains(text, "its numbers could not be put together") {
			t.Errorf("%s has a trend", name)
		}
	}
	s.answers[counts] = bytes.ReplaceAll(s.answers[counts], []byte(",a,"), []byte(",a,1")) // nothing is kept in the place of what the analyzer has
	if _, text := open(); text == good {
		t.Error("numbers that are there no longer are shown")
	}
}

// Seasons of one publisher and coordinator are one trend, those of somebody else's are not, and versions beside each other
// are not summed.
func TestSeasonsOfAStudy(t *testing.T) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	publisher, errPublisher := relay.GenerateSignKey()
	coordinator, errCoordinator := relay.GenerateSignKey()
	if err := errors.Join(errPublisher, errCoordinator); err != nil {
		t.Fatal(err)
	}
	p, people := metrics(2, 3000)
	first := s.season(t, p, publisher, coordinator, 0, people, people)
	second := s.season(t, p, publisher, coordinator, 28, people)
	s.study(t, p, people) // of others, under the same title
	open := func(study string) string {
		c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
		if err != nil {
			t.Fatal(err)
		}
		_, text := get(t, c, "/studies/"+study)
		return text
	}
	for _, study := range []string{first, second} {
		if text := open(study); !strings.Contains(text, ">season 2</text>") || strings.Contains(text, ">season 3</text>") || !strings.Contains(text, "Since round 2 of season 1") {
			t.Errorf("the seasons of %s: %v", study, strings.Contains(text, "season"))
		}
	}
	p.Crowd.Minimum++ // another version of the second
	s.season(t, p, publisher, coordinator, 28, people)
	if text := open(second); !strings.Contains(text, "versions beside each other") || strings.Contains(text, ">season 2</text>") {
		t.Error("two versions are drawn as one trend")
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

// BenchmarkYearOfFifty opens the page of a study of fifty metrics after a year of days, which nobody has looked at yet.
func BenchmarkYearOfFifty(b *testing.B) {
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p, people := metrics(50, 20000)
	study := "/studies/" + s.study(b, p, append([][]question.Value{people}, make([][]question.Value, 364)...)...)
	first := s.plans[0]
	for i := range s.plans[1:] { // whose numbers are those of the first
		of := &s.plans[i+1]
		of.Status, of.Formats = first.Status, first.Formats
		for _, format := range []string{"json", sheets.CountsFile} {
			text := s.answers[base+"/v1/releases/"+first.Plan+"."+format]
			s.answers[base+"/v1/releases/"+of.Plan+"."+format] = bytes.ReplaceAll(text, []byte(first.Plan), []byte(of.Plan))
		}
	}
	used := costlimit.Used(b)
	for b.Loop() {
		c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
		if err != nil {
			b.Fatal(err)
		}
		if _, page := get(b, c, study); strings.Count(page, `href="?metric=metric`) != 50 {
			b.Fatal("it does not list the metrics")
		}
	}
	b.ReportMetric(1e3*(costlimit.Used(b)-used).Seconds()/float64(b.N), "ms-processor/op")
}
