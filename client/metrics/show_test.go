package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// bytesOf returns every byte of a device's folder.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a device shows is what it keeps and what it said, and looking changes nothing: an answer that is drawn to be shown would differ
// in some of many looks.
func TestShowDrawsNothing(t *testing.T) {
	s := series(t, 12, 12, append(kinds(), derived()...)...)
	d := newDevice(t, registry(t, 1, s))
	r, err := Parse(d.text, plan.Trust(public(publisher)))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := Show(d.store, r, d.at); err != nil || len(all) != 0 {
		t.Fatalf("%v: before a yes it shows %+v", err, all)
	}
	d.at = starts.AddDate(0, 0, -20)
	app, drawn := d.agreed()
	from, until := asked("week", 12, drawn.Round)
	look := func(status string) Shown {
		t.Helper()
		before := bytesOf(t, d.store.Path)
		first, err := Show(d.store, r, d.at)
		if err != nil || len(first) != 1 || first[0].Status != status || !first[0].From.Equal(from) || !first[0].Until.Equal(until) {
			t.Fatalf("%v: want %q: %+v", err, status, first)
		}
		for range 200 {
			if again, err := Show(d.store, r, d.at); err != nil || !reflect.DeepEqual(again, first) {
				t.Fatalf("%v: it shows %+v, and then %+v", err, first, again)
			}
		}
		if after := bytesOf(t, d.store.Path); !reflect.DeepEqual(before, after) {
			t.Fatal("a look changed the folder")
		}
		return first[0]
	}
	if drawn.Round > 1 {
		look("comes")
	}
	d.at = from.Add(time.Hour)
	if err := errors.Join(app.Record("theme", "dark"), app.Record("start_seconds", 2.0), app.keep()); err != nil {
		t.Fatal(err)
	}
	shown := look("counts")
	e := math.Exp(s.Study.Plan.Question.Histogram.Randomizer.Epsilon)
	want := map[string]string{"export_used": "0", "theme": "dark", "start_seconds": "1 and more", "export_funnel": none, "retention": none, "start_by_theme": "1 and more / dark", "welcome": none}
	for i, k := range shown.Kept {
		if k.Value != want[k.Metric] {
			t.Errorf("%s is shown as %q, want %q", k.Metric, k.Value, want[k.Metric])
		}
		// As it is, or at random: so one value is e^epsilon times as likely where it is held as where it is not.
		cells := s.Study.Plan.Question.Histogram.Attributes[i].Domain()
		p := (e - 1) / (e + float64(cells) - 1)
		if ratio := (p + (1-p)/float64(cells)) / ((1 - p) / float64(cells)); math.Abs(ratio/e-1) > 1e-9 {
			t.Fatalf("the law of %s has a ratio of %v, want %v", k.Metric, ratio, e)
		}
		if words := fmt.Sprintf("one of 7 metrics is drawn; if this one, then as it is with probability %.3g, otherwise one of %d at random", p, cells); k.Told != words {
			t.Errorf("%s is told %q, want %q", k.Metric, k.Told, words)
		}
	}
	if len(shown.Kept) != len(want) || shown.Said != "" {
		t.Errorf("%+v", shown)
	}
	d.at = until
	look("waits")
	d.asks(s, drawn)
	if _, err := app.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown := look("said"); shown.Said == "" || len(shown.Kept) != 0 {
		t.Errorf("%+v", shown)
	}
	// A season that nobody answered in time is silent.
	d = newDevice(t, registry(t, 1, s))
	_, drawn = d.agreed()
	from, until = asked("week", 12, drawn.Round)
	d.at = Times("week", 12).Closes
	look("silent")
}

// What is a plan by itself has words for its law too.
func TestTheLawOfWhatIsAlone(t *testing.T) {
	m := items()
	for said, want := range map[string]any{"none of them": []string{}, "go, rust": []string{"go", "rust"}} {
		if got := words(want, m); got != said {
			t.Errorf("%q, want %q", got, said)
		}
	}
	for _, c := range []struct {
		metric Metric
		want   string
	}{
		{m, "each with probability "},
		{Metric{Name: "plugin", Kind: "string", Alphabet: "abcdefghijklmnopqrstuvwxyz-", Longest: 12, Every: "week", Why: "Which one breaks", Owner: "cy@example.org", Ends: "2027-06-30"}, "with noise: "},
	} {
		got, err := laws(series(t, 12, 12, c.metric).Study.Plan, 1)
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%v: %q", err, got)
		}
	}
}
