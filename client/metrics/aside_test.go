package metrics

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// aside returns what the state says to whoever writes calls down without this package.
func (d *device) aside() aside {
	d.t.Helper()
	s, err := load(d.store)
	if err != nil || s.Aside == nil {
		d.t.Fatalf("%v: nothing is said of calls that are written down", err)
	}
	return *s.Aside
}

// write puts calls where a page does.
func (d *device) write(of counted) {
	d.t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		d.t.Fatal(err)
	}
	unlock, err := d.store.Lock()
	if err != nil {
		d.t.Fatal(err)
	}
	defer unlock()
	if err := d.store.Replace(asideName, text); err != nil {
		d.t.Fatal(err)
	}
}

// paged returns the app of somebody who has agreed before the season and has drawn, as a page has it.
func (d *device) paged() (*App, season) {
	d.t.Helper()
	app := d.opened()
	app.Aside = true
	if err := app.Consent(true); err != nil {
		d.t.Fatal(err)
	}
	d.at = starts
	if _, err := app.Step(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return app, d.season()
}

// What may be written is of the drawn period alone, and the package is needed where its answer is due. The twin is
// somebody who has said no.
func TestWhatMayBeWrittenAside(t *testing.T) {
	for _, agrees := range []bool{true, false} {
		d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
		app, drawn := d.paged()
		if !agrees {
			if err := app.Consent(false); err != nil {
				t.Fatal(err)
			}
			if _, err := app.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		got := d.aside()
		if !agrees {
			if len(got.Windows) != 0 || !got.Next.IsZero() || got.Number < 2 {
				t.Errorf("after a no: %+v", got)
			}
			continue
		}
		from, until := asked("week", 12, drawn.Round)
		want := []window{{"week/12", from, until, []string{"export_used", "theme", "start_seconds"}}}
		if len(got.Windows) != 1 || !got.Windows[0].From.Equal(from) || !got.Windows[0].Until.Equal(until) || !slices.Equal(got.Windows[0].Metrics, want[0].Metrics) {
			t.Errorf("%+v may be written, want %+v", got.Windows, want)
		}
		if due := until.Add(drawn.Wait); got.Next.Before(due) || got.Next.After(due.Add(time.Second)) {
			t.Errorf("the package is needed at %v, and an answer is due at %v", got.Next, due)
		}
	}
}

// The package is needed when a season begins, since it is drawn then.
func TestThePackageIsNeededWhereASeasonBegins(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app := d.opened()
	app.Aside = true
	if err := app.Consent(true); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.aside(); len(got.Windows) != 0 || got.Next.Before(starts) || got.Next.After(starts.Add(time.Second)) {
		t.Errorf("%+v", got)
	}
}

// Calls that were written down come to what the same calls come to with the package, kind for kind, and what is
// no value of the metric to what it comes to there.
func TestWrittenCallsComeToTheSame(t *testing.T) {
	calls := map[string][]any{
		"export_used":   {1, 1, 3, -2, "often"},
		"theme":         {"dark", "light", "light", "solarized", "dark", 3},
		"start_seconds": {0.4, 2.5, 2.5, 1, "slow"},
		"exprt_used":    {1},
	}
	states := map[bool]map[string]value{}
	for _, written := range []bool{false, true} {
		d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
		app, drawn := d.paged()
		d.at, _ = asked("week", 12, drawn.Round)
		all := counted{Number: d.aside().Number, Calls: map[string]map[string][]run{"week/12": {}}}
		for name, values := range calls {
			var runs []run
			for _, v := range values {
				if n := len(runs); n > 0 && runs[n-1].Value == v {
					runs[n-1].Times++
				} else {
					runs = append(runs, run{v, 1})
				}
				if !written {
					_ = app.Record(name, v)
				}
			}
			all.Calls["week/12"][name] = runs
		}
		if written {
			d.write(all)
			d.at = d.at.AddDate(0, 0, 7) // taken as of their window, also after it
		}
		if err := app.keep(); err != nil {
			t.Fatal(err)
		}
		states[written] = d.season().Kept
	}
	direct, err := json.Marshal(states[false])
	if err != nil {
		t.Fatal(err)
	}
	aside, err := json.Marshal(states[true])
	if err != nil {
		t.Fatal(err)
	}
	if string(direct) != string(aside) || !strings.Contains(string(direct), `"export_used":{"n":5}`) || !strings.Contains(string(direct), `"theme":{"text":"dark"}`) {
		t.Errorf("%s directly, and %s aside", direct, aside)
	}
}

// A set keeps items in the order in which they came first, however they were written down.
func TestWrittenItemsKeepTheirOrder(t *testing.T) {
	s := series(t, 12, 12, items())
	d := newDevice(t, registry(t, 1, s))
	app := d.opened()
	app.Aside = true
	if err := app.Consent(true); err != nil {
		t.Fatal(err)
	}
	d.at = starts
	if _, err := app.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.write(counted{Number: d.aside().Number, Calls: map[string]map[string][]run{id(s, 12): {"languages": {{"rust", 2}, {"go", 1}, {"rust", 1}, {"cobol", 1}}}}})
	if err := app.keep(); err != nil {
		t.Fatal(err)
	}
	kept, err := load(d.store)
	if err != nil || !slices.Equal(kept.Seasons[id(s, 12)].Kept["languages"].Items, []string{"rust", "go", other}) {
		t.Errorf("%v: %+v", err, kept.Seasons[id(s, 12)])
	}
}

// leftover is a store that dies before it removes what was written down.
type leftover struct{ native.Folder }

// Remove implements client.Store.
func (l leftover) Remove(name string) error {
	if name == asideName {
		return errCrash
	}
	return l.Folder.Remove(name)
}

// What was taken once is not taken again where a crash left it, and what could not be taken is taken later.
func TestWrittenCallsAreTakenOnce(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, drawn := d.paged()
	d.at, _ = asked("week", 12, drawn.Round)
	number := d.aside().Number
	write := func(n int) {
		d.write(counted{Number: n, Calls: map[string]map[string][]run{"week/12": {"export_used": {{1, 4}}}}})
	}
	write(number)
	isFull := true
	app.options.Store = full{d.store, &isFull}
	if err := app.keep(); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	app.options.Store = leftover{d.store}
	for range 3 {
		if err := app.keep(); err != nil {
			t.Fatal(err)
		}
	}
	if kept := d.season().Kept["export_used"]; kept.N != 4 {
		t.Errorf("of 4 calls that were written down the device keeps %v", kept.N)
	}
	if _, err := d.store.Load(asideName); err != nil {
		t.Fatalf("the crash left nothing: %v", err)
	}
	app.options.Store = d.store
	write(d.aside().Number)
	if err := app.keep(); err != nil {
		t.Fatal(err)
	}
	if kept := d.season().Kept["export_used"]; kept.N != 8 || d.aside().Number != number+2 {
		t.Errorf("of 8 calls the device keeps %v, and %d comes after %d", kept.N, d.aside().Number, number)
	}
	if _, err := d.store.Load(asideName); err == nil {
		t.Error("what was taken lies there still")
	}
}

// A no destroys what was written down, and so does the end of a metric; what was answered is not counted any more.
func TestANoDestroysWhatWasWritten(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, drawn := d.paged()
	d.at, _ = asked("week", 12, drawn.Round)
	d.write(counted{Number: d.aside().Number, Calls: map[string]map[string][]run{"week/12": {"theme": {{"dark", 1}}}}})
	if err := app.Consent(false); err != nil {
		t.Fatal(err)
	}
	if _, err := d.store.Load(asideName); err == nil {
		t.Error("after a no there is what was written down")
	}
	if _, err := app.Step(t.Context()); err != nil || d.season().Kept != nil {
		t.Errorf("%v: after a no the device keeps %+v", err, d.season().Kept)
	}
}

// A device whose calls were written down answers what they come to, once, and drops both.
func TestWrittenCallsAreAnswered(t *testing.T) {
	s := series(t, 12, 12, kinds()...)
	for _, point := range append(slices.Clone(client.Failpoints), "metrics-answered", "") {
		d := newDevice(t, registry(t, 1, s))
		app, drawn := d.paged()
		d.write(counted{Number: d.aside().Number, Calls: map[string]map[string][]run{"week/12": {"theme": {{"dark", 1}}}}})
		d.asks(s, drawn)
		d.fail = point
		_, _ = app.Step(t.Context())
		d.fail = ""
		app = d.opened()
		app.Aside = true
		for range 2 {
			d.at = d.at.Add(2 * time.Hour)
			if _, err := app.Step(t.Context()); err != nil {
				t.Fatalf("%s: %v", point, err)
			}
		}
		l, err := client.ReadLedger(d.store)
		if err != nil || len(l.Entries) != 1 || len(d.came) != 1 || !d.season().Over || d.season().Kept != nil {
			t.Errorf("%s: %v: %d answers, %d came, %+v", point, err, len(l.Entries), len(d.came), d.season())
		}
		if got := d.aside(); len(got.Windows) != 0 || !got.Next.IsZero() {
			t.Errorf("%s: after its answer the device may write %+v", point, got)
		}
	}
}

func FuzzAside(f *testing.F) {
	f.Add([]byte(`{"number":1,"calls":{"week/12":{"theme":[{"value":"dark","times":2}],"export_used":[{"value":1,"times":3}]}}}`))
	f.Add([]byte(`{"number":1,"calls":{"week/12":null}}`))
	s := series(f, 12, 12, kinds()...)
	r := Registry{App: "editor", Version: 1, Metrics: listed(s), Series: []Series{s}}
	all := map[string]Metric{}
	for _, m := range r.Metrics {
		all[m.Name] = m
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		store := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
		unlock, err := store.Lock()
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if err := store.Replace(asideName, text); err != nil {
			t.Fatal(err)
		}
		kept := &state{Agreed: map[string]agreement{}, Seasons: map[string]*season{"week/12": {Study: s.study(12), Round: 1}}, Aside: &aside{Number: 1}}
		kept.agree(all, starts.Add(-time.Hour))
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if err := kept.fold(store, r, all); err != nil {
				t.Error(err)
			}
		})
		if n := kept.Seasons["week/12"].Kept["export_used"].N; n < 0 || n > 1<<31 {
			t.Errorf("%v calls", n)
		}
	})
}

// Steps that were written down with their times, and arms that were shown, come to what they come to with the package. The twin is
// a device on which nothing of it was written.
func TestWrittenStepsAndArmsComeToTheSame(t *testing.T) {
	one := Metric{Every: "week", Why: "Whether it is worth it", Owner: "ada@example.org", Ends: "2027-06-30"}
	funnel, welcome := one, one
	funnel.Name, funnel.Kind, funnel.Steps, funnel.Within = "funnel", "sequence", []string{"opened", "previewed", "exported"}, "2d"
	welcome.Name, welcome.Kind, welcome.Arms, welcome.Outcomes = "welcome", "experiment", []string{"old", "new"}, []string{"nothing", "stayed", "paid"}
	s := series(t, 12, 12, funnel, welcome)
	for _, how := range []string{"directly", "written", "nothing"} {
		d := newDevice(t, registry(t, 1, s))
		d.at = starts.AddDate(0, 0, -3) // in time for what begins before the first week
		app := d.opened()
		app.Aside = true
		if err := app.Consent(true); err != nil {
			t.Fatal(err)
		}
		d.at = starts
		if _, err := app.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		from, _ := asked("week", 12, d.season().Round)
		may := d.aside()
		if i := slices.IndexFunc(may.Steps, func(w window) bool {
			return w.From.Equal(from.Add(-48*time.Hour)) && w.Until.Equal(from.AddDate(0, 0, 7))
		}); i < 0 || !slices.Equal(may.Unshown, []string{"welcome"}) || !slices.Contains(welcome.Arms, may.Arms["welcome"]) {
			t.Fatalf("%+v may be written", may)
		}
		steps := []timed{{"opened", from.Add(time.Hour)}, {"exported", from.Add(2 * time.Hour)}, {"previewed", from.Add(3 * time.Hour)}, {"exported", from.Add(72 * time.Hour)}}
		switch how {
		case "directly":
			for _, one := range steps {
				d.at = one.At
				if err := app.Record("funnel", one.Value); err != nil {
					t.Fatal(err)
				}
			}
			d.at = from.Add(time.Hour)
			if arm, err := app.Arm("welcome"); err != nil || arm != may.Arms["welcome"] {
				t.Fatal(arm, err)
			}
			if err := app.keep(); err != nil {
				t.Fatal(err)
			}
			if err := app.Record("welcome", "stayed"); err != nil {
				t.Fatal(err)
			}
		case "written":
			d.write(counted{Number: may.Number, Calls: map[string]map[string][]run{"week/12": {"welcome": {{"stayed", 1}}}}, Steps: map[string][]timed{"funnel": steps}, Shown: map[string]time.Time{"welcome": from.Add(time.Hour)}})
			d.at = from.Add(100 * time.Hour)
		}
		if err := app.keep(); err != nil {
			t.Fatal(err)
		}
		after, err := load(d.store)
		if err != nil {
			t.Fatal(err)
		}
		kept, shown := after.Seasons["week/12"].Kept, after.Arms["welcome"]
		want := how != "nothing"
		if (kept["funnel"].N == 2) != want || (kept["welcome"].Text == "stayed") != want || shown.Since.Equal(from.Add(time.Hour)) != want {
			t.Errorf("%s: the device keeps %+v, and the arm %+v", how, kept, shown)
		}
	}
	// Who was shown the first arm without a draw says none for good.
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, _ := d.paged()
	d.text = registry(t, 2, s)
	app = &App{Registry: d.text, Publishers: app.Publishers, Aside: true}
	if err := app.Open(d.options()); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Step(t.Context()); err == nil {
		t.Fatal("another study of the season is taken")
	}
	d.write(counted{Number: d.aside().Number, First: map[string]bool{"welcome": true}})
	if err := app.Consent(true); err != nil {
		t.Fatal(err)
	}
	if kept, err := load(d.store); err != nil || kept.Arms["welcome"].Arm != "" {
		t.Errorf("%v: %+v", err, kept.Arms)
	}
}

// Everything that is refused has its code, as the page for pages lists them and as TypeScript has them.
func TestRefusalsHaveTheirCodes(t *testing.T) {
	found := map[string]bool{}
	refuses := func(err error, want string) {
		t.Helper()
		r, is := errors.AsType[interface {
			error
			Code() string
		}](err)
		if !is || r.Code() != want {
			t.Errorf("%v: want the code %q", err, want)
		}
		found[want] = true
	}
	s := series(t, 12, 12, kinds()...)
	d := newDevice(t, registry(t, 2, s))
	app, drawn := d.paged()
	refuses(app.Record("exprt_used", 1), "unknown-metric")
	refuses(app.Record("theme", 1), "wrong-type")
	refuses(app.Record("theme", []byte("dark")), "wrong-type")
	refuses(app.Record("theme", "solarized"), "outside-domain")
	refuses(app.Record("export_used", -1), "outside-domain")
	d.at = starts.Add(-2 * time.Hour)
	_, err := app.Step(t.Context())
	refuses(err, "clock-back")
	opens := func(text []byte) error {
		d.text = text
		_, err := d.open()
		return err
	}
	refuses(opens(registry(t, 1, s)), "rolled-back")
	refuses(opens([]byte("{}{")), "registry")
	refuses(opens([]byte(strings.Replace(string(registry(t, 2, s)), "2027-06-30", "2027-06-29", 1))), "registry")
	player, err := Registry{App: "player", Version: 9, Metrics: listed(s), Series: []Series{s}}.Sign(publisher)
	if err != nil {
		t.Fatal(err)
	}
	refuses(opens(player), "other-app")
	another := series(t, 12, 12, kinds()[:2]...)
	d.text = registry(t, 3, another)
	app = d.opened()
	d.asks(another, drawn)
	_, err = app.Step(t.Context())
	refuses(err, "other-study")
	for file, expression := range map[string]string{"../../docs/browsers.md": "(?m)^\\| `([a-z-]+)` \\|", "../../web/client/metrics.js": `(?m)^ \* \| "([a-z-]+)"`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for _, m := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
			listed = append(listed, string(m[1]))
		}
		slices.Sort(listed)
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, listed) {
			t.Errorf("%s lists %q, and %q were found", file, listed, got)
		}
	}
}
