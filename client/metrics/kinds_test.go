package metrics

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// derived are metrics of the kinds that stand beside those of kinds, and follow from what happens in an order, at once or in an arm.
func derived() []Metric {
	one := Metric{Every: "week", Why: "Whether it is worth it", Owner: "ada@example.org", Ends: "2027-06-30"}
	funnel, back, table, welcome := one, one, one, one
	funnel.Name, funnel.Kind, funnel.Steps, funnel.Within = "export_funnel", "sequence", []string{"opened", "previewed", "exported"}, "3d"
	back.Name, back.Kind, back.Steps, back.After, back.Within = "retention", "sequence", []string{"opened", "opened"}, "2d", "7d"
	table.Name, table.Kind, table.Of = "start_by_theme", "table", []Metric{kinds()[2].Axis([]float64{1}), kinds()[1].Axis(nil)}
	welcome.Name, welcome.Kind, welcome.Arms, welcome.Outcomes = "welcome", "experiment", []string{"old", "new"}, []string{"nothing", "stayed", "paid"}
	return []Metric{funnel, back, table, welcome}
}

// Each kind says these words, which a release has, and no others.
func TestCellsOfKinds(t *testing.T) {
	d := derived()
	for _, c := range []struct {
		metric Metric
		want   string
	}{
		{d[0], "none, opened, previewed, exported, unset"},
		{d[1], "none, opened, opened again, unset"},
		{d[2], "below 1 / light, below 1 / dark, 1 and more / light, 1 and more / dark, unset"},
		{d[3], "old / nothing, old / stayed, old / paid, new / nothing, new / stayed, new / paid, none, unset"},
	} {
		if got := strings.Join(c.metric.Cells(), ", "); got != c.want {
			t.Errorf("%s: %s", c.metric.Name, got)
		}
		if err := c.metric.Validate(); err != nil {
			t.Error(err)
		}
		if a := c.metric.attribute(); a.Others != (c.metric.Kind == "table") {
			t.Errorf("%s has a cell for what is not listed: %v", c.metric.Name, a.Others)
		}
	}
}

func TestFaultsOfKindsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		of     int // of derived
		change func(*Metric)
		want   string
	}{
		"one step":        {0, func(m *Metric) { m.Steps = m.Steps[:1] }, "a sequence has 2 to 20 steps"},
		"too long":        {0, func(m *Metric) { m.Within = "8d" }, "no longer than the period"},
		"no time":         {0, func(m *Metric) { m.Within = "a while" }, `within must be such as "7d"`},
		"after the end":   {1, func(m *Metric) { m.After = "7d" }, "shorter than within"},
		"again twice":     {1, func(m *Metric) { m.Steps = []string{"opened", "opened", "opened again"} }, "opened again"},
		"none as a step":  {0, func(m *Metric) { m.Steps[1] = "none" }, "choose other words"},
		"values of steps": {0, func(m *Metric) { m.Values = []string{"a"} }, "values are of a category and a set"},
		"one metric":      {2, func(m *Metric) { m.Of = m.Of[:1] }, "a table is of two other metrics"},
		"twice the same":  {2, func(m *Metric) { m.Of[1] = m.Of[0] }, "a table is of two other metrics"},
		"of a set":        {2, func(m *Metric) { m.Of[0] = items().Axis(nil) }, `"languages" is none`},
		"of a table":      {2, func(m *Metric) { m.Of[0] = derived()[2].Axis(nil) }, `"start_by_theme" is none`},
		"falling edges":   {2, func(m *Metric) { m.Of[0].Edges = []float64{2, 1} }, "edges must be finite and rise"},
		"one arm":         {3, func(m *Metric) { m.Arms = m.Arms[:1] }, "an experiment has 2 to 8 arms"},
		"one outcome":     {3, func(m *Metric) { m.Outcomes = m.Outcomes[:1] }, "an experiment has 2 outcomes or more"},
		"the same pair":   {3, func(m *Metric) { m.Arms, m.Outcomes = []string{"a", "a / b"}, []string{"b / c", "c"} }, "a / b / c"},
		"called crowd":    {3, func(m *Metric) { m.Name = "crowd" }, "the name crowd is taken"},
		"arms of a step":  {0, func(m *Metric) { m.Arms = []string{"a", "b"} }, "arms and outcomes are of an experiment"},
	} {
		m := derived()[c.of]
		c.change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A table's metrics stand beside it, as it has them.
	table, beside := derived()[2], kinds()
	if err := table.tabled(beside); err != nil {
		t.Error(err)
	}
	beside[1].Values = append(beside[1].Values, "system")
	if err := table.tabled(beside); err == nil || !strings.Contains(err.Error(), `"theme" is not`) {
		t.Error(err)
	}
}

// told finds how far the first sequence came that begins in a time, by looking at every step of a list again for each that follows.
func told(m Metric, steps []stepped, earliest, latest time.Time) (reached int, since time.Time) {
	for i, s := range steps {
		if s.step != m.Steps[0] || s.at.Before(earliest) || !s.at.Before(latest) {
			continue
		}
		reached, since = 1, s.at
		for _, later := range steps[i+1:] {
			if d := later.at.Sub(since); reached < len(m.Steps) && later.step == m.Steps[reached] && d >= lasts(m.After) && d < lasts(m.Within) {
				reached++
			}
		}
		return reached, since
	}
	return 0, since
}

// A sequence is followed a few steps at a time, and comes as far as one that is looked at whole. The twin lets a step count that came
// after its time, or before others count.
func TestSequencesAreTheFirstThatBegan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	from := starts
	until := from.AddDate(0, 0, 7)
	seen, caught := map[int]int{}, 0
	for range 3000 {
		m := derived()[r.IntN(2)]
		var steps []stepped
		at := from.AddDate(0, 0, -9)
		for at.Before(until) {
			at = at.Add(time.Duration(1+r.IntN(40)) * time.Hour)
			steps = append(steps, stepped{at, m.Steps[r.IntN(len(m.Steps))]})
		}
		earliest, latest := m.began(from, until)
		reached, since := told(m, steps, earliest, latest)
		var v value
		some, twin, twinned := false, value{}, false
		never := m
		never.After, never.Within = "", "28d"
		for _, part := range slices.Collect(slices.Chunk(steps, 1+r.IntN(4))) {
			v, some = m.follow(v, some, m.append(nil, part), earliest, latest)
			twin, twinned = never.follow(twin, twinned, part, earliest, latest)
		}
		if int(v.N) != reached || some != (reached > 0) || some && !v.Since.Equal(since) {
			t.Fatalf("%s came to %d of %v, and %d was followed: %v", m.Name, reached, since, int(v.N), steps)
		}
		if twinned && int(twin.N) != reached {
			caught++
		}
		seen[reached]++
	}
	if seen[0] == 0 || seen[1] == 0 || seen[2] == 0 || seen[3] == 0 || caught == 0 {
		t.Errorf("sequences came so far: %v, and the twin was caught %d times", seen, caught)
	}
}

// Steps that wait do not grow without end, and what is left out makes no difference.
func TestStepsThatWaitAreFew(t *testing.T) {
	m := derived()[1]
	m.After = ""
	var waiting []stepped
	for i := range 100_000 {
		waiting = m.append(waiting, []stepped{{starts.Add(time.Duration(i) * time.Millisecond), "opened"}})
	}
	if v, _ := m.follow(value{}, false, waiting, starts, starts.AddDate(0, 0, 7)); len(waiting) != 4 || v.N != 2 || !v.Since.Equal(starts) {
		t.Errorf("%d steps wait: %+v", len(waiting), v)
	}
	m = derived()[0]
	waiting = nil
	for i := range 10_000 {
		waiting = m.append(waiting, []stepped{{starts, m.Steps[i%3]}})
	}
	if len(waiting) != pendingSteps {
		t.Errorf("%d steps wait", len(waiting))
	}
}

// A sequence that begins before its season is kept until the season is drawn, and told where its time is over in the drawn week: once.
func TestASequenceOverABorderIsToldOnce(t *testing.T) {
	s := series(t, 12, 12, derived()[0])
	drawn := map[bool]int{}
	for range 60 {
		d := newDevice(t, registry(t, 1, s))
		d.at = starts.AddDate(0, 0, -20)
		app := d.opened()
		if err := app.Consent(true); err != nil {
			t.Fatal(err)
		}
		record := func(at time.Time, step string) {
			t.Helper()
			d.at = at
			if err := errors.Join(app.Record("export_funnel", step), app.keep()); err != nil {
				t.Fatal(err)
			}
		}
		record(starts.AddDate(0, 0, -10), "opened") // over before the season
		record(starts.Add(-24*time.Hour), "opened")
		ahead, err := load(d.store)
		if err != nil || ahead.Ahead["export_funnel"].N != 1 || len(ahead.Seasons) != 0 {
			t.Fatalf("%v: before the season the device keeps %+v", err, ahead)
		}
		record(starts.Add(24*time.Hour), "previewed")
		one := d.season()
		kept, some := one.Kept["export_funnel"]
		if after, err := load(d.store); err != nil || len(after.Ahead) != 0 {
			t.Fatalf("%v: once the season is drawn the device keeps %+v", err, after)
		}
		if some != (one.Round == 1) || some && (kept.N != 2 || !kept.Since.Equal(starts.Add(-24*time.Hour))) {
			t.Fatalf("week %d was drawn, and the device keeps %+v", one.Round, one.Kept)
		}
		drawn[some]++
		from, until := asked("week", 12, one.Round)
		now, err := load(d.store)
		if err != nil {
			t.Fatal(err)
		}
		want := none
		if some {
			want = "previewed"
		}
		if got := now.says(s.Metrics[0], s, one.Kept, app.metrics, from, until); got != want {
			t.Fatalf("week %d was drawn, and it says %v", one.Round, got)
		}
	}
	if drawn[true] == 0 || drawn[false] == 0 {
		t.Errorf("%v", drawn)
	}
}

// Who agreed after a sequence could begin says unset; the twin agreed in time.
func TestAPartOfASequenceIsUnset(t *testing.T) {
	m := derived()[0]
	listed := map[string]Metric{m.Name: m}
	for late, want := range map[time.Duration]string{0: none, time.Minute: unset} {
		s := &state{}
		s.agree(listed, starts.Add(-3*24*time.Hour+late))
		if got := s.says(m, Series{Metrics: []Metric{m}}, nil, listed, starts, starts.AddDate(0, 0, 7)); got != want {
			t.Errorf("%v too late it says %v, want %q", late, got, want)
		}
	}
}

// A table says what its two metrics say at once, in its own cells.
func TestATableSaysBothAtOnce(t *testing.T) {
	d, all := derived(), kinds()
	both := d[2]
	with := both
	with.Name, with.Of = "welcome_by_funnel", []Metric{d[3].Axis(nil), d[0].Axis(nil)}
	s := Series{Metrics: append(append(all, d...), with)}
	listed := map[string]Metric{}
	for _, m := range s.Metrics {
		listed[m.Name] = m
	}
	st := &state{Arms: map[string]arm{"welcome": {Arm: "new", Since: starts}}}
	st.agree(listed, starts.AddDate(0, 0, -9))
	until := starts.AddDate(0, 0, 7)
	for _, c := range []struct {
		kept map[string]value
		want [2]string
	}{
		{map[string]value{}, [2]string{unset, "new / nothing / none"}},
		{map[string]value{"start_seconds": {N: 0.7}}, [2]string{unset, "new / nothing / none"}},
		{map[string]value{"start_seconds": {N: 0.7}, "theme": {Text: "dark"}, "welcome": {Text: "paid"}}, [2]string{"below 1 / dark", "new / paid / none"}},
		{map[string]value{"start_seconds": {N: 1}, "theme": {Text: "light"}, "export_funnel": {N: 3}}, [2]string{"1 and more / light", "new / nothing / exported"}},
		{map[string]value{"start_seconds": {N: 9}, "theme": {Text: other}}, [2]string{other, "new / nothing / none"}},
	} {
		for i, m := range []Metric{both, with} {
			got := st.says(m, s, c.kept, listed, starts, until)
			if got != c.want[i] || got != other && !slices.Contains(m.Cells(), got.(string)) && i == 0 {
				t.Errorf("of %+v it says %v, want %q", c.kept, got, c.want[i])
			}
		}
	}
	// A metric of it that the person has not agreed to is told nowhere.
	delete(st.Agreed, "theme")
	if got := st.says(both, s, map[string]value{"start_seconds": {N: 1}, "theme": {Text: "light"}}, listed, starts, until); got != unset {
		t.Errorf("without a yes to the theme it says %v", got)
	}
}

// Arms are drawn alike, once, before anything is shown, and stay; nothing of the draw depends on when it is shown.
func TestArmsAreDrawnOnce(t *testing.T) {
	s := series(t, 12, 12, derived()[3])
	counts := map[string]int{}
	for range 400 {
		d := newDevice(t, registry(t, 1, s))
		app, _ := d.agreed()
		first, err := app.Arm("welcome")
		if err != nil {
			t.Fatal(err)
		}
		counts[first]++
		if err := app.Close(); err != nil {
			t.Fatal(err)
		}
		if again, err := d.opened().Arm("welcome"); err != nil || again != first {
			t.Fatalf("%v: the arm was %s, and is %s", err, first, again)
		}
	}
	stattest.GTest(t, []float64{.5, .5}, []int{counts["old"], counts["new"]})
}

// What a device says of an experiment depends on whether it drew what it showed.
func TestAnArmThatWasNotDrawnIsNone(t *testing.T) {
	s := series(t, 12, 12, derived()[3])
	m := s.Metrics[0]
	e := func(app *App) Experiment[string, string] {
		return Experiment[string, string]{App: app, Name: "welcome", First: "old"}
	}
	for name, c := range map[string]struct {
		happens func(*device, *App)
		drawn   bool // it says an arm, and not none
		outcome string
	}{
		"never shown": {func(*device, *App) {}, false, ""},
		"shown":       {func(_ *device, app *App) { e(app).Arm() }, true, "nothing"},
		"paid": {func(_ *device, app *App) {
			e(app).Arm()
			_ = app.keep()
			e(app).Outcome("paid")
			e(app).Outcome("stayed")
		}, true, "paid"},
		"paid, not shown":   {func(_ *device, app *App) { e(app).Outcome("paid") }, false, ""},
		"no outcome of it":  {func(_ *device, app *App) { e(app).Arm(); _ = app.keep(); e(app).Outcome("left") }, true, "nothing"},
		"said no, then yes": {func(_ *device, app *App) { e(app).Arm(); _ = app.Consent(false); _ = app.Consent(true); e(app).Arm() }, false, ""},
		"no before it":      {func(_ *device, app *App) { _ = app.Consent(false); _ = app.Consent(true); e(app).Arm() }, true, "nothing"},
		"shown after a no":  {func(_ *device, app *App) { _ = app.Consent(false); e(app).Arm(); _ = app.Consent(true); e(app).Arm() }, false, ""},
		"switched off": {func(d *device, app *App) {
			d.t.(*testing.T).Setenv(client.Off, "1")
			if e(app).Arm() != "old" {
				d.t.Error("switched off it shows what was drawn")
			}
			d.t.(*testing.T).Setenv(client.Off, "")
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 12 {
				d := newDevice(t, registry(t, 1, s))
				app, one := d.agreed()
				from, until := asked("week", 12, one.Round)
				d.at = from.Add(time.Hour)
				c.happens(d, app)
				if err := app.keep(); err != nil {
					t.Fatal(err)
				}
				st, err := load(d.store)
				if err != nil {
					t.Fatal(err)
				}
				listed := app.metrics
				st.agree(listed, starts) // as if nobody had said no: it is unset then
				st.Agreed["welcome"] = agreement{m.hash(), starts}
				said := st.says(m, s, st.Seasons["week/12"].Kept, listed, from, until)
				want := none
				if c.drawn {
					want = st.Arms["welcome"].Arm + " / " + c.outcome
				}
				if said != want {
					t.Fatalf("it says %v, want %q", said, want)
				}
				if arm := e(app).Arm(); !c.drawn && name != "never shown" && name != "paid, not shown" && arm != "old" {
					t.Fatalf("it shows %q without a draw", arm)
				}
			}
		})
	}
	// Before a yes the first arm is shown, by an app that is closed too, and the device is out of the experiment.
	d := newDevice(t, registry(t, 1, s))
	app := &App{Registry: d.text, Publishers: []string{public(publisher)}}
	for range 40 {
		if e(app).Arm() != "old" {
			t.Fatal("a closed app shows what nobody drew")
		}
	}
	if err := errors.Join(app.Open(d.options()), app.Consent(true)); err != nil {
		t.Fatal(err)
	}
	if st, err := load(d.store); err != nil || st.Arms["welcome"].Arm != "" || e(app).Arm() != "old" {
		t.Errorf("%v: %+v", err, st.Arms)
	}
	// After its end everybody is shown the first one.
	d = newDevice(t, registry(t, 1, s))
	for {
		if app, _ = d.agreed(); e(app).Arm() == "new" {
			break
		}
		d = newDevice(t, registry(t, 1, s))
	}
	if d.at = starts.AddDate(1, 0, 0); e(app).Arm() != "old" {
		t.Error("an experiment that is over shows what was drawn")
	}
	if _, err := app.Arm("theme"); err == nil || !strings.Contains(err.Error(), `"theme" is no metric of editor`) {
		t.Error(err)
	}
}

// An answer of all kinds at once goes through a plan, in the crowd of the person's quarter.
func TestAnAnswerOfAllKindsIsSaid(t *testing.T) {
	s := series(t, 12, 12, append(kinds(), derived()...)...)
	s.Quarters = 3
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	for agreed, want := range map[string]string{"2026-12-01": "2026-Q4 on", "2026-09-30": "2026-Q3", "2026-04-01": "before 2026-Q3"} {
		d := newDevice(t, registry(t, 1, s))
		at, err := time.Parse(time.DateOnly, agreed)
		if err != nil {
			t.Fatal(err)
		}
		d.at = at
		app, one := d.agreed()
		from, _ := asked("week", 12, one.Round)
		d.at = from.Add(time.Hour)
		if err := errors.Join(app.Record("theme", "dark"), app.Record("start_seconds", 2.0), app.Record("export_funnel", "opened"), app.Record("welcome", "paid"), app.keep()); err != nil {
			t.Fatal(err)
		}
		d.asks(s, one)
		if _, err := app.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, err := client.ReadLedger(d.store)
		if err != nil || len(l.Entries) != 1 || l.Entries[0].CrowdName != fmt.Sprintf("crowd %q", want) || len(d.came) != 1 {
			t.Errorf("agreed on %s: %v: %s", agreed, err, l.Entries[0].CrowdName)
		}
	}
}

// Crowds are of quarters, few, and the same for everybody; weeks cannot be said.
func TestCrowdsAreOfQuarters(t *testing.T) {
	if got := strings.Join(quarters("week", 12, 4), ", "); got != "before 2026-Q2, 2026-Q2, 2026-Q3, 2026-Q4 on" {
		t.Error(got)
	}
	for month, want := range map[time.Month]string{1: "before 2026-Q2", 3: "before 2026-Q2", 4: "2026-Q2", 9: "2026-Q3", 10: "2026-Q4 on"} {
		if got := crowd("week", 12, 4, time.Date(2026, month, 15, 0, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("month %d: %s", month, got)
		}
	}
	if got := crowd("week", 12, 4, time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)); got != "2026-Q4 on" {
		t.Error(got)
	}
	for n, ok := range map[int]bool{-1: false, 0: true, 1: false, 2: true, 8: true, 9: false} {
		s := series(t, 12, 12, kinds()...)
		s.Quarters = n
		if err := s.validate(); (err == nil) != ok {
			t.Errorf("%d quarters: %v", n, err)
		}
	}
	s := series(t, 12, 12, kinds()...)
	s.Study.Plan.Crowd.Names = []string{"week 48", "week 49"}
	if err := s.validate(); err == nil {
		t.Error("crowds of weeks are taken")
	}
	// What nobody may know of a device but its quarter is not on its disk.
	st := &state{}
	st.agree(nil, time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC))
	if !st.First.Equal(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error(st.First)
	}
	if st.forget(); !st.First.IsZero() {
		t.Error("a no leaves the quarter of the yes")
	}
}

// What is retired takes its arm and its sequence along.
func TestRetiredKindsLeaveNothing(t *testing.T) {
	all := derived()
	listed := map[string]Metric{}
	for _, m := range all {
		listed[m.Name] = m
	}
	fresh := func() *state {
		return &state{Arms: map[string]arm{"welcome": {Arm: "new", Since: starts}}, Ahead: map[string]value{"export_funnel": {N: 1, Since: starts}}}
	}
	s := fresh()
	if s.retire(listed); !reflect.DeepEqual(s, fresh()) {
		t.Errorf("what is listed is gone: %+v", s)
	}
	if s.retire(map[string]Metric{}); len(s.Arms)+len(s.Ahead) != 0 {
		t.Errorf("what is not listed is kept: %+v", s)
	}
	other := listed["welcome"]
	other.Arms = []string{"old", "bold"}
	if s = fresh(); true {
		s.retire(map[string]Metric{"welcome": other})
	}
	if len(s.Arms) != 0 {
		t.Errorf("an arm that is none any more is kept: %+v", s.Arms)
	}
}

// The study of a table follows from the metrics beside it.
func TestATablesMetricsAreInItsSeries(t *testing.T) {
	s := series(t, 12, 12, append(kinds(), derived()[2])...)
	if err := (Registry{App: "editor", Version: 1, Series: []Series{s}}).Validate(); err != nil {
		t.Fatal(err)
	}
	alone := series(t, 12, 12, derived()[2])
	if err := (Registry{App: "editor", Version: 1, Series: []Series{alone}}).Validate(); err == nil || !strings.Contains(err.Error(), "asked beside it") {
		t.Error(err)
	}
}
