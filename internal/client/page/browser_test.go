package page

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// The page has no fault in a browser, at the size of a desk and of a phone, light and dark.
func TestThePageInABrowser(t *testing.T) {
	browser := webtest.Browser(t)
	pages := map[string]string{"/on": drawn(t, nil), "/off": drawn(t, func(l *client.Ledger, _ *Options) { l.OptedIn = false })}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, pages[r.URL.Path])
	}))
	defer served.Close()
	for _, screen := range webtest.Screens {
		b := webtest.Open(t, browser, screen)
		for path := range pages {
			b.Do(chromedp.Navigate(served.URL + path))
			for _, dark := range []bool{false, true} {
				b.Darken(t, dark)
				name := "ledger " + path[1:] + ", " + screen.Name
				if dark {
					name += ", dark"
				}
				b.Look(t, name)
			}
		}
	}
}
