package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// published writes the release of a season's first round as confetti study fetch does: of 80 people, of whom so many are dark.
func (x *team) published(file string, dark int) (folder string) {
	return x.publishedOf(file, 80, func(i int) []any { return []any{map[bool]string{true: "dark", false: "light"}[i < dark]} })
}

// publishedOf is published of so many people, each with values for all that is asked.
func (x *team) publishedOf(file string, n int, says func(i int) []any) (folder string) {
	x.t.Helper()
	signed, err := plan.ReadSigned(file)
	x.must(err)
	proto, err := protocol.New(signed.Plan)
	x.must(err)
	var people []question.Value
	for i := range n {
		people = append(people, histogram.Answers{Values: says(i)})
	}
	tallies, err := distribution.Draw(proto, distribution.Values(people), example.Streams(3), func(int) {})
	x.must(err)
	r, model, err := releasetest.Publish(proto, tallies, results.Public{})
	x.must(err)
	r.Created, r.Provenance = time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC), release.Provenance{Software: "test", Randomness: "fresh randomness"}
	sheet, err := results.Beside(model, results.Public{})
	x.must(err)
	var text bytes.Buffer
	x.must(r.WriteJSON(&text))
	folder = filepath.Join(x.t.TempDir(), "season")
	round := filepath.Join(folder, "round-1")
	x.must(errors.Join(os.MkdirAll(round, 0o755), os.WriteFile(filepath.Join(round, "plan.signed.json"), signed.Marshal(), 0o644),
		os.WriteFile(filepath.Join(round, "release.json"), text.Bytes(), 0o644), os.WriteFile(filepath.Join(round, sheet.File), sheet.Text, 0o644)))
	return folder
}

// The page has the newest numbers of its own seasons, and none of somebody else's.
func TestThePageHasTheNewestNumbers(t *testing.T) {
	x := founded(t, 1, day(t, "2026-12-01"))
	x.reviewed(week)
	seasons := x.sign(2).Seasons
	first, second := x.published(seasons[0].File, 70), x.published(seasons[1].File, 10)
	write := func(trends ...string) (string, error) {
		out := x.path("dictionary.html")
		if err := (page{asked: x.asked(), Out: out, Trends: trends}).Run(terminal.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
			return "", err
		}
		text, err := os.ReadFile(out)
		x.must(err)
		return string(text), nil
	}
	plain, err := write()
	if err != nil || strings.Contains(plain, `class="result"`) || strings.Contains(plain, "Numbers are ranges") {
		t.Errorf("%v: there are numbers that nobody asked for", err)
	}
	one, err := write(first)
	if err != nil || !strings.Contains(one, "of 100 people who answered, dark: ") || !strings.Contains(one, "Numbers are ranges") {
		t.Fatalf("%v: %s", err, one)
	}
	for _, order := range [][]string{{first, second}, {second, first}} {
		both, err := write(order...)
		if err != nil || !strings.Contains(both, "of 100 people who answered, light: ") || strings.Count(both, `class="result"`) != 1 {
			t.Errorf("the newest season is not the one that is shown: %v", err)
		}
	}
	other := founded(t, 1, day(t, "2026-12-01"))
	other.reviewed(week)
	if _, err := write(other.published(other.sign(1).Seasons[0].File, 70)); err == nil || !strings.Contains(err.Error(), "that this registry did not sign") {
		t.Errorf("somebody else's numbers are shown: %v", err)
	}
	if _, err := write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no release of a round") {
		t.Errorf("an empty folder: %v", err)
	}
}

// An experiment has its lift on the page: a sentence of what is sure, and each comparison with its interval. Where people did not
// fall into the arms evenly it has none, and the reason.
func TestThePageHasLifts(t *testing.T) {
	x := founded(t, 1, day(t, "2026-12-01"))
	x.reviewed(week + derived)
	season := x.sign(1).Seasons[0].File
	signed, err := plan.ReadSigned(season)
	x.must(err)
	asks := signed.Plan.Question.Histogram.Attributes
	release := func(arms int) string { // one of so many people has the first arm
		return x.publishedOf(season, 6000, func(i int) (said []any) {
			for _, a := range asks {
				switch a.Name {
				case "new_welcome":
					arm, paid := a.Arms[min(1, i%arms)], a.Outcomes[0]
					if i/arms%10 < 2+5*min(1, i%arms) {
						paid = a.Outcomes[1]
					}
					said = append(said, arm+" / "+paid)
				default:
					said = append(said, a.Values[0])
				}
			}
			return said
		})
	}
	write := func(folder string) string {
		out := x.path("dictionary.html")
		x.must(page{asked: x.asked(), Out: out, Trends: []string{folder}}.Run(terminal.Streams{Out: io.Discard, Err: io.Discard}))
		text, err := os.ReadFile(out)
		x.must(err)
		return html.UnescapeString(string(text))
	}
	text := write(release(2))
	said := regexp.MustCompile(`“new” surely had more “paid” than “old”: by ([\d.]+) to ([\d.]+) points in round 1\.`).FindStringSubmatch(text)
	if said == nil {
		t.Fatalf("the page does not say the lift: %s", text)
	}
	low, high := number(t, said[1]), number(t, said[2])
	if low > 50 || high < 50 || !strings.Contains(text, fmt.Sprintf("new: paid: +%s to +%s points (best guess +", said[1], said[2])) || strings.Count(text, `class="alike"`) != 1 || !strings.Contains(text, "people of both arms are alike") {
		t.Errorf("50 points are lifted, and the page says %q: %s", said[0], text)
	}
	t.Run("in a browser", func(t *testing.T) {
		b := webtest.Open(t, webtest.Browser(t), webtest.Phone)
		b.Do(chromedp.Navigate("file://" + x.path("dictionary.html")))
		b.LookOnAll(t, "dictionary with a lift")
	})
	uneven := write(release(3))
	if !strings.Contains(uneven, "No round tells a lift.") || !strings.Contains(uneven, "did not fall into the arms evenly") || strings.Contains(uneven, `class="alike"`) {
		t.Errorf("arms were uneven: %s", uneven)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
