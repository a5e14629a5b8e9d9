package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// A release in the console is the page that is mailed, word for word: what stands between its frame and its foot.
func TestTheConsoleShowsTheMailedPage(t *testing.T) {
	s, _, crowds, sampled := several(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{crowds, sampled} {
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
