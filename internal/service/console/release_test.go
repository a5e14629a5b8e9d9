package console

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/vector"
)

// kinds has a release each of what is no histogram: labels of records and in sums, vectors, densities. It
// returns the plans' names by kind.
func kinds(t testing.TB, s *services) map[string]string {
	t.Helper()
	labels := func(l plan.Label) plan.Plan {
		p := example.Density("rr")
		l.Classes = []string{"cats", "dogs", "birds"}
		p.Title, p.Question = "Which class is each record?", plan.Question{Kind: "label", Unfit: plan.UnfitReference, Label: &l}
		p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: plan.AdjacencyLabel, DishonestShare: 0.1}
		p.Crowd = plan.Crowd{Minimum: 500}
		return p
	}
	at := func(i int) []float32 { return []float32{float32(i % 3), float32(i % 2), 0.5} }
	names := map[string]string{}
	for kind, one := range map[string]struct {
		p    plan.Plan
		hold func(i int) question.Value
	}{
		"labels of records": {labels(plan.Label{Report: plan.LabelEach, Records: 1200}), func(i int) question.Value { return label.Record{Number: i, Class: i % 3} }},
		"labels in sums":    {labels(plan.Label{Report: plan.LabelSums, Features: 3, Seed: example.Seed}), func(i int) question.Value { return label.Record{Features: at(i), Class: i % 3} }},
		"vectors":           {example.Vector(plan.VectorRound{Sums: plan.SumsClasses, Answered: 8}), func(i int) question.Value { return vector.Record{Features: at(i), Class: i % 2} }},
		"densities":         {example.Density("rr"), func(i int) question.Value { return density.Labelled{Features: at(i), Class: i % 2} }},
	} {
		var people []question.Value
		for i := range 1200 {
			people = append(people, one.hold(i))
		}
		names[kind] = s.add(t, one.p, people)
	}
	return names
}

// A release in the console is the page that is mailed, word for word: what stands between its frame and its foot.
func TestTheConsoleShowsTheMailedPage(t *testing.T) {
	s, _, crowds, sampled := several(t)
	names := kinds(t, s)
	names["crowds"], names["sampled"] = crowds, sampled
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_, mailed := get(t, c, "/releases/"+name+"/html")
		_, body, _ := strings.Cut(mailed, "<main>\n")
		body, _, whole := strings.Cut(body, "\n<footer>")
		if _, page := get(t, c, "/releases/"+name); !whole || len(body) < 2000 || strings.Count(page, body) != 1 {
			t.Errorf("the console shows another page than the one of %d bytes that is mailed", len(body))
		}
	}
}

// styled returns how each element of a release is drawn, in words.
const styled = `(() => {
	const begin = document.querySelector("main h1").closest("header"), all = [];
	for (let part = begin; part && !part.matches("footer, .tools"); part = part.nextElementSibling) {
		for (const e of [part, ...part.querySelectorAll("*")]) {
			const s = getComputedStyle(e);
			all.push([e.tagName, e.getAttribute("class"), ...["color", "backgroundColor", "fill", "stroke", "fontSize", "fontWeight", "fontFamily", "lineHeight", "display", "paddingTop", "paddingLeft", "marginLeft", "marginBottom", "borderTopColor", "borderTopWidth", "borderRadius", "width", "height", "textAlign", "listStyleType", "gridTemplateColumns", "position"].map((p) => s[p])].join(" "));
		}
	}
	return all;
})()`

// It is drawn in the same colours and sizes, of a desk and a phone, light and dark: every element of it has the
// style that it has in the mailed page. A rule of the console's that reaches into it, the twin, is found.
func TestTheConsoleDrawsAsTheMailedPage(t *testing.T) {
	ctx := webtest.Browser(t)
	s, _, crowds, sampled := several(t)
	_, url := start(t, Options{Analyzer: base, Public: s})
	for _, screen := range webtest.Screens {
		b := webtest.Open(t, ctx, screen)
		for _, name := range []string{crowds, sampled} {
			for _, dark := range []bool{false, true} {
				b.Darken(t, dark)
				of := func(path string, script string) []string {
					b.Do(chromedp.Navigate(url+path), webtest.Until(`document.readyState === "complete"`), chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll("details")) e.open = true; `+script+`0`))
					return webtest.Ask(b, chromedp.Evaluate[[]string](styled))
				}
				mailed, shown := of("/releases/"+name+"/html", ""), of("/releases/"+name, "")
				if below := b.Below(screen, "h1", ".said", "section.first .rows"); screen.Phone && below != nil {
					t.Errorf("below the first screen of a phone: %q", below)
				}
				if len(mailed) < 100 || len(mailed) != len(shown) {
					t.Fatalf("%d elements are mailed, and %d shown", len(mailed), len(shown))
				}
				differ := 0
				for i := range mailed {
					if mailed[i] != shown[i] {
						if differ++; differ <= 5 {
							t.Errorf("%s, dark %v:\n%s is mailed\n%s is shown", screen.Name, dark, mailed[i], shown[i])
						}
					}
				}
				if slices.Equal(mailed, of("/releases/"+name, `[...document.styleSheets].at(-1).insertRule(".rows { padding-left: 1px }"); `)) {
					t.Error("a rule of the console's that reaches into the page is not found")
				}
			}
		}
	}
}

// Pages of what is no histogram are read too, on a desk and on a phone, light on one and dark on the other, with all that folds open.
func TestReleasesOfEveryKindAreRead(t *testing.T) {
	ctx := webtest.Browser(t)
	s := &services{answers: map[string][]byte{}, down: map[string]bool{}}
	names := kinds(t, s)
	_, url := start(t, Options{Analyzer: base, Public: s})
	for at, screen := range webtest.Screens {
		b := webtest.Open(t, ctx, screen)
		for i, kind := range slices.Sorted(maps.Keys(names)) {
			b.Do(chromedp.Navigate(url+"/releases/"+names[kind]), webtest.Until(`document.readyState === "complete"`))
			if below := b.Below(screen, "h1", ".said", "section.first .rows, section.first .plot.narrow, section.first .headline"); screen.Phone && below != nil {
				t.Errorf("%s: below the first screen of a phone: %q", kind, below)
			}
			b.Do(chromedp.Evaluate[chromedp.Void](`for (const e of document.querySelectorAll("details")) e.open = true; 0`))
			dark := (i+at)%2 == 1
			b.Darken(t, dark)
			said := kind + ", " + screen.Name
			if dark {
				said += ", dark"
			}
			b.Look(t, said)
		}
	}
}
