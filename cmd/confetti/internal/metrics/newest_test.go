package metrics

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// published writes the release of a season's first round as confetti study fetch does: of 80 people, of whom so many are dark.
func (x *team) published(file string, dark int) (folder string) {
	x.t.Helper()
	signed, err := plan.ReadSigned(file)
	x.must(err)
	proto, err := protocol.New(signed.Plan)
	x.must(err)
	var people []question.Value
	for i := range 80 {
		said := "light"
		if i < dark {
			said = "dark"
		}
		people = append(people, histogram.Answers{Values: []any{said}})
	}
	tallies, err := distribution.Draw(proto, distribution.Values(people), example.Streams(3), func(int) {})
	x.must(err)
	r, model, err := analyzer.Publish(proto, tallies, results.Public{})
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
