package metrics

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/fetched"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/study/trends"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/release/verify"
)

var (
	devices = flag.Int("devices", 80, "how many devices use the example's app for a month")
	monthTo = flag.String("month", "", "where to write the pages of that month")
)

// get returns what an address of the services has.
func (x *team) get(_ context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := x.network.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return text, err
}

// fetched writes what confetti study fetch does of a season, and returns its folder and how many rounds were released.
func (x *team) fetched(season signedSeason) (dir string, released int) {
	x.t.Helper()
	dir = x.path("fetched-" + strings.ReplaceAll(season.Name, "/", "-"))
	rounds, err := progress.Plans(x.t.Context(), "https://analyzer.test", x.get)
	x.must(err)
	rounds = slices.DeleteFunc(rounds, func(p progress.Plan) bool { return p.Study != season.Study })
	for _, r := range rounds {
		if r.Status != progress.Released {
			x.t.Logf("season %s, round %d: %s %s", season.Name, r.Round, r.Standing(), r.Reason)
			continue
		}
		released++
		folder := filepath.Join(dir, fmt.Sprintf("round-%d", r.Round))
		x.must(os.MkdirAll(folder, 0o755))
		signed, err := x.get(x.t.Context(), "https://analyzer.test/v1/plans/"+r.Plan)
		x.must(err)
		x.must(os.WriteFile(filepath.Join(folder, verify.SignedFile), signed, 0o600))
		for _, file := range verify.Published[:3] { // the release, its page and its counts
			text, err := x.get(x.t.Context(), "https://analyzer.test/v1/releases/"+r.Plan+"."+verify.Format(file))
			x.must(err)
			x.must(os.WriteFile(filepath.Join(folder, file), text, 0o600))
		}
	}
	x.must(fetched.SaveProgress(dir, rounds))
	return dir, released
}

// trend returns what confetti study trend says of a season, and its page.
func (x *team) trend(dir string, note string) (says, drawn string) {
	x.t.Helper()
	var out bytes.Buffer
	page := filepath.Join(dir, "trend.html")
	c := trends.Command{Folder: []string{dir}, Out: page}
	if note != "" {
		c.Note = []string{note}
	}
	x.must(c.Run(terminal.Streams{Out: &out, Err: io.Discard}))
	text, err := os.ReadFile(page)
	x.must(err)
	return out.String(), string(text)
}

// user is somebody made up, who uses the example's app.
type user struct {
	app  *metrics.App
	r    *rand.Rand
	dark bool // likes it dark, once it is the default
}

// day is what they do on one: the calls are those of the generated code, by name.
func (u user) day(version int) error {
	r := u.r
	say := func(name string, v any) error { return u.app.Record(name, v) }
	theme := "light"
	if u.dark && (version == 5 || r.IntN(3) == 0) {
		theme = "dark"
	}
	seconds := math.Exp(0.6*r.NormFloat64() - 0.4)
	if theme == "dark" {
		seconds *= 1.4
	}
	paid := 0.03
	arm, err := u.app.Arm("new_welcome")
	if err != nil {
		return err
	}
	if arm == "new" {
		paid = 0.06
	}
	calls := []func() error{
		func() error { return say("retention", "opened") },
		func() error { return say("export_funnel", "opened") },
		func() error { return say("theme", theme) },
		func() error { return say("start_seconds", seconds) },
		func() error {
			return say("languages", []string{"go", "rust", "python", "typescript", "java"}[r.IntN(5)])
		},
	}
	if r.IntN(3) == 0 {
		calls = append(calls, func() error { return say("export_funnel", "previewed") })
		if r.IntN(2) == 0 {
			calls = append(calls, func() error { return say("export_funnel", "exported") }, func() error { return say("export_used", 1+r.IntN(3)) })
		}
	}
	if r.IntN(60) == 0 {
		calls = append(calls, func() error { return say("crashed", 1) })
	}
	if r.Float64() < paid {
		calls = append(calls, func() error { return say("new_welcome", "paid") })
	}
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// The example's metrics, all but its string, are used for a month by made-up people, through services that run on a clock of their own. Each device says
// at most one answer of each season, and what comes out is the dictionary and a trend of each metric.
//
// Of 3,000 devices: go test ./cmd/confetti/internal/metrics -run AMonth -timeout 60m -args -devices 3000 -month DIR
func TestAMonthOfTheExample(t *testing.T) {
	x := founded(t, *devices, day(t, "2026-12-01"))
	text, err := os.ReadFile("../../../../docs/examples/metrics/confetti.toml")
	x.must(err)
	_, declared, found := strings.Cut(string(text), "publishers = [\"PUBLISHER\"]\n")
	if !found {
		t.Fatal("the example names no publisher to be replaced")
	}
	// So few people, of whom a quarter answers each week: more epsilon, and no string, of which so few would find none.
	for was, is := range map[string]string{"[week]              # one plan of all metrics of a week; a season is four weeks\nepsilon = 1.0": "[week]\nepsilon = 3.0", "ends = 2027-01-31": "ends = 2026-11-30", "minimum = 10000": fmt.Sprintf("minimum = %d\npoints = 100", max(5, *devices/10))} {
		if !strings.Contains(declared, was) {
			t.Fatalf("the example has no %q", was)
		}
		declared = strings.ReplaceAll(declared, was, is)
	}
	x.reviewed(declared)
	signed := x.sign(1)
	begins := day(t, "2026-12-07")
	everybody := make([]user, *devices)
	for i := range everybody {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		everybody[i] = user{x.installed(i), r, r.IntN(2) == 0}
		x.must(everybody[i].app.Consent(true))
	}
	for d := range 7 * 7 {
		version := 4
		if d >= 21 {
			version = 5 // three weeks in
		}
		x.at(begins.AddDate(0, 0, d-7).Add(3 * time.Hour))
		if d%7 == 0 {
			x.conclude()
		}
		for i, u := range everybody {
			switch {
			case u.r.IntN(3) != 0: // opens the app every third day
			case d >= 35: // only answers what is left
			default:
				x.must(u.day(version))
			}
			if (d+i)%7 == 3 || d%7 == 6 { // an app steps now and then, and has kept what it counted
				if _, err := u.app.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	x.conclude()
	answers := 0
	for i := range everybody {
		l := x.ledger(i)
		seasons := map[string]bool{}
		for _, e := range l.Entries {
			if seasons[e.Study] {
				t.Fatalf("device %d has answered a season twice", i)
			}
			seasons[e.Study] = true
		}
		answers += len(l.Entries)
	}
	if answers < *devices {
		t.Errorf("%d devices have given %d answers", *devices, answers)
	}
	for _, season := range signed.Seasons {
		dir, released := x.fetched(season)
		if released == 0 {
			if season.Name != "month/4" { // it goes on
				t.Fatalf("season %s has no release", season.Name)
			}
			continue
		}
		says, drawn := x.trend(dir, "2026-12-21=version 5.0")
		t.Logf("season %s, %d rounds:\n%s", season.Name, released, says)
		if season.Name == "week/12" {
			for _, name := range []string{"crashed", "export_funnel", "export_used", "new_welcome", "start_by_theme", "start_seconds", "theme"} {
				if !strings.Contains(drawn, name) || !strings.Contains(says, name+": ") {
					t.Errorf("the trend says nothing of %s", name)
				}
			}
		}
		x.show(strings.ReplaceAll(season.Name, "/", "-")+".html", []byte(drawn))
	}
	out := x.path("dictionary.html")
	x.must(page{asked: x.asked(), Out: out}.Run(terminal.Streams{Out: io.Discard, Err: io.Discard}))
	shown, err := os.ReadFile(out)
	x.must(err)
	if n := strings.Count(string(shown), "<li id="); n != 9 {
		t.Errorf("the dictionary has %d of nine metrics", n)
	}
	x.show("dictionary.html", shown)
}

// show writes a page of the month, where somebody asks for it.
func (x *team) show(name string, text []byte) {
	x.t.Helper()
	if *monthTo != "" {
		x.must(os.MkdirAll(*monthTo, 0o755))
		x.must(os.WriteFile(filepath.Join(*monthTo, name), text, 0o644))
	}
}

// Where quarters are declared each crowd has numbers of its own, through services, and a trend.
func TestQuartersAreCountedApart(t *testing.T) {
	const people = 64
	x := founded(t, people, day(t, "2026-12-01"))
	x.reviewed(strings.Replace(week, "minimum = 8\n", "minimum = 3\ncrowds = \"2 quarters\"\n", 1))
	season := x.sign(1).Seasons[0]
	apps := make([]*metrics.App, people)
	for i := range apps {
		apps[i] = x.installed(i)
		x.at(day(t, []string{"2026-09-15", "2026-12-01"}[i%2])) // half of them have agreed for longer
		x.must(apps[i].Consent(true))
	}
	for week := range 6 {
		monday := day(t, "2026-12-07").AddDate(0, 0, 7*week)
		x.at(monday.Add(2 * time.Hour))
		x.conclude()
		for _, days := range []int{3, 5} {
			x.at(monday.AddDate(0, 0, days))
			for i, app := range apps {
				x.must(app.Record("theme", []string{"light", "dark"}[i%2]))
				_, err := app.Step(t.Context())
				x.must(err)
			}
		}
	}
	crowds := map[string]int{}
	for i := range apps {
		l := x.ledger(i)
		if len(l.Entries) != 1 {
			t.Fatalf("device %d has said %d answers", i, len(l.Entries))
		}
		crowds[l.Entries[0].CrowdName]++
	}
	if crowds[`crowd "before 2026-Q4"`] != people/2 || crowds[`crowd "2026-Q4 on"`] != people/2 {
		t.Errorf("answers came in crowds: %v", crowds)
	}
	dir, released := x.fetched(season)
	if released == 0 {
		t.Fatal("nothing is released")
	}
	if says, _ := x.trend(dir, ""); !strings.Contains(says, "theme, before 2026-Q4: ") || !strings.Contains(says, "theme, 2026-Q4 on: ") {
		t.Errorf("the trend of %d rounds says %s", released, says)
	}
}
