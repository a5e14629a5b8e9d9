package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A collection that its publisher has withdrawn says so on every page that shows it, with reason and
// date, whatever was published before; its own page, which cannot say so, is handed out and not shown.
func TestAWithdrawnCollectionSaysSo(t *testing.T) {
	s, _, crowds, _ := several(t)
	said := &analyzerd.Withdrawal{Publisher: "ed25519:its", At: time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC), Reason: "the question was <misleading>"}
	p := example.Histograms()["categories"]
	var people []question.Value
	for i := range 2000 {
		people = append(people, example.Answers(p, i))
	}
	study := s.study(t, p, people, people, people, nil)
	withdraw := func(name string) (title string) {
		for i := range s.plans {
			if s.plans[i].Plan == name {
				s.plans[i].Withdrawal = said
				return s.plans[i].Title
			}
		}
		t.Fatal("no plan " + name)
		return ""
	}
	second := ""
	for _, one := range s.plans {
		if one.Study == study && one.Round == 2 {
			second = one.Plan
		}
	}
	hash, err := wire.ParsePlanName(crowds)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := plan.ParseSigned(s.answers[base+wire.PlanPath(hash)])
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s, Poll: &Poll{Signed: signed, Address: "https://here.example/answer"}})
	if err != nil {
		t.Fatal(err)
	}
	cookie, _ := login(t, c)
	operator := func(path string) (*http.Response, string) {
		return get(t, c, path, "Cookie", cookie.Name+"="+cookie.Value)
	}
	pages := map[string]string{
		"/": crowds, "/plans/" + crowds: crowds, "/releases/" + crowds: crowds, "/room": crowds, "/operator": crowds,
		"/plans/" + second: second, "/releases/" + second: second, "/studies/" + study: second,
	}
	banner := func(page string) int {
		return strings.Count(page, `<strong>Withdrawn</strong> by its publisher on <time datetime="2026-11-23T08:00:00Z">23 November 2026, 08:00 UTC</time>: the question was &lt;misleading&gt;`)
	}
	for path := range pages {
		if _, page := operator(path); banner(page) != 0 {
			t.Errorf("%s says that something was withdrawn before it was", path)
		}
	}
	if res, _ := operator("/releases/" + crowds + "/html"); res.Header.Get("Content-Disposition") != "" {
		t.Error("the page of a release is not shown")
	}
	_, page := operator("/studies/" + study)
	drawn := len(dots.FindAllString(page, -1))
	title := withdraw(crowds)
	for path, name := range pages {
		if _, page := operator(path); name == crowds && banner(page) != 1 || name != crowds && banner(page) != 0 {
			t.Errorf("%s says %d times that %q is withdrawn", path, banner(page), title)
		}
	}
	withdraw(second)
	for path := range pages {
		_, page := operator(path)
		if path == "/studies/"+study {
			if now := len(dots.FindAllString(page, -1)); banner(page) != 1 || now == 0 || now*3 != drawn*2 {
				t.Errorf("the study draws %d points where it drew %d, and says %d times that a round is withdrawn", now, drawn, banner(page))
			}
		} else if want := map[bool]int{true: 2, false: 1}[path == "/operator"]; banner(page) != want {
			t.Errorf("%s says %d times that a collection is withdrawn, of %d", path, banner(page), want)
		}
		if path == "/releases/"+second && (strings.Index(page, `class="banner withdrawn"`) > strings.Index(page, "<h1>") || !strings.Contains(page, "Withdrawn by its publisher on 23 November 2026: the question was")) {
			t.Errorf("%s stands as published, or is cited so", path)
		}
	}
	if res, _ := operator("/releases/" + crowds + "/html"); !strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") {
		t.Error("the page of a withdrawn release is shown, as if it stood")
	}

	// What all rounds say together rests on each of them.
	for i := range s.plans {
		if one := &s.plans[i]; one.Study == study && one.Status == analyzerd.Released {
			one.Formats = append(one.Formats, "study.json", "study.html")
			hash, _ := wire.ParsePlanName(one.Plan)
			s.answers[base+wire.ReleasePath(hash, "study.html")] = []byte("<!doctype html>")
			_, page := operator("/releases/" + one.Plan)
			res, _ := operator("/releases/" + one.Plan + "/study.html")
			if says, out := strings.Contains(page, "rests on round 2,"), res.Header.Get("Content-Disposition") != ""; says != (one.Round >= 2) || out != says {
				t.Errorf("round %d says that round 2 is withdrawn: %v; its page of all rounds is handed out: %v", one.Round, says, out)
			}
		}
	}
	if got := (analyzerd.Plan{Status: analyzerd.Open}).Standing(); got != analyzerd.Open {
		t.Errorf("an open plan stands as %s", got)
	}
}

// dots are the points of lines, on both of a chart's sizes.
var dots = regexp.MustCompile(`class="t\d" cx="[0-9.]+" cy="[0-9.]+" r="3"`)
