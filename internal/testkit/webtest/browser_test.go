package webtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// A page that leaves for another site while it is asked ends no test: the question stands, and the
// next page answers it. The page here is asked by what sends it away, and has no time to answer.
func TestUntilSurvivesANavigation(t *testing.T) {
	ctx := webtest.Browser(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><main>here</main>", r.URL.Path)
	}))
	defer s.Close()
	there := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/there" // another site has another process
	leaves := fmt.Sprintf(`location.pathname === "/there" || new Promise(() => { location.href = %q })`, there)
	b := webtest.Open(t, ctx, webtest.Screens[0])
	b.Do(chromedp.Navigate(s.URL))
	ask := chromedp.Evaluate[bool](leaves, chromedp.EvalAwaitPromise)
	if _, err := chromedp.Run(b, ask); err == nil || !strings.Contains(err.Error(), "navigated") {
		t.Fatalf("a page that leaves answers %v: this test shows nothing", err)
	}
	b.Do(chromedp.Navigate(s.URL), webtest.Until(leaves))
	if title := webtest.Ask(b, chromedp.Title()); title != "/there" {
		t.Errorf("the browser is at %q", title)
	}
	b.Do(chromedp.Navigate(s.URL))
	if _, err := chromedp.Run(b, webtest.Until(`nobody.knows`)); err == nil || !strings.Contains(err.Error(), "nobody is not defined") {
		t.Errorf("an expression that fails: %v", err)
	}
}
