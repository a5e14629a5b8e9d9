package main

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// examples writes a table of two classes whose features lie apart.
func examples(t *testing.T, rows int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "examples.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, r := csv.NewWriter(f), rand.New(rand.NewPCG(1, 2))
	w.Write([]string{"class", "f1", "f2", "f3", "f4"})
	for i := range rows {
		row := []string{[]string{"cats", "dogs"}[i%2]}
		for j := range 4 {
			row = append(row, fmt.Sprintf("%.3f", r.NormFloat64()/4+float64((i+j)%2)))
		}
		w.Write(row)
	}
	if w.Flush(); w.Error() != nil {
		t.Fatal(w.Error())
	}
	return path
}

// mailed makes the page of a release of every kind that one command makes, in a folder by its name.
func mailed(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	people, few, fewest, records := filepath.Join(dir, "people.csv"), filepath.Join(dir, "few.csv"), filepath.Join(dir, "fewest.csv"), examples(t, 400)
	command(t, "sample", people)
	command(t, "sample", few, "--rows", "3000")
	command(t, "sample", fewest, "--rows", "300") // whose answers are sealed
	columns := filepath.Join(dir, "columns.toml")
	if err := os.WriteFile(columns, []byte("[[columns]]\nname = \"class\"\nvalues = [\"student\", \"staff\", \"guest\"]\n\n[[columns]]\nname = \"spend\"\ncuts = [5, 10, 15, 20]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	simulate := func(args ...string) []string { return append([]string{"collect", "simulate"}, args...) }
	states := func(name string) string { return filepath.Join("testdata", "states", name) }
	for _, one := range []struct {
		name string
		args []string
	}{
		{"histogram", simulate("--csv", people, "--column", "drink", "--epsilon", "1", "--delta", "1e-6")},
		{"crowds", simulate("--csv", people, "--column", "drink", "--crowd", "class", "--epsilon", "2", "--delta", "1e-6")},
		{"sets", simulate("--csv", people, "--column", "snacks", "--kind", "set", "--epsilon", "5")},
		{"numbers", simulate("--csv", people, "--column", "spend", "--kind", "buckets", "--buckets", "0,100,20", "--epsilon", "1")},
		{"density", simulate(few, "--label", "class", "--features", "likes_*", "--epsilon", "4", "--normalize")},
		{"learner", simulate(few, "--label", "class", "--features", "likes_*", "--learn", "--bits", "256", "--epsilon", "4", "--delta", "1e-5")},
		{"labels", simulate(records, "--label", "class", "--clusters", states("clusters3.json"), "--local-epsilon", "8")},
		{"vector", simulate(records, "--label", "class", "--encoder", states("directions4.json"), "--local-epsilon", "20")},
		{"tables", simulate("--csv", few, "--columns", columns, "--epsilon", "1", "--delta", "1e-6")},
		{"sums", simulate("--csv", few, "--column", "drink", "--epsilon", "1", "--route", "sum")},
		{"full", simulate("--csv", fewest, "--column", "age", "--kind", "buckets", "--buckets", "0,100,5", "--epsilon", "4", "--full")},
		{"own", []string{"release", "make", people, "--column", "drink", "--values", "tea,coffee,mate", "--people", "guests", "--as-of", "2026-11", "--epsilon", "1", "--ledger", filepath.Join(dir, "ledger")}},
		{"joint", []string{"release", "make", people, "--column", "drink", "--column", "class", "--values", "tea,coffee", "--values", "student,staff", "--joint", "--people", "guests", "--as-of", "2026-12", "--epsilon", "0.2", "--ledger", filepath.Join(dir, "ledger")}},
		{"mean", []string{"release", "make", people, "--column", "age", "--kind", "mean", "--bounds", "0,100", "--people", "guests", "--as-of", "2026-12", "--epsilon", "0.2", "--ledger", filepath.Join(dir, "ledger")}},
		{"open", []string{"release", "make", people, "--column", "drink", "--kind", "open", "--people", "guests", "--as-of", "2026-12", "--epsilon", "0.4", "--ledger", filepath.Join(dir, "ledger")}},
	} {
		command(t, append(one.args, "--out", filepath.Join(dir, one.name))...)
		names = append(names, one.name)
	}
	return dir, append(names, stepped(t, dir)...)
}

// opens are the bars that pages of learners open with: all three where somebody knows the records, none where nothing
// was tested, of which the page says so.
var opens = map[string]string{
	"density": "By chance,With privacy,Without", "learner": "By chance,With privacy,Without", "labels": "By chance,With privacy,Without",
	"vector": "By chance,With privacy,Without", "gradient": "By chance,With privacy", "untested": "",
}

// first are title, answer and picture of a release.
var first = []string{"h1", ".said", "section.first .rows, section.first .plot.narrow, section.first .headline, section.first .heat"}

// unfold opens all that folds: what is closed nobody looks at.
const unfold = `for (const e of document.querySelectorAll("details")) e.open = true; 0`

// A page of every kind that is mailed is read on a desk and on a phone, all folds open, on one of them light and on the
// other dark, and the next kind the other way round: nothing is wider than the screen and axe finds nothing. As it opens, the first screen of a phone holds title, answer and
// picture. The twins are found: text in a colour that cannot be read within a fold, and a note above a picture.
func TestMailedPagesAreRead(t *testing.T) {
	browser := webtest.Browser(t)
	dir, names := mailed(t)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/favicon.ico" {
			http.ServeFileFS(w, r, os.DirFS(dir), r.URL.Path[1:])
		}
	}))
	defer served.Close()
	for at, screen := range webtest.Screens {
		b := webtest.Open(t, browser, screen)
		for i, name := range names {
			b.Do(chromedp.Navigate(served.URL + "/" + name + "/" + page.PageFile))
			if screen.Phone {
				for _, fault := range b.Below(screen, first...) {
					t.Errorf("%s: %s, below the first screen of a phone", name, fault)
				}
			}
			if want, learns := opens[name]; learns {
				if bars := webtest.Ask(b, chromedp.Evaluate[string](`[...document.querySelectorAll("section.first .rows .name")].map(e => e.textContent).join()`)); bars != want {
					t.Errorf("%s opens with %s", name, bars)
				}
				if said := webtest.Ask(b, chromedp.Text(".said")); strings.Contains(said, "no public test records were given") != (want == "") {
					t.Errorf("%s says %q", name, said)
				}
			}
			b.Do(chromedp.Evaluate[chromedp.Void](unfold))
			dark := (i+at)%2 == 1
			b.Darken(t, dark)
			said := "mailed " + name + ", " + screen.Name
			if dark {
				said += ", dark"
			}
			b.Look(t, said)
		}
		b.Darken(t, false)
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".folds details p, .folds details dd").style.color = "#ccc"; 0`))
		if _, err := webtest.Axe(); err == nil && len(b.Axe(t)) == 0 {
			t.Error("text that cannot be read is not found")
		}
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".said").after(Object.assign(document.createElement("p"), {textContent: "A note. ".repeat(200)})); 0`))
		if found := b.Below(screen, first...); screen.Phone && len(found) != 1 {
			t.Errorf("of a page whose picture is pushed down it is found: %q", found)
		}
	}
}

// stepped makes the pages of a model's first step, whose directions a simulation does not draw by a command: with test
// records and without.
func stepped(t *testing.T, dir string) (names []string) {
	t.Helper()
	proto := example.Runnable(t, example.Design(t, example.Gradient("direction")))
	state, _, err := proto.Question.(question.Stepper).Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := proto.Plan
	p.State = plan.StateName(state)
	if proto, err = protocol.WithState(p, state); err != nil {
		t.Fatal(err)
	}
	var values distribution.Values
	tests := results.Records{X: blas32.General{Rows: 40, Cols: 3, Stride: 3}}
	for i := range 1200 {
		class := i % 2
		x := []float32{float32(2*class - 1), 1, float32(i%5) / 5}
		values = append(values, gradient.Labelled{Features: x, Class: class})
		if i < tests.X.Rows {
			tests.X.Data, tests.Y = append(tests.X.Data, x...), append(tests.Y, class)
		}
	}
	col, err := simulate.Law(proto, values, 1, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, public := range map[string]results.Public{"gradient": {Test: tests}, "untested": {}} {
		r, _, err := releasetest.Publish(proto, col.Crowds, public)
		if err != nil {
			t.Fatal(err)
		}
		r.Source, r.Created, r.Provenance = release.Simulation, time.Now(), release.Provenance{Software: "confetti test", Randomness: "seed 1"}
		if err := page.Save(filepath.Join(dir, name), r); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
