package console

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

func TestMain(m *testing.M) { os.Exit(webtest.Tests{M: m}.Run()) }

// start serves a console on this machine.
func start(t *testing.T, o Options) (*Console, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	o.Hosts = []string{s.Listener.Addr().String()}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = c
	s.Start()
	t.Cleanup(s.Close)
	return c, s.URL
}

// Every page of an analyst is drawn without a fault, at the size of a desk and of a phone, on one of them light and on
// the other dark, and can be read by whoever cannot see it.
func TestAnalystsPagesInABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s, asked, crowds, sampled := several(t)
	s.hopsOf(t, asked, "at least 4096")
	_, url := start(t, Options{Analyzer: base, Public: s, Operator: s, Now: func() time.Time { return published.Add(2 * time.Hour) }})
	pages := []struct{ name, path string }{
		{"collections", "/"},
		{"collection", "/plans/" + asked},
		{"two crowds", "/releases/" + crowds + "?crowd=north&with=south&pick=0&pick=1"},
		{"another attribute", "/releases/" + sampled + "?attribute=rising"},
		{"no page", "/plans/none"},
	}
	b := webtest.Open(t, ctx, webtest.Phone)
	for _, p := range pages {
		b.Do(chromedp.Navigate(url + p.path))
		if p.name == "no page" {
			b.Found() // the browser says that it is not there
		}
		b.LookOnAll(t, p.name)
	}
}

// A study has a curve of each number that its rounds give, and a card of each round.
func TestAStudyInABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	p := example.Histograms()["categories"]
	p.Title = "What do you drink, week by week?"
	var people []question.Value
	for i := range 4800 {
		people = append(people, example.Answers(p, i))
	}
	study := s.study(t, p, people[:1400], people[1400:3000], people[3000:], nil)
	_, url := start(t, Options{Analyzer: base, Public: s})
	for _, screen := range webtest.Screens {
		b := webtest.Open(t, ctx, screen)
		b.Do(chromedp.Navigate(url + "/studies/" + study))
		for _, dark := range []bool{false, true} {
			b.Darken(t, dark)
			name := "study, " + screen.Name
			if dark {
				name += ", dark"
			}
			b.Look(t, name)
		}
		if lines := webtest.Ask(b, chromedp.Evaluate[int](`document.querySelectorAll(".trend .wide polyline.line").length`)); lines < 3 {
			t.Errorf("there are %d lines", lines)
		}
		if text := webtest.Ask(b, chromedp.Text("main")); !strings.Contains(text, "4 of at most 6 so far") || strings.Count(text, "comes first") != 3 {
			t.Errorf("the page reads %q", text)
		}
	}
}

// Without a mouse: the switch is reached by keys, and changes the chart by the script.
func TestAReleaseIsRegroupedInABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, crowds, _ := several(t)
	_, url := start(t, Options{Analyzer: base, Public: s})
	b := webtest.Open(t, ctx, webtest.Phone)
	b.Do(chromedp.Navigate(url+"/releases/"+crowds), chromedp.Click(`.tools summary`),
		chromedp.Click(`input[name=pick][value="0"]`), chromedp.Click(`input[name=pick][value="1"]`),
		chromedp.Click(`#view p button`), chromedp.WaitVisible(`.result .value`))
	text := webtest.Ask(b, chromedp.Text(`.results`))
	// The page's script listens once the page is whole, and a change leads to the next page.
	b.Do(chromedp.Poll[chromedp.Void](`document.readyState === "complete"`),
		chromedp.Evaluate[chromedp.Void](`{
			const beside = document.querySelector("select[name=with]");
			beside.value = "south";
			beside.dispatchEvent(new Event("change", {bubbles: true}));
		}`),
		webtest.Until(`document.querySelectorAll(".result").length === 2`))
	where := webtest.Ask(b, chromedp.Location())
	if !strings.Contains(text, "coffee") || !strings.Contains(text, "tea") {
		t.Errorf("the group reads %q", text)
	}
	if !strings.Contains(where, "with=south") || !strings.Contains(where, "pick=0") {
		t.Errorf("the choice is not in the address: %s", where)
	}
	b.Look(t, "regrouped by hand")
}

// The looks that find nothing find what is wrong: a script that is not the console's, a fault
// in one, and a picture without words.
func TestLooksFindWhatIsWrong(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, _, _ := several(t)
	_, url := start(t, Options{Analyzer: base, Public: s})
	b := webtest.Open(t, ctx, webtest.Phone)
	for name, script := range map[string]string{
		"a script in the page":     `document.body.append(Object.assign(document.createElement("script"), {textContent: "1"}))`,
		"a picture from elsewhere": `document.body.append(Object.assign(new Image(), {src: "https://elsewhere.example/x.png", alt: ""}))`,
		"a fault":                  `setTimeout(() => { throw new Error("planted") })`,
	} {
		b.Do(chromedp.Navigate(url+"/"), chromedp.Evaluate[chromedp.Void](script+"; 0"))
		found := b.Found()
		for begun := time.Now(); len(found) == 0 && time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
			found = b.Found()
		}
		if len(found) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	b.Do(chromedp.Navigate(url+"/"), chromedp.Evaluate[chromedp.Void](`document.querySelector("main").append(Object.assign(new Image(), {src: "/static/icon.svg"})); 0`))
	if _, err := webtest.Axe(); err == nil && len(b.Axe(t)) == 0 {
		t.Error("a picture without words is not found")
	}
}
