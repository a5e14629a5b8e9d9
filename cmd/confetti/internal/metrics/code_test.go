package metrics

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// every returns a registry of each kind; nobody has designed a study for it.
func every() metrics.Registry {
	one := metrics.Metric{Every: "week", Owner: "ada@example.org", Ends: "2027-06-30"}
	counter, category, number, set, text := one, one, one, one, one
	counter.Name, counter.Kind, counter.Edges, counter.Why = "export_used", "counter", []float64{1, 2, 5, 10}, "Whether export is worth a button"
	category.Name, category.Kind, category.Values, category.Why = "theme", "category", []string{"light", "dark", "high-contrast"}, "Which theme is the default"
	number.Name, number.Kind, number.Edges, number.Keep, number.Why = "start_seconds", "number", []float64{0.5, 1, 2.5}, "highest", "Whether starting got slower"
	set.Name, set.Kind, set.Values, set.Most, set.Why = "languages", "set", []string{"go", "rust", "c++"}, 2, "Which highlighters to keep"
	text.Name, text.Kind, text.Alphabet, text.Longest, text.Why = "failing_plugin", "string", "abcdefghijklmnopqrstuvwxyz-", 12, "Which plugins break that we do not know"
	funnel, retention, table, welcome := one, one, one, one
	funnel.Name, funnel.Kind, funnel.Steps, funnel.Within, funnel.Why = "export_funnel", "sequence", []string{"opened", "previewed", "exported"}, "7d", "Where export is given up"
	retention.Name, retention.Kind, retention.Steps, retention.After, retention.Within, retention.Why = "retention", "sequence", []string{"opened", "opened"}, "2d", "5d", "Who comes back"
	table.Name, table.Kind, table.Of, table.Why = "size_by_theme", "table", []metrics.Metric{number.Axis([]float64{1}), category.Axis(nil)}, "Whether dark starts slower"
	welcome.Name, welcome.Kind, welcome.Arms, welcome.Outcomes, welcome.Why = "new_welcome", "experiment", []string{"old", "new"}, []string{"nothing", "stayed", "paid"}, "Whether the new welcome keeps people"
	return metrics.Registry{App: "editor", Version: 1, Metrics: []metrics.Metric{funnel, counter, text, set, welcome, retention, table, number, category}}
}

func TestCodeOfEveryKindIsGolden(t *testing.T) {
	got, err := generate(every(), []string{"ed25519:xGfVCbufU22lJGj4nJ5R4j4dQVIKkD-dEvm7JF6EHRI"}, "counts", "confetti.registry.json")
	if err != nil {
		t.Fatal(err)
	}
	python, err := generatePython(every(), []string{"ed25519:xGfVCbufU22lJGj4nJ5R4j4dQVIKkD-dEvm7JF6EHRI"}, "confetti.registry.json")
	if err != nil {
		t.Fatal(err)
	}
	for golden, got := range map[string][]byte{"testdata/counts.go.txt": got, "testdata/counts.py.txt": python} {
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: go test ./cmd/confetti/internal/metrics -run Golden -args -update\n%s", err, got)
		}
	}
}

// What is written compiles beside calls of an app, in the module that it is of.
func TestCodeCompilesBesideItsCalls(t *testing.T) {
	for _, m := range every().Metrics {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
	text, err := generate(every(), []string{"ed25519:xGfVCbufU22lJGj4nJ5R4j4dQVIKkD-dEvm7JF6EHRI"}, "counts", "confetti.registry.json")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("testdata", "counts-") // where no pattern of packages looks
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"counts.go": string(text), "confetti.registry.json": "{}", "calls_test.go": calls} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "vet", "./"+dir).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "calls_test.go"), []byte(strings.Replace(calls, "ThemeDark", "LanguagesGo", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", "./"+dir).CombinedOutput(); err == nil {
		t.Errorf("an item of a set is taken as a theme: %s", out)
	}
}

const calls = `package counts

import (
	"testing"

	"github.com/confetti-dp/confetti/client"
)

func TestCalls(t *testing.T) {
	stop, err := Start(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ExportUsed.Add(1)
	Theme.Set(ThemeDark)
	StartSeconds.Set(1.2)
	Languages.Add(LanguagesC)
	FailingPlugin.Set("vim-mode")
	ExportFunnel.Step(ExportFunnelPreviewed)
	Retention.Step(RetentionOpened)
	if NewWelcome.Arm() == NewWelcomeNew {
		t.Error("before the person has agreed the new welcome is shown")
	}
	NewWelcome.Outcome(NewWelcomePaid)
	if err := stop(); err != nil {
		t.Error(err)
	}
}
`

func TestCodeRefusesNamesThatCollide(t *testing.T) {
	for name, change := range map[string]func(*metrics.Registry){
		"two values":           func(r *metrics.Registry) { r.Metrics[8].Values = []string{"a b", "a-b"} },
		"its own":              func(r *metrics.Registry) { r.Metrics[1].Name = "start" },
		"an arm as an outcome": func(r *metrics.Registry) { r.Metrics[4].Outcomes = []string{"nothing", "new"} },
		"no letter":            func(r *metrics.Registry) { r.Metrics[8].Values = []string{"dark", "++"} },
	} {
		r := every()
		change(&r)
		if text, err := generate(r, nil, "counts", "r.json"); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestPythonRefusesNamesThatCollide(t *testing.T) {
	for name, change := range map[string]func(*metrics.Registry){
		"a word of Python": func(r *metrics.Registry) { r.Metrics[1].Name = "lambda" },
		"its own":          func(r *metrics.Registry) { r.Metrics[1].Name = "start" },
		"two types": func(r *metrics.Registry) {
			one, other := r.Metrics[0], r.Metrics[0]
			one.Name, other.Name = "a_1", "a1"
			r.Metrics = append(r.Metrics, one, other)
		},
	} {
		r := every()
		change(&r)
		if text, err := generatePython(r, nil, "r.json"); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A file of another registry is found, as CI asks.
func TestCodeFindsDrift(t *testing.T) {
	x := founded(t, 1, day(t, "2026-12-01"))
	declared := x.reviewed(week)
	x.sign(1)
	c := code{asked: x.asked(), Go: x.path("app/app.go"), Python: x.path("app/app.py")}
	quiet := terminal.Streams{Out: io.Discard, Err: io.Discard}
	x.must(c.Run(quiet))
	c.Check = true
	x.must(c.Run(quiet))
	x.reviewed(strings.Replace(declared, `"dark"`, `"dark", "system"`, 1))
	x.at(day(t, "2027-01-20"))
	x.sign(1)
	for _, c := range []code{{asked: c.asked, Go: c.Go, Check: true}, {asked: c.asked, Python: c.Python, Check: true}} {
		if err := c.Run(quiet); err == nil || !strings.Contains(err.Error(), "is of another registry") {
			t.Error(err)
		}
	}
	for _, c := range []code{{asked: c.asked}, {asked: c.asked, Python: x.path("elsewhere/app.py")}} {
		if err := c.Run(quiet); err == nil {
			t.Errorf("no file, or one that lies elsewhere than its registry, is taken: %+v", c)
		}
	}
}
