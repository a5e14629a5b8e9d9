package metrics

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// declaring returns a file of two metrics, changed.
func declaring(change func(*file)) file {
	one := declared{Every: "week", Why: "Whether it is worth it", Owner: "ada@example.org", Ends: "2027-06-30"}
	used, theme := one, one
	used.Kind, used.Edges = "counter", []float64{1, 5}
	theme.Kind, theme.Values = "category", []string{"light", "dark"}
	f := file{Version: 1, App: "editor", Publishers: []string{"somebody"}, Week: &budget{Epsilon: 1, Delta: 1e-7, Minimum: 2000, Points: 50}, Metric: map[string]declared{"used": used, "theme": theme}}
	if change != nil {
		change(&f)
	}
	return f
}

// signedOf returns the registry that a file comes to.
func signedOf(t *testing.T, f file, at time.Time) (r metrics.Registry) {
	t.Helper()
	r = metrics.Registry{App: f.App, Version: 1}
	like, err := anybody(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.groups(at) {
		s, err := f.study(g, like, like.Analyzer.Releases)
		if err != nil {
			t.Fatal(err)
		}
		r.Metrics = append(r.Metrics, g.metrics...)
		r.Series = append(r.Series, metrics.Series{From: 12, Until: 12, Metrics: g.metrics, Study: s})
	}
	return r
}

// Each change is told, and what asks for more is not let through without somebody who decides.
func TestChangesAreToldAndRisesReviewed(t *testing.T) {
	at := day(t, "2026-12-01")
	old := signedOf(t, declaring(nil), at)
	of := func(name string, change func(*declared)) func(*file) {
		return func(f *file) {
			d := f.Metric[name]
			change(&d)
			f.Metric[name] = d
		}
	}
	seen := map[string]bool{}
	for name, c := range map[string]struct {
		change func(*file)
		more   bool
		told   string // of changes, or of what is more
	}{
		"nothing":       {nil, false, ""},
		"another owner": {of("used", func(d *declared) { d.Owner = "bo@example.org" }), false, ""},
		"earlier end":   {of("used", func(d *declared) { d.Ends = "2027-03-31" }), true, "from 2027-04-01 on each week costs more a season though everyone colludes"},
		"all end earlier": {func(f *file) {
			for name, d := range f.Metric {
				d.Ends = "2027-03-31"
				f.Metric[name] = d
			}
		}, false, "ends earlier, 2027-03-31"},
		"less epsilon":   {func(f *file) { f.Week.Epsilon = 0.9 }, false, ""},
		"more people":    {func(f *file) { f.Week.Minimum = 3000 }, true, "each week costs more a season though everyone colludes: epsilon 3.321, and 2.968 before"},
		"gone":           {func(f *file) { delete(f.Metric, "used") }, true, "each week costs more a season though everyone colludes"},
		"ended":          {of("used", func(d *declared) { d.Ends = "2026-11-30" }), true, "each week costs more a season though everyone colludes"},
		"more epsilon":   {func(f *file) { f.Week.Epsilon = 1.2 }, true, "costs more a season: epsilon 1.199, and 0.9995 before"},
		"more delta":     {func(f *file) { f.Week.Delta = 1e-6 }, true, "costs more a season: delta"},
		"fewer people":   {func(f *file) { f.Week.Minimum = 1500 }, true, "released of fewer people: 1500, and 2000 before"},
		"a value more":   {of("theme", func(d *declared) { d.Values = []string{"light", "dark", "system"} }), true, "theme asks something else"},
		"another word":   {of("theme", func(d *declared) { d.Values = []string{"bright", "dark"} }), true, "theme asks something else"},
		"another reason": {of("theme", func(d *declared) { d.Why = "Who is depressed" }), true, `asked for another reason: "Who is depressed"`},
		"longer":         {of("theme", func(d *declared) { d.Ends = "2027-09-30" }), true, "theme is asked for longer"},
		"for years":      {of("theme", func(d *declared) { d.Ends = "2030-09-30" }), true, "ends more than a year ahead"},
		"a question": {func(f *file) {
			f.Metric["fonts"] = f.Metric["theme"]
		}, true, "fonts is a new question"},
	} {
		f := declaring(c.change)
		found, err := compare(f, old, at, at)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		said := strings.Join(found.More, "\n")
		for _, one := range found.Changes {
			said += "\n" + one.Says
		}
		if len(found.More) > 0 != c.more || !strings.Contains(said, c.told) {
			t.Errorf("%s: more is %q, and the changes are %+v", name, found.More, found.Changes)
		}
		var undecided terminal.UnfinishedError
		if err := found.verdict(); errors.As(err, &undecided) != c.more {
			t.Errorf("%s: %v", name, err)
		}
		if seen[found.Change] && name != "another owner" && name != "nothing" && name != "gone" && name != "ended" { // these have the same
			t.Errorf("%s: another change has the name %s", name, found.Change)
		}
		seen[found.Change] = true
		if !c.more {
			continue
		}
		for _, r := range []struct {
			review review
			lets   bool
		}{
			{review{found.Change, "dpo@example.org", "2026-12-01", "Fine."}, true},
			{review{found.Change, " ", "2026-12-01", "Fine."}, false},
			{review{found.Change, "dpo@example.org", "2026-12-01", ""}, false},
			{review{strings.Repeat("0", 16), "dpo@example.org", "2026-12-01", "Fine."}, false},
		} {
			found.By = found.decided([]review{r.review})
			if err := found.verdict(); (err == nil) != r.lets {
				t.Errorf("%s, %+v: %v", name, r.review, err)
			}
		}
	}
}

// The worst time is that of every start: the seasons whose answers may fall into it are counted day by day.
func TestTheWorstTimeIsThatOfEveryStart(t *testing.T) {
	for _, every := range []string{"day", "week", "month"} {
		for _, days := range []int{30, 365} {
			most := 0
			for start := range 800 {
				from := day(t, "2026-03-01").AddDate(0, 0, start)
				n := 0
				for season := range 70 {
					if at := metrics.Times(every, season); at.Opens.Before(from.AddDate(0, 0, days)) && at.Closes.After(from) {
						n++
					}
				}
				most = max(most, n)
			}
			if got := len(worst(seasons(price{every: every, Epsilon: 1}, 0, 60), days, func(p price) float64 { return p.Epsilon })); got < most || got > most+1 {
				t.Errorf("each %s: %d answers in %d days, and some start has %d", every, got, days, most)
			}
		}
	}
}

// What a year costs is what a device's filter lets through, and no less.
func TestAYearCostsWhatAFilterLetsThrough(t *testing.T) {
	at := day(t, "2026-12-01")
	found, err := compare(declaring(nil), metrics.Registry{}, at, at)
	if err != nil {
		t.Fatal(err)
	}
	year, spends := worstOf(found.pays, 365)
	if year.Answers != 15 || len(spends) != 15 || year.Epsilon >= 15*found.Now[0].Epsilon {
		t.Fatalf("%+v of %d", year, len(spends))
	}
	for share, lets := range map[float64]bool{1: true, 0.98: false} {
		f, err := account.NewFilter(share*year.Epsilon, year.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.More(20, spends[0]); got >= 15 != lets {
			t.Errorf("a filter of %v times that has room for %d", share, got)
		}
	}
}

// What is refused leaves nothing behind.
func TestSignRefuses(t *testing.T) {
	x := founded(t, 1, day(t, "2026-12-01"))
	x.asks(week)
	quiet := terminal.Streams{Out: io.Discard, Err: io.Discard}
	c := sign{asked: x.asked(), Parties: x.path("parties.toml"), Key: x.path("publisher.json"), Coordinator: x.path("coordinator.json"), Seasons: 1, Out: x.path("seasons")}
	refused := func(what, want string) {
		t.Helper()
		if err := c.Run(quiet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		for _, left := range []string{c.Out, c.Registry} {
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: leaves %s: %v", what, left, err)
			}
		}
	}
	refused("nobody decided", "more is asked than before")
	x.reviewed(week)
	c.Key = x.path("coordinator.json")
	refused("another's key", "is not among the publishers")
	c.Key, c.Seasons = x.path("publisher.json"), 0
	refused("no season", "--seasons is 0")
	c.Seasons, c.On = 1, "soon"
	refused("no day", `--on "soon" is no day`)
	c.On = x.asked().On
	if err := c.Run(quiet); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(c.Registry)
	x.must(err)
	if err := c.Run(quiet); err != nil {
		t.Errorf("again: %v", err)
	}
	if again, err := os.ReadFile(c.Registry); err != nil || !slices.Equal(first, again) {
		t.Errorf("signed again the registry is another: %v", err)
	}
}

// A year of seasons that is signed at once lists what ends in it, and each season asks what has not ended.
func TestMetricsEndOneAfterTheOther(t *testing.T) {
	f := declaring(func(f *file) {
		d := f.Metric["used"]
		d.Ends = "2027-02-28"
		f.Metric["used"] = d
	})
	at := day(t, "2026-12-01")
	like, err := anybody(metrics.Registry{})
	if err != nil {
		t.Fatal(err)
	}
	coordinator, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	r, fresh, err := f.plan(metrics.Registry{}, like, coordinator, at, at, 13)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Metrics) != 2 || len(r.Series) != 2 || len(r.Series[0].Metrics) != 2 || len(r.Series[1].Metrics) != 1 || r.Series[1].Metrics[0].Name != "theme" {
		t.Fatalf("%d metrics are listed, and %d series ask them", len(r.Metrics), len(r.Series))
	}
	if last := metrics.Times("week", r.Series[1].Until).Opens; last.After(day(t, "2027-06-30")) || len(fresh) != r.Series[1].Until-11 {
		t.Errorf("season %d opens at %v, and %d are new", r.Series[1].Until, last, len(fresh))
	}
	if s := newestSeries(r)["week"]; len(s.Metrics) != 2 {
		t.Errorf("what is asked now are %d metrics", len(s.Metrics))
	}
	// On the second day of a season a metric leaves: the season stays as it is, and the next one is without it.
	without := declaring(func(f *file) { delete(f.Metric, "used") })
	begun, _, err := without.plan(r, like, coordinator, day(t, "2026-12-08"), day(t, "2026-12-08"), 2)
	if err != nil || len(begun.Metrics) != 1 || len(begun.Series) != 2 || begun.Series[0].From != 12 || begun.Series[0].Until != 12 || len(begun.Series[0].Metrics) != 2 || len(begun.Series[1].Metrics) != 1 {
		t.Errorf("%v: %d metrics are listed, and %+v", err, len(begun.Metrics), begun.Series)
	}
	// A month later what has begun stays, and what ended is dropped.
	later, fresh, err := f.plan(r, like, coordinator, day(t, "2027-03-10"), day(t, "2027-03-10"), 13)
	if err != nil || len(fresh) != 0 || later.Version != 2 || len(later.Metrics) != 1 || later.Series[0].From < 14 {
		t.Errorf("%v: version %d, %d new, series from %d", err, later.Version, len(fresh), later.Series[0].From)
	}
	if again, fresh, err := f.plan(later, like, coordinator, day(t, "2027-03-10"), day(t, "2027-03-10"), 13); err != nil || len(fresh) != 0 || again.Version != 2 {
		t.Errorf("%v: signed again it is version %d, with %d new", err, again.Version, len(fresh))
	}
}

// What ends as it was signed to end asks nobody: the rest costs more though everyone colludes, which was decided.
func TestADeclaredEndIsNoRise(t *testing.T) {
	ending := func(used string) file {
		return declaring(func(f *file) {
			d := f.Metric["used"]
			d.Ends = used
			f.Metric["used"] = d
		})
	}
	old := signedOf(t, ending("2027-02-28"), day(t, "2026-12-01"))
	after := day(t, "2027-03-10")
	for name, c := range map[string]struct {
		f    file
		more bool
	}{"as signed": {ending("2027-02-28"), false}, "earlier": {ending("2027-02-10"), false}, "longer": {ending("2027-04-30"), true}} {
		found, err := compare(c.f, old, after, after)
		if err != nil || len(found.More) > 0 != c.more {
			t.Errorf("%s: %v, %q", name, err, found.More)
		}
	}
	if found, err := compare(ending("2027-02-10"), old, day(t, "2026-12-08"), day(t, "2026-12-08")); err != nil || len(found.More) != 1 || !strings.Contains(found.More[0], "from 2027-02-11 on") {
		t.Errorf("earlier than signed, in time: %v, %q", err, found.More)
	}
}

// A season that has begun costs what it was signed for, beside those that follow for less; and a rise is one over each season that is
// signed, not over the dearest.
func TestSeasonsThatOverlapArePricedEach(t *testing.T) {
	begins := day(t, "2026-12-10") // three days after season 12
	dear, cheap := declaring(func(f *file) { f.Week.Epsilon = 2 }), declaring(nil)
	r := signedOf(t, dear, begins)
	only, err := compare(cheap, metrics.Registry{}, begins, begins)
	if err != nil {
		t.Fatal(err)
	}
	both, err := compare(cheap, r, begins, begins)
	if err != nil {
		t.Fatal(err)
	}
	two := both.Before[0].Epsilon
	if _, spends := worstOf(both.pays, 30); len(spends) != both.Month.Answers || spends[0].Epsilon != two || spends[1].Epsilon >= two {
		t.Errorf("in the worst 30 days %d seasons are answered: %+v", both.Month.Answers, spends)
	}
	if both.Month.Epsilon < only.Month.Epsilon*1.2 {
		t.Errorf("the worst 30 days cost %v with a season of 2 that has begun, and %v without", both.Month.Epsilon, only.Month.Epsilon)
	}
	// The page is of all series: one asks for 2, and the next, which asks as many metrics, for 1.
	next := signedOf(t, cheap, begins).Series[0]
	next.From, next.Until = 13, 20
	r.Series = append(r.Series, next)
	text, err := draw(cheap, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	paid, err := prices{known: map[string]price{}}.signed(r)
	if err != nil {
		t.Fatal(err)
	}
	month, _ := worstOf(paid, 30)
	if want := fmt.Sprintf("(epsilon %.3g, but for a chance of %.2g)", month.Epsilon, month.Delta); !strings.Contains(string(text), want) || month.Epsilon < 2.2 {
		t.Errorf("the worst 30 days cost %v, and the page does not say %s", month.Epsilon, want)
	}
	// Signed from 13 on are seasons of 1: 1.5 is a rise, though 2 was paid before.
	found, err := compare(declaring(func(f *file) { f.Week.Epsilon = 1.5 }), r, begins, begins)
	if err != nil || len(found.More) == 0 || !strings.Contains(found.More[0], "costs more a season: epsilon") {
		t.Errorf("%v: %q", err, found.More)
	}
}

// A day that is past is refused where a season of the registry has begun since: the twin is the day itself.
func TestBegunSeasonsAreNotSignedAnew(t *testing.T) {
	x := founded(t, 1, day(t, "2026-12-01"))
	x.reviewed(week)
	x.sign(2) // seasons 12 and 13
	x.reviewed(strings.Replace(week, `"dark"`, `"dark", "system"`, 1))
	x.at(day(t, "2026-12-10"))
	before, err := os.ReadFile(x.asked().Registry)
	x.must(err)
	quiet := terminal.Streams{Out: io.Discard, Err: io.Discard}
	c := sign{asked: x.asked(), Parties: x.path("parties.toml"), Key: x.path("publisher.json"), Coordinator: x.path("coordinator.json"), Seasons: 2, Out: x.path("seasons-again")}
	c.On = "2026-12-01"
	if err := c.Run(quiet); err == nil || !strings.Contains(err.Error(), "--on 2026-12-01 is past, and season 12 of each week has begun since") {
		t.Error(err)
	}
	if after, err := os.ReadFile(c.Registry); err != nil || !slices.Equal(before, after) {
		t.Errorf("the registry is another: %v", err)
	}
	x.reviewed(strings.Replace(week, `"dark"`, `"dark", "system"`, 1))
	c.On = ""
	x.must(c.Run(quiet))
	f, r, err := c.read()
	x.must(err)
	if s := r.Series[0]; s.From != 12 || s.Until != 12 || len(s.Metrics[0].Values) != 2 || len(r.Series) != 2 || len(f.Metric) != 1 {
		t.Errorf("%+v", r.Series)
	}
	// A day to come drops nothing that runs.
	c.On = "2027-12-01"
	if next, _, err := f.plan(r, r.Series[0].Study.Plan, relay.SignKey{}, day(t, c.On), x.now(), 1); err == nil && (len(next.Series) == 0 || next.Series[0].From != 12) {
		t.Errorf("%+v", next.Series)
	}
}

// What is foretold is the formula's error of k-ary response, of the people whom each metric is asked: all but a part of two in a
// hundred. The twin asks everybody everything.
func TestErrorsAreForetold(t *testing.T) {
	at := day(t, "2026-12-01")
	found, err := compare(declaring(func(f *file) { f.Week.Minimum = 4000 }), metrics.Registry{}, at, at)
	if err != nil || len(found.Exact) != 2 {
		t.Fatal(err, found.Exact)
	}
	f := declaring(func(f *file) { f.Week.Minimum = 4000 })
	g := f.groups(at)["week"]
	study, err := f.study(g, found.of.like, found.of.like.Analyzer.Releases)
	if err != nil {
		t.Fatal(err)
	}
	e := math.Exp(study.Plan.Question.Histogram.Randomizer.Epsilon)
	for i, m := range g.metrics {
		cells := float64(study.Plan.Question.Histogram.Attributes[i].Domain())
		keep, other := e/(e+cells-1), 1/(e+cells-1)
		const held = 0.1 // of those who are asked
		of := func(asked float64) float64 {
			k := 4000 / asked
			noise := asked * (held*keep*(1-keep) + (1-held)*other*(1-other)) / ((keep - other) * (keep - other))
			return 1.96 * math.Sqrt(k*k*noise+4000*held*(k-1)) / 4000
		}
		if got, want := found.Exact[i].Error, of(2000); got < 0.97*want || got > 1.05*want {
			t.Errorf("%s: error %v is foretold, and the formula has %v", m.Name, got, want)
		}
		if got := found.Exact[i].Error; got < 1.2*of(4000) {
			t.Errorf("%s: error %v is that of everybody's answers", m.Name, got)
		}
	}
	// A set is a plan by itself, and of a string it is foretold how many must hold it.
	with, err := compare(declaring(func(f *file) {
		f.Metric["languages"] = declared{Kind: "set", Values: []string{"go", "rust"}, Most: 1, Every: "week", Why: "Why", Owner: "bo", Ends: "2027-06-30", Epsilon: 1, Delta: 1e-7, Minimum: 2000, Points: 50}
		f.Metric["plugin"] = declared{Kind: "string", Letters: "abcdefgh", Longest: 8, Every: "week", Why: "Why", Owner: "bo", Ends: "2027-06-30", Epsilon: 2, Delta: 1e-7, Minimum: 20000}
	}), metrics.Registry{}, at, at)
	if err != nil || len(with.Exact) != 4 || with.Exact[2].Name != "languages" || !(with.Exact[2].Error > 0 && with.Exact[2].Error < 1) || !strings.HasPrefix(with.Exact[3].Says, "Of 20000 respondents a string that ") || with.Exact[3].blurred() {
		t.Errorf("%v: %+v", err, with.Exact)
	}
}

// Where a tenth is not known to 5 points a file is refused, unless it says that less is enough.
func TestWhatTellsTooLittleIsRefused(t *testing.T) {
	at := day(t, "2026-12-01")
	for points, refused := range map[float64]bool{0: true, 5: true, 50: false} {
		found, err := compare(declaring(func(f *file) { f.Week.Points, f.Week.Minimum = points, 400 }), metrics.Registry{}, at, at)
		if err != nil {
			t.Fatal(err)
		}
		err = found.verdict()
		var undecided terminal.UnfinishedError
		if told := err != nil && strings.Contains(err.Error(), "of theme to within"); told != refused || errors.As(err, &undecided) == refused {
			t.Errorf("points %v: %v", points, err)
		}
	}
	many, err := compare(declaring(func(f *file) { f.Week.Points, f.Week.Minimum = 0, 20_000 }), metrics.Registry{}, at, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := many.verdict(); err == nil || strings.Contains(err.Error(), "tells too little") {
		t.Errorf("of 20,000 people: %v", err)
	}
}

// Crowds are declared by the quarter, told as a rise, and shown on the page; a week is refused by name.
func TestCrowdsAreDeclared(t *testing.T) {
	for text, want := range map[string]string{"4 quarters": "", "8 quarters": "", "9 quarters": "from 2 to 8", "1 quarters": "from 2 to 8", "4 weeks": "a week is half a name", "quarterly": "from 2 to 8"} {
		err := declaring(func(f *file) { f.Week.Crowds = text }).validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	at := day(t, "2026-12-01")
	f := declaring(func(f *file) { f.Week.Crowds = "4 quarters" })
	found, err := compare(f, signedOf(t, declaring(nil), at), at, at)
	if err != nil || len(found.More) != 1 || !strings.Contains(found.More[0], "in which of 4 quarters somebody agreed first") {
		t.Errorf("%v: %q", err, found.More)
	}
	like, err := anybody(metrics.Registry{})
	if err != nil {
		t.Fatal(err)
	}
	coordinator, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	r, fresh, err := f.plan(metrics.Registry{}, like, coordinator, at, at, 3)
	if err != nil || len(fresh) != 3 {
		t.Fatalf("%v: %d seasons", err, len(fresh))
	}
	text, err := draw(f, r, nil)
	if err != nil || !strings.Contains(string(text), "in which of 4 quarters you agreed first (before 2026-Q3, 2026-Q3, 2026-Q4, 2027-Q1 on)") {
		t.Errorf("%v: the page does not name the crowds: %+v", err, r.Series[0].Quarters)
	}
	again, err := compare(f, r, at, at)
	if err != nil || len(again.More) != 0 {
		t.Errorf("%v: crowds that were decided ask again: %q", err, again.More)
	}
}

// A table needs what it is of, for as long as it is asked; what it is not, and what a sequence is not, is told by name.
func TestDeclaredTablesAreOfDeclaredMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*declared)
		want   string
	}{
		"fine":            {func(*declared) {}, ""},
		"coarse":          {func(d *declared) { d.Coarse = map[string][]float64{"used": {3}} }, ""},
		"not declared":    {func(d *declared) { d.Of[0] = "clicks" }, "there is no [metric.clicks]"},
		"of itself":       {func(d *declared) { d.Of[0] = "both" }, "a table of the table both"},
		"longer":          {func(d *declared) { d.Ends = "2027-12-31" }, "which is asked of another period or ends earlier"},
		"another period":  {func(d *declared) { d.Every = "day" }, "which is asked of another period or ends earlier"},
		"coarse of theme": {func(d *declared) { d.Coarse = map[string][]float64{"theme": {1}} }, `coarse gives edges to "theme"`},
	} {
		f := declaring(func(f *file) {
			d := declared{Kind: "table", Of: []string{"used", "theme"}, Every: "week", Why: "Why", Owner: "bo", Ends: "2027-06-30"}
			c.change(&d)
			f.Metric["both"] = d
		})
		err := f.validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
