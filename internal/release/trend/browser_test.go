package trend

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
)

// weeks returns rounds of a metric in two crowds, of which some are missing: seven values, of which two change places.
func weeks(n int, opens time.Time) (all []Round) {
	for i := range n {
		r := Round{Number: i + 1, Times: plan.Times{Opens: opens.AddDate(0, 0, 7*i), Closes: opens.AddDate(0, 0, 7*i+7)}}
		switch i {
		case 4:
			r.Missing = "withheld: fewer people answered than the plan asks for"
		case 7:
			r.Missing = "withdrawn on 14 October 2026: a beta counted twice"
		default:
			for c, crowd := range []string{"Linux", "macOS"} {
				t := table{metric: "theme", crowd: crowd, respondents: 10000, whole: true, at: map[string]int{}}
				shares := []float64{0.31, 0.4, 0.2, 0.04, 0.02, 0.02, 0.01}
				moved := 0.1 / (1 + math.Exp(9-float64(i))) * float64(1+c)
				shares[0], shares[1] = shares[0]+moved, shares[1]-moved
				for k, name := range []string{"dark", "light", "system", "unset", "high contrast and larger letters", "sepia", "other"} {
					at := shares[k] + 0.006*math.Sin(float64(3*i+5*k+c))
					t.at[name] = k
					t.cells = append(t.cells, cell{name, at, max(0, at-0.021), at + 0.021})
				}
				t.group = func(cells []int, _ float64) (count, share estimate.Value, low, high float64, ok bool) {
					return count, estimate.Value{Mean: 0.03}, 0.01, 0.05, true
				}
				r.tables = append(r.tables, t)
			}
		}
		all = append(all, r)
	}
	return all
}

// Pages of trends can be read at the size of a desk and of a phone, light and dark, and by whoever cannot see them.
func TestPagesInABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	opens := time.Date(2026, 8, 3, 0, 0, 0, 0, time.UTC)
	notes := []Note{{At: opens.AddDate(0, 0, 30), Text: "version 4.2"}, {At: opens.AddDate(0, 0, 66), Text: "version 5.0: dark first"}}
	one := weeks(16, opens)
	seasons, err := Join([][]Round{weeks(10, opens), weeks(10, opens.AddDate(0, 0, 70))})
	if err != nil {
		t.Fatal(err)
	}
	g := account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Replacement, Trust: account.Shuffled, Users: 10000, Rounds: 1, Method: "a test's", Bound: account.Upper}
	none := account.Guarantee{Epsilon: math.Inf(1), Adjacency: account.Replacement, Trust: account.Local, Users: 10000, Rounds: 1, Method: "a test's", Bound: account.Upper}
	shield := Shield{Trial: true, Says: []string{"A round promises each person " + g.Verdict() + ".", "The year so far: 3 studies."}, Statements: []account.Statement{{Observer: account.ShufflerHonest, Who: "Who reads what was published.", Guarantee: g}, {Observer: account.EveryoneColludes, Who: "Everyone but the respondent's own device.", Guarantee: none}}}
	draw := func(metric string, rounds []Round, notes []Note, crowds ...string) []byte {
		var all []Trend
		for _, crowd := range crowds {
			f, ok := Follow(rounds, metric, crowd, notes)
			if !ok {
				t.Fatal("there is no trend")
			}
			all = append(all, f)
		}
		var b bytes.Buffer
		if err := Write(&b, "Which theme do people use?", all, shield); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	pages := map[string][]byte{
		"/one": draw("theme", one, notes, "Linux"), "/beside": draw("theme", one, notes, "Linux", "macOS"), "/seasons": draw("theme", seasons, nil, "macOS"),
		"/lifts": draw("welcome", weeksOfArms(16, opens), notes, ""),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/favicon.ico" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.Copy(w, bytes.NewReader(pages[r.URL.Path]))
	}))
	defer s.Close()
	for _, screen := range webtest.Screens {
		b := webtest.Open(t, ctx, screen)
		for path := range pages {
			b.Do(chromedp.Navigate(s.URL + path))
			for _, dark := range []bool{false, true} {
				b.Darken(t, dark)
				b.Look(t, fmt.Sprintf("trend %s, %s, dark %v", path[1:], screen.Name, dark))
			}
			if lines := webtest.Ask(b, chromedp.Evaluate[int](`[...document.querySelectorAll("polyline.line")].filter(l => l.checkVisibility()).length`)); lines < 3 && path != "/lifts" || lines == 0 {
				t.Errorf("%s on %s: %d lines can be seen", path, screen.Name, lines)
			}
		}
	}
}
