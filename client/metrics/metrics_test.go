package metrics

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	_ "github.com/confetti-dp/confetti/question/histogram"
	_ "github.com/confetti-dp/confetti/question/strings"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	os.Exit(m.Run())
}

var (
	publisher   = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	stranger    = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	coordinator = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
	releases    = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{4}, ed25519.SeedSize))

	// begins is when season 12 of weeks does.
	starts = time.Date(2026, 12, 7, 0, 0, 0, 0, time.UTC)
)

func public(key ed25519.PrivateKey) string {
	return plan.Publisher(key.Public().(ed25519.PublicKey))
}

// kinds are metrics of all kinds that stand beside others.
func kinds() []Metric {
	one := Metric{Every: "week", Why: "Whether it is worth it", Owner: "ada@example.org", Ends: "2027-06-30"}
	counter, category, number := one, one, one
	counter.Name, counter.Kind, counter.Edges = "export_used", "counter", []float64{1, 2, 5, 10}
	category.Name, category.Kind, category.Values = "theme", "category", []string{"light", "dark"}
	number.Name, number.Kind, number.Edges, number.Keep = "start_seconds", "number", []float64{0.5, 1}, "highest"
	return []Metric{counter, category, number}
}

func items() Metric {
	return Metric{Name: "languages", Kind: "set", Values: []string{"go", "rust", "python"}, Most: 2, Every: "week", Why: "Which to keep", Owner: "bo@example.org", Ends: "2027-06-30"}
}

var designed sync.Map

// series returns one of some seasons, whose keys open nothing.
func series(t testing.TB, from, until int, all ...Metric) Series {
	t.Helper()
	minimum := 40
	if all[0].Kind == "string" {
		minimum = 5000
	}
	return seriesAt(t, 5, minimum, from, until, all...)
}

// seriesAt is series at an epsilon, of so many people a round.
func seriesAt(t testing.TB, epsilon float64, minimum, from, until int, all ...Metric) Series {
	t.Helper()
	key, err := envelope.GenerateKey("x25519")
	if err != nil {
		t.Fatal(err)
	}
	known, there := designed.Load(fmt.Sprint(all, epsilon))
	if !there {
		p, err := design.Fill(plan.Plan{
			Version: plan.Version, Title: "editor, each week", Question: Question(all),
			Budget:    plan.Budget{Epsilon: epsilon, Delta: epsilon * 2e-5, Adjacency: "replacement", DishonestShare: 0.1},
			Crowd:     plan.Crowd{Minimum: minimum},
			Envelopes: plan.Envelopes{Suite: "x25519"},
			Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "North", Key: key.Public().String(), URL: "https://hop.test"}}}}}},
			Analyzer:  plan.Party{Operator: "Research", Key: key.Public().String(), URL: "https://analyzer.test", Releases: public(releases)},
		})
		if err != nil {
			t.Fatal(err)
		}
		known = p
		designed.Store(fmt.Sprint(all, epsilon), p)
	}
	return Series{From: from, Until: until, Metrics: all, Study: plan.Study{
		Version: plan.StudyVersion, Plan: known.(plan.Plan), Rounds: Rounds(all[0].Every), Takes: plan.TakesOne, Withheld: plan.WithheldRepeats, Merged: true, Coordinator: public(coordinator),
	}}
}

// listed returns all metrics of series.
func listed(all ...Series) (of []Metric) {
	for _, s := range all {
		of = append(of, s.Metrics...)
	}
	slices.SortFunc(of, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return of
}

// registry returns the text of one.
func registry(t testing.TB, version int, all ...Series) []byte {
	t.Helper()
	text, err := Registry{App: "editor", Version: version, Metrics: listed(all...), Series: all}.Sign(publisher)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// device is an app on a disk, with a clock that is set, and services that take what comes.
type device struct {
	t     testing.TB
	text  []byte
	store native.Folder
	at    time.Time
	fail  string // the failpoint at which everything ends
	round plan.Signed

	mu   sync.Mutex
	came map[string]int // contributions, by path
}

var errCrash = errors.New("a crash")

func newDevice(t testing.TB, text []byte) *device {
	return &device{t: t, text: text, store: native.Folder{Path: filepath.Join(t.TempDir(), "device")}, at: starts.Add(-time.Hour), came: map[string]int{}}
}

func (d *device) options() client.Options {
	return client.Options{Store: d.store, Transport: d, Delay: client.NoDelay, Bearer: "somebody", Now: func() time.Time { return d.at }, Failpoint: func(name string) error {
		if name == d.fail {
			return errCrash
		}
		return nil
	}}
}

// Do implements client.Transport.
func (d *device) Do(_ context.Context, r client.Request) (client.Response, error) {
	if strings.HasPrefix(r.URL, "https://analyzer.test/v1/studies/") {
		return client.Response{Status: http.StatusOK, Body: io.NopCloser(bytes.NewReader(d.round.Marshal()))}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.came[r.URL]++
	return client.Response{Status: http.StatusCreated, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// open returns the app, or why there is none.
func (d *device) open() (*App, error) {
	app := &App{Registry: d.text, Publishers: []string{public(publisher)}}
	return app, app.Open(d.options())
}

func (d *device) opened() *App {
	d.t.Helper()
	app, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	return app
}

// agreed returns the app of somebody who has agreed before the season, and has drawn.
func (d *device) agreed() (*App, season) {
	d.t.Helper()
	app := d.opened()
	if err := app.Consent(true); err != nil {
		d.t.Fatal(err)
	}
	d.at = starts
	if _, err := app.Step(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return app, d.season()
}

func (d *device) season() season {
	d.t.Helper()
	s, err := load(d.store)
	if err != nil {
		d.t.Fatal(err)
	}
	if s.Seasons["week/12"] == nil {
		d.t.Fatal("the season was not drawn")
	}
	return *s.Seasons["week/12"]
}

// asks makes the round that the device drew the newest, and its clock as late as its answer is due.
func (d *device) asks(s Series, drawn season) {
	d.t.Helper()
	from, until := asked("week", 12, drawn.Round)
	_ = from
	var err error
	study := plan.SignStudy(s.Of(12), publisher)
	if d.round, err = study.Round(drawn.Round, "", plan.Times{Opens: until, Closes: until.AddDate(0, 0, 7)}, coordinator); err != nil {
		d.t.Fatal(err)
	}
	d.at = until.Add(drawn.Wait)
}

func TestTheCalendar(t *testing.T) {
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		every                     string
		season, round             int
		from, until, opens, after time.Time
	}{
		{"week", 0, 1, day(2026, 1, 5), day(2026, 1, 12), day(2026, 1, 12), day(2026, 2, 16)},
		{"week", 12, 4, day(2026, 12, 28), day(2027, 1, 4), day(2026, 12, 14), day(2027, 1, 18)},
		{"day", 1, 28, day(2026, 3, 1), day(2026, 3, 2), day(2026, 2, 3), day(2026, 3, 4)},
		{"month", 3, 1, day(2026, 10, 1), day(2026, 11, 1), day(2026, 11, 1), day(2027, 3, 1)},
		{"month", 4, 2, day(2027, 2, 1), day(2027, 3, 1), day(2027, 2, 1), day(2027, 6, 1)},
	} {
		from, until := asked(c.every, c.season, c.round)
		if times := Times(c.every, c.season); !from.Equal(c.from) || !until.Equal(c.until) || !times.Opens.Equal(c.opens) || !times.Closes.Equal(c.after) {
			t.Errorf("%s, season %d, round %d: %v to %v, %v", c.every, c.season, c.round, from, until, times)
		}
		begins, _ := asked(c.every, c.season, 1)
		if got := Next(c.every, begins.Add(-time.Second)); got != c.season {
			t.Errorf("%s: season %d is next before %v, want %d", c.every, got, begins, c.season)
		}
		// A clock of another time zone shows the same periods.
		if got := Next(c.every, begins.Add(-time.Second).In(time.FixedZone("", 14*3600))); got != c.season {
			t.Errorf("%s: season %d is next in another time zone, want %d", c.every, got, c.season)
		}
		if got := Next(c.every, begins); got != c.season+1 {
			t.Errorf("%s: season %d is next at %v, want %d", c.every, got, begins, c.season+1)
		}
	}
}

// Each whole number has a cell, whose words say so.
func TestCellsOfNumbers(t *testing.T) {
	m := kinds()[0]
	want := []string{"0", "1", "2-4", "2-4", "2-4", "5-9", "5-9", "5-9", "5-9", "5-9", "10 and more", "10 and more"}
	for n, cell := range want {
		if got := m.answer(value{N: float64(n)}, n > 0, true); got != cell {
			t.Errorf("%d times is said as %q, want %q", n, got, cell)
		}
	}
	if got := m.answer(value{N: 3}, true, false); got != unset {
		t.Errorf("a part of a period is said as %q", got)
	}
	if !slices.Equal(m.Cells(), []string{"0", "1", "2-4", "5-9", "10 and more", unset}) {
		t.Errorf("%q", m.Cells())
	}
	number := kinds()[2]
	for x, cell := range map[float64]string{-1: "below 0.5", 0.4999: "below 0.5", 0.5: "0.5 to 1", 1: "1 and more", 1e300: "1 and more"} {
		if got := number.answer(value{N: x}, true, true); got != cell {
			t.Errorf("%v is said as %q, want %q", x, got, cell)
		}
	}
	if got := number.answer(value{}, false, true); got != unset {
		t.Errorf("no number is said as %q", got)
	}
}

func TestWhatIsKeptOfAPeriod(t *testing.T) {
	all := kinds()
	add := func(m Metric, values ...value) (kept value) {
		for _, v := range values {
			v, _ = m.fits(v)
			kept = m.add(kept, v)
		}
		return kept
	}
	if got := add(all[0], value{N: 2}, value{N: 3}); got.N != 5 {
		t.Errorf("2 and 3 times are %v", got.N)
	}
	if got := add(all[1], value{Text: "dark"}, value{Text: "light"}); got.Text != "light" {
		t.Errorf("the last theme is %q", got.Text)
	}
	for keep, want := range map[string]float64{"last": 1, "highest": 3, "lowest": 0.5} {
		m := all[2]
		m.Keep = keep
		if got := add(m, value{N: 2}, value{N: 3}, value{N: 0.5}, value{N: 1}); got.N != want {
			t.Errorf("the %s number is %v, want %v", keep, got.N, want)
		}
	}
	m := items()
	got := add(m, value{Text: "rust"}, value{Text: "go"}, value{Text: "rust"}, value{Text: "cobol"})
	if said := m.answer(got, true, true); !slices.Equal(got.Items, []string{"rust", "go", other}) || !slices.Equal(said.([]string), []string{"rust", "go"}) {
		t.Errorf("%q, said as %q", got.Items, said)
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, append(kinds(), derived()...)...), series(t, 12, 12, items())))
	app := d.opened()
	for name, c := range map[string]struct {
		metric string
		v      any
		want   string
	}{
		"unknown":         {"exprt_used", 1, `"exprt_used" is no metric of editor`},
		"a text":          {"export_used", "often", "export_used is a counter, and takes no value of this type"},
		"a fraction":      {"export_used", 1.5, "export_used is a counter"},
		"a number":        {"theme", 2, "theme is a category"},
		"no value":        {"theme", []byte("dark"), "a []uint8 is no value"},
		"not listed":      {"theme", "solarized", "theme lists 2 values, and this is none of them"},
		"item not listed": {"languages", "cobol", "languages lists 3 values"},
		"no step":         {"export_funnel", "closed", "export_funnel has 3 steps, and this is none of them: it is not kept"},
		"a step's number": {"export_funnel", 1, "export_funnel is a sequence, and takes no value of this type"},
		"no outcome":      {"welcome", "left", "welcome has 3 outcomes, and this is none of them: it is not kept"},
		"a table's value": {"start_by_theme", "dark", "start_by_theme is a table, and takes no value of this type"},
		"down":            {"export_used", -1, "export_used counts from 0 up"},
		"not finite":      {"start_seconds", math.NaN(), "start_seconds takes finite numbers"},
	} {
		err := app.Record(c.metric, c.v)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if text, is := c.v.(string); is && err != nil && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error shows the value: %v", name, err)
		}
	}
	for metric, v := range map[string]any{"export_used": 2, "theme": "dark", "start_seconds": 1.5, "languages": "go", "export_funnel": "opened", "welcome": "paid"} {
		if err := app.Record(metric, v); err != nil {
			t.Error(err)
		}
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	if err := app.Record("theme", "dark"); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func TestARegistryIsItsPublishersAndTheNewest(t *testing.T) {
	s := series(t, 12, 12, kinds()...)
	refused := func(what, want string, text []byte, d *device) {
		t.Helper()
		d.text = text
		if _, err := d.open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	d := newDevice(t, registry(t, 2, s))
	if err := d.opened().Consent(true); err != nil {
		t.Fatal(err)
	}
	refused("rolled back", "rolled back", registry(t, 1, s), d)
	strangers, err := Registry{App: "editor", Version: 3, Metrics: listed(s), Series: []Series{s}}.Sign(stranger)
	if err != nil {
		t.Fatal(err)
	}
	refused("of a stranger", "is a stranger's", strangers, d)
	refused("changed", "was changed after its publisher signed it", bytes.ReplaceAll(registry(t, 3, s), []byte(`"ada@example.org"`), []byte(`"eve@example.org"`)), d)
	refused("cut", "not a registry", registry(t, 3, s)[:100], d)
	another, err := Registry{App: "player", Version: 9, Metrics: listed(s), Series: []Series{s}}.Sign(publisher)
	if err != nil {
		t.Fatal(err)
	}
	refused("of another app", `the store is of the app "editor", and this is "player"`, another, d)
	d.text = registry(t, 2, s)
	d.opened() // nothing of these was taken
}

// What is asked follows from what is listed: each departure of a study is refused.
func TestAStudyAsksWhatItsMetricsSay(t *testing.T) {
	for name, change := range map[string]func(*Series){
		"a value more":   func(s *Series) { s.Metrics[1].Values = []string{"light"} },
		"a metric less":  func(s *Series) { s.Metrics = s.Metrics[:2] },
		"another name":   func(s *Series) { s.Metrics[0].Name = "clicks" },
		"all rounds":     func(s *Series) { s.Study.Takes, s.Study.Merged = plan.TakesAll, false },
		"more rounds":    func(s *Series) { s.Study.Rounds = 5 },
		"removal":        func(s *Series) { s.Study.Plan.Budget.Adjacency = "removal" },
		"crowds":         func(s *Series) { s.Study.Plan.Crowd.Names = []string{"a", "b"} },
		"beside a set":   func(s *Series) { s.Metrics = append(s.Metrics, items()) },
		"another period": func(s *Series) { s.Metrics[0].Every = "day" },
		"no end":         func(s *Series) { s.Metrics[0].Ends = "" },
		"no reason":      func(s *Series) { s.Metrics[0].Why = " " },
	} {
		s := series(t, 12, 12, kinds()...)
		change(&s)
		if err := (Registry{App: "editor", Version: 1, Series: []Series{s}}).Validate(); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
	s := series(t, 12, 13, kinds()...)
	if err := (Registry{App: "editor", Version: 1, Series: []Series{s, s}}).Validate(); err == nil {
		t.Error("a season is asked twice")
	}
	if err := (Registry{App: "editor", Version: 1, Series: []Series{s, series(t, 14, 14, kinds()...), series(t, 12, 12, items())}}).Validate(); err != nil {
		t.Error(err)
	}
}

// A plan says which of an experiment's values are arms. One of an earlier registry, which does not, stays what it was.
func TestAStudySaysItsArms(t *testing.T) {
	welcome := kinds()[0]
	welcome.Name, welcome.Kind, welcome.Edges, welcome.Arms, welcome.Outcomes = "new_welcome", "experiment", nil, []string{"old", "new"}, []string{"nothing", "paid"}
	with := func(arms, outcomes []string) error {
		s := series(t, 12, 12, welcome)
		h := *s.Study.Plan.Question.Histogram
		h.Attributes = slices.Clone(h.Attributes)
		h.Attributes[0].Arms, h.Attributes[0].Outcomes = arms, outcomes
		s.Study.Plan.Question.Histogram = &h
		return Registry{App: "editor", Version: 1, Metrics: []Metric{welcome}, Series: []Series{s}}.Validate()
	}
	if err := errors.Join(with(welcome.Arms, welcome.Outcomes), with(nil, nil)); err != nil {
		t.Error(err)
	}
	if with([]string{"new", "old"}, welcome.Outcomes) == nil || with(welcome.Arms, []string{"paid", "nothing"}) == nil || with(welcome.Arms, nil) == nil {
		t.Error("a plan calls values arms that are others")
	}
}

// Before a yes there is nothing on the device's disk, not even a folder, and nothing is drawn. The twin is a yes.
func TestNothingIsOnTheDiskBeforeAYes(t *testing.T) {
	for _, agrees := range []bool{false, true} {
		d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
		app := d.opened()
		if news, err := app.New(); err != nil || len(news) != 3 {
			t.Fatal(err, news)
		}
		if agrees {
			if err := app.Consent(true); err != nil {
				t.Fatal(err)
			}
		}
		for day := range 30 {
			d.at = starts.AddDate(0, 0, day)
			if err := app.Record("theme", "dark"); err != nil {
				t.Fatal(err)
			}
			if err := app.keep(); err != nil {
				t.Fatal(err)
			}
		}
		if err := app.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(d.store.Path); errors.Is(err, fs.ErrNotExist) == agrees {
			t.Errorf("agreed: %v; the device's folder: %v", agrees, err)
		}
	}
}

// The draw is uniform over all rounds of the season, whenever the device begins: of those that begin in the third week half have missed
// theirs, or the last rounds would be those of the new.
func TestTheDrawIsOverAllRounds(t *testing.T) {
	s := series(t, 12, 12, kinds()...)
	for _, begins := range []time.Time{starts.Add(-time.Hour), starts.AddDate(0, 0, 15)} {
		counts := make([]int, 4)
		for range 400 {
			d := newDevice(t, registry(t, 1, s))
			d.at = begins
			app := d.opened()
			if err := app.Consent(true); err != nil {
				t.Fatal(err)
			}
			if d.at.Before(starts) {
				d.at = starts
			}
			if err := app.keep(); err != nil {
				t.Fatal(err)
			}
			drawn := d.season()
			counts[drawn.Round-1]++
			again, err := d.options().Join(s.Of(12))
			if err != nil || again.Round != drawn.Round {
				t.Fatalf("%v: round %d was drawn, and then %d", err, drawn.Round, again.Round)
			}
		}
		stattest.GTest(t, []float64{.25, .25, .25, .25}, counts)
	}
}

// An answer is said once, wherever the device ends between its draw and the removal of what was kept.
func TestACrashSaysNothingTwice(t *testing.T) {
	s := series(t, 12, 12, kinds()...)
	for _, point := range append(slices.Clone(client.Failpoints), "metrics-answered") {
		t.Run(point, func(t *testing.T) {
			d := newDevice(t, registry(t, 1, s))
			app, drawn := d.agreed()
			from, _ := asked("week", 12, drawn.Round)
			d.at = from.Add(time.Hour)
			if err := app.Record("theme", "dark"); err != nil {
				t.Fatal(err)
			}
			if _, err := app.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if d.season().Kept["theme"].Text != "dark" {
				t.Fatalf("of the drawn week the device keeps %+v", d.season())
			}
			d.asks(s, drawn)
			d.fail = point
			_, _ = app.Step(t.Context())
			d.fail = ""
			app = d.opened()
			for range 3 {
				d.at = d.at.Add(2 * time.Hour)
				if _, err := app.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			l, err := client.ReadLedger(d.store)
			if err != nil || len(l.Entries) != 1 || l.Entries[0].Waiting() {
				t.Fatalf("%v: %d answers in the ledger", err, len(l.Entries))
			}
			if len(d.came) != 1 {
				t.Errorf("%d contributions came: %v", len(d.came), d.came)
			}
			if after := d.season(); !after.Over || after.Kept != nil {
				t.Errorf("%+v", after)
			}
		})
	}
}

// A clock that is set back is named, says nothing again, and loses nothing of what was counted.
func TestAClockThatIsSetBack(t *testing.T) {
	s := series(t, 12, 12, kinds()...)
	d := newDevice(t, registry(t, 1, s))
	app, drawn := d.agreed()
	from, _ := asked("week", 12, drawn.Round)
	d.at = from.AddDate(0, 0, 3)
	if err := app.Record("export_used", 2); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.at = from.AddDate(0, 0, 1)
	if _, err := app.Step(t.Context()); err == nil || !strings.Contains(err.Error(), "was set back") {
		t.Error(err)
	}
	if err := app.Record("export_used", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Step(t.Context()); err != nil {
		t.Error(err)
	}
	if kept := d.season().Kept["export_used"]; kept.N != 5 {
		t.Errorf("of 2 and 3 the device keeps %v", kept.N)
	}
	d.asks(s, drawn)
	if _, err := app.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := len(d.came)
	d.at = from.AddDate(0, 0, 1)
	for range 3 {
		_ = app.Record("export_used", 9)
		_, _ = app.Step(t.Context())
	}
	if l, err := client.ReadLedger(d.store); err != nil || len(l.Entries) != 1 || said != 1 || len(d.came) != 1 || d.season().Kept != nil {
		t.Errorf("%v: said %d times and then %d; %+v", err, said, len(d.came), d.season())
	}
}

// Of the weeks that were not drawn nothing is kept, nor of a metric that has ended.
func TestOnlyTheDrawnPeriodIsKept(t *testing.T) {
	all := kinds()
	all[0].Ends = "2026-12-06" // the day before the season
	d := newDevice(t, registry(t, 1, series(t, 12, 12, all...)))
	app, drawn := d.agreed()
	from, until := asked("week", 12, drawn.Round)
	for day := range 28 {
		d.at = starts.AddDate(0, 0, day).Add(time.Minute)
		theme := "light"
		if within := !d.at.Before(from) && d.at.Before(until); within {
			theme = "dark"
		}
		if err := errors.Join(app.Record("theme", theme), app.Record("export_used", 1), app.keep()); err != nil {
			t.Fatal(err)
		}
		if kept := d.season().Kept; !d.at.Before(from) != (len(kept) == 1) || len(kept) == 1 && kept["theme"].Text != "dark" {
			t.Fatalf("week %d was drawn, and on day %d the device keeps %+v", drawn.Round, day, kept)
		}
	}
	// The app was away until nobody asked any more.
	d.at = Times("week", 12).Closes.Add(time.Hour)
	if err := app.keep(); err != nil || len(d.season().Kept) != 0 {
		t.Errorf("%v; after its season the device keeps %+v", err, d.season().Kept)
	}
}

// Somebody who agrees to a metric as an update asks it has not agreed to what the season asks that runs.
func TestConsentIsToWhatASeasonAsks(t *testing.T) {
	asked, now := kinds()[0], kinds()[0]
	now.Why += " and why"
	s := &state{Agreed: map[string]agreement{}}
	from := begins("week", 50)
	s.agree(map[string]Metric{now.Name: now}, from.Add(-time.Hour))
	listed := map[string]Metric{now.Name: now}
	if s.counts(asked, listed, from) || !s.counts(now, listed, from) {
		t.Error("a yes to another question answers this one")
	}
}

// full is a disk that has no room for what is counted.
type full struct {
	native.Folder
	is *bool
}

func (f full) Replace(name string, data []byte) error {
	if *f.is && name == stateName {
		return errCrash
	}
	return f.Folder.Replace(name, data)
}

// What could not be kept is kept later, beside what came since.
func TestAFullDiskLosesNothing(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, drawn := d.agreed()
	d.at, _ = asked("week", 12, drawn.Round)
	isFull := true
	o := d.options()
	o.Store = full{d.store, &isFull}
	app.options.Store = o.Store
	for _, n := range []int{2, 3} {
		if err := app.Record("export_used", n); err != nil {
			t.Fatal(err)
		}
		if err := app.keep(); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
	}
	isFull = false
	if err := app.Record("export_used", 4); err != nil {
		t.Fatal(err)
	}
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	if kept := d.season().Kept["export_used"]; kept.N != 9 {
		t.Errorf("of 2, 3 and 4 the device keeps %v", kept.N)
	}
}

// Two programs of one app count together.
func TestTwoProgramsOnOneStoreLoseNothing(t *testing.T) {
	s := series(t, 12, 12, kinds()...)
	d := newDevice(t, registry(t, 1, s))
	app, drawn := d.agreed()
	other := d.opened()
	d.at, _ = asked("week", 12, drawn.Round)
	for range 5 {
		for _, one := range []*App{app, other} {
			if err := one.Record("export_used", 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := app.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(other.Close(), app.Close()); err != nil {
		t.Fatal(err)
	}
	if kept := d.season().Kept["export_used"]; kept.N != 10 {
		t.Errorf("of 5 and 5 the device keeps %v", kept.N)
	}
	app, other = d.opened(), d.opened()
	d.asks(s, drawn)
	for _, one := range []*App{app, other} {
		if _, err := one.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := client.ReadLedger(d.store); err != nil || len(l.Entries) != 1 || len(d.came) != 1 {
		t.Errorf("%v: %d answers, and %d came", err, len(l.Entries), len(d.came))
	}
}

// What is a season by itself is answered like the others: a set, and a string.
func TestWhatIsAloneIsAnswered(t *testing.T) {
	text := Metric{Name: "plugin", Kind: "string", Alphabet: "abcdefghijklmnopqrstuvwxyz-", Longest: 12, Every: "week", Why: "Which one breaks", Owner: "cy@example.org", Ends: "2027-06-30"}
	for _, c := range []struct {
		metric Metric
		record []string
		kept   value
	}{
		{items(), []string{"rust", "go", "python"}, value{Items: []string{"rust", "go", "python"}}},
		{text, []string{"vim-mode", "spell", "not a plugin"}, value{Text: "spell"}},
		{text, nil, value{}},
	} {
		s := series(t, 12, 12, c.metric)
		d := newDevice(t, registry(t, 1, s))
		app := d.opened()
		if err := app.Consent(true); err != nil {
			t.Fatal(err)
		}
		d.at = starts
		if err := app.keep(); err != nil {
			t.Fatal(err)
		}
		read := func() season {
			t.Helper()
			kept, err := load(d.store)
			if err != nil || kept.Seasons[id(s, 12)] == nil {
				t.Fatalf("%v: %+v", err, kept)
			}
			return *kept.Seasons[id(s, 12)]
		}
		drawn := read()
		d.at, _ = asked("week", 12, drawn.Round)
		for _, item := range c.record {
			if err := app.Record(c.metric.Name, item); err != nil != (item == "not a plugin") {
				t.Error(err)
			}
		}
		if err := app.keep(); err != nil {
			t.Fatal(err)
		}
		if got := read().Kept[c.metric.Name]; !reflect.DeepEqual(got, c.kept) {
			t.Errorf("%s: the device keeps %+v", c.metric.Name, got)
		}
		d.asks(s, drawn)
		if _, err := app.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l, err := client.ReadLedger(d.store); err != nil || len(l.Entries) != 1 || len(d.came) != 1 || !read().Over || read().Kept != nil {
			t.Errorf("%s: %v: %d answers, %+v", c.metric.Name, err, len(l.Entries), read())
		}
	}
}

// What runs in an app's background keeps what is counted, and stop keeps the rest.
func TestTheBackgroundKeeps(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, drawn := d.agreed()
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	d.at, _ = asked("week", 12, drawn.Round)
	stop, err := app.start(d.options())
	if err != nil {
		t.Fatal(err)
	}
	Counter{App: app, Name: "export_used"}.Add(2)
	for deadline := time.Now().Add(90 * time.Second); d.season().Kept["export_used"].N != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is kept")
		}
	}
	Counter{App: app, Name: "export_used"}.Add(3)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if kept := d.season().Kept["export_used"]; kept.N != 5 {
		t.Errorf("of 2 and 3 the device keeps %v", kept.N)
	}
	Counter{App: app, Name: "export_used"}.Add(9) // closed: nothing
}

// What fails in the background is told once, and again when it is another.
func TestTheBackgroundTellsItsProblems(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, _ := d.agreed()
	if err := app.Close(); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 100)
	app.Problem = func(err error) { told <- err }
	d.at = starts.AddDate(0, 0, -2) // set back
	stop, err := app.start(d.options())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-told:
		if r, is := errors.AsType[refused](err); !is || r.Code() != "clock-back" {
			t.Errorf("told of %v", err)
		}
	case <-time.After(90 * time.Second):
		t.Error("nothing is told")
	}
	if err := stop(); err != nil {
		t.Log(err) // the clock stays where it was set
	}
	if len(told) > 0 {
		t.Errorf("told again of %v", <-told)
	}
}

// A yes that came in the middle of the period says "unset"; who says no and yes again is asked nothing twice.
func TestConsentInTheMiddle(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app, drawn := d.agreed()
	from, _ := asked("week", 12, drawn.Round)
	d.at = from.Add(time.Hour)
	record := func() {
		t.Helper()
		if err := app.Record("theme", "dark"); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	record()
	for _, agreed := range []bool{false, true, false, true} {
		if err := app.Consent(agreed); err != nil {
			t.Fatal(err)
		}
		record()
	}
	if after := d.season(); after.Round != drawn.Round || len(after.Kept) != 0 {
		t.Errorf("%+v was drawn, and then %+v", drawn, after)
	}
	if l, err := client.ReadLedger(d.store); err != nil || len(l.Studies) != 1 {
		t.Errorf("%v: %+v", err, l.Studies)
	}
}

// Another study of a season that the device has met is refused with an error, and not answered in its place.
func TestASeasonIsTheFirstStudyThatWasMet(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	_, drawn := d.agreed()
	another := series(t, 12, 12, kinds()[:2]...)
	d.text = registry(t, 2, another)
	app := d.opened()
	if err := app.Consent(true); err != nil {
		t.Fatal(err)
	}
	d.asks(another, drawn)
	if _, err := app.Step(t.Context()); err == nil || !strings.Contains(err.Error(), "season week/12: the device has met another study of it") {
		t.Error(err)
	}
	if l, err := client.ReadLedger(d.store); err != nil || len(l.Entries) != 0 || len(l.Studies) != 1 || d.season().Study != drawn.Study {
		t.Errorf("%v: %d answers, %d draws", err, len(l.Entries), len(l.Studies))
	}
	// The one that was met is answered without a word.
	d.text = registry(t, 3, series(t, 12, 12, kinds()...))
	if app, err := d.open(); err != nil {
		t.Error(err)
	} else if _, err := app.Step(t.Context()); err != nil && strings.Contains(err.Error(), "has met another study") {
		t.Error(err)
	}
}

// Under go test, in CI and where it is switched off an app counts nothing.
func TestStartIsOffInTests(t *testing.T) {
	d := newDevice(t, registry(t, 1, series(t, 12, 12, kinds()...)))
	app := &App{Registry: d.text, Publishers: []string{public(publisher)}}
	stop, err := app.Start(d.options())
	if err != nil {
		t.Fatal(err)
	}
	Counter{App: app, Name: "export_used"}.Add(1)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.store.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a store: %v", err)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	app := newDevice(t, registry(t, 1, series(t, 12, 12, append(kinds(), derived()[3])...))).opened()
	export, theme := Counter{App: app, Name: "export_used"}, Category[string]{App: app, Name: "theme"}
	export.Add(1)
	theme.Set("dark")
	welcome := Experiment[string, string]{App: app, Name: "welcome", First: "old"}
	welcome.Arm()
	if n := testing.AllocsPerRun(1000, func() { export.Add(1); theme.Set("light"); welcome.Arm(); welcome.Outcome("paid") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	text := registry(f, 1, series(f, 12, 12, kinds()...))
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			r, err := Parse(text, plan.Trust(public(publisher)))
			if err != nil {
				return
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
		})
	})
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"app":"editor","version":1,"seen":"2026-12-07T00:00:00Z","agreed":{},"seasons":{"week/12":{"study":"a","round":1,"wait":5,"kept":{"theme":{"text":"dark"}}}}}`))
	f.Add([]byte(`{"seasons":{"week/12":null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		store := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
		unlock, err := store.Lock()
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if err := store.Replace(stateName, text); err != nil {
			t.Fatal(err)
		}
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if s, err := load(store); err == nil {
				s.retire(nil)
				s.forget()
			}
		})
	})
}
