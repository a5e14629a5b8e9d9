package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/foreign"
)

// What an app counts wrongly, a registry that is not to be believed, a folder of another app and a clock that was set back
// are refused through C, each by its code. No refusal names the value, and nothing of it is kept.
func TestMetricsAreRefusedInC(t *testing.T) {
	p, folder := built(t).start("CI="), filepath.Join(t.TempDir(), "counts") // where CI is set an app counts nothing
	now := time.Now().UTC()
	expect := func(what, code string, r reply, names ...string) {
		t.Helper()
		for _, name := range names {
			if !strings.Contains(r.all, name) {
				t.Errorf("%s: %q is not named in %.300s", what, name, r.all)
			}
		}
		if r.code() != code || strings.Contains(r.all, "solarized") {
			t.Errorf("%s: want %q, got %.300s", what, code, r.all)
		}
	}
	signed := func(app string, version int) string {
		text, _, _ := foreign.Weekly(t, now, app, version)
		return string(text)
	}
	open := func(registry, publisher string) reply {
		t.Helper()
		text, err := json.Marshal(map[string]any{"registry": registry, "publishers": []string{publisher}})
		if err != nil {
			t.Fatal(err)
		}
		return p.ask("metrics_open", folder, string(text))
	}
	trusted, second := foreign.Public(foreign.Publisher), signed("editor", 2)
	expect("a stranger's registry", "publisher", open(second, publisher), "stranger")
	expect("a registry that was changed", "registry", open(strings.Replace(second, "Whether it is worth it", "Whether it is worth IT", 1), trusted))
	expect("no registry", "registry", open("{", trusted))
	if _, err := os.Stat(folder); err == nil {
		t.Error("what was refused has left a folder")
	}
	var opened struct{ Metrics uint64 }
	open(second, trusted).read(t, &opened)
	expect("before anybody agreed", "", p.ask("metrics_record", opened.Metrics, "theme", `"dark"`))
	if _, err := os.Stat(folder); err == nil {
		t.Error("before anybody agreed there is a folder")
	}
	expect("yes", "", p.ask("metrics_consent", opened.Metrics, 1))
	for _, c := range []struct{ code, name, value string }{
		{"unknown-metric", "exprt_used", "1"}, {"unknown-metric", "", "1"}, {"wrong-type", "theme", "3"}, {"wrong-type", "theme", "true"}, {"wrong-type", "theme", "null"}, {"wrong-type", "export_used", "1.5"},
		{"wrong-type", "export_used", `"often"`}, {"wrong-type", "export_used", "NaN"}, {"wrong-type", "export_used", "1 2"}, {"wrong-type", "export_used", "1e999"}, {"wrong-type", "theme", ""},
		{"outside-domain", "theme", `"solarized"`}, {"outside-domain", "export_used", "-1"},
		{"", "export_used", "2"}, {"", "theme", `"dark"`}, {"", "start_seconds", "1"}, {"", "start_seconds", "0.25"},
	} {
		r := p.ask("metrics_record", opened.Metrics, c.name, c.value)
		if c.code == "" {
			expect(c.name+" "+c.value, c.code, r)
		} else if expect(c.name+" "+c.value, c.code, r, c.name); len(c.value) > 3 && strings.Contains(r.all, c.value) {
			t.Errorf("the refusal of %s has the value: %.300s", c.name, r.all)
		}
	}
	expect("an arm of a counter", "wrong-type", p.ask("metrics_arm", opened.Metrics, "export_used"))
	p.ask("metrics_close", opened.Metrics)
	expect("closed", "ended", p.ask("metrics_record", opened.Metrics, "export_used", "1"))
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	before := map[string]string{}
	for _, file := range files {
		if filepath.Base(file) == "spool" {
			continue // a folder, and empty
		}
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text, []byte("solarized")) {
			t.Errorf("%s: %v, or it has what was refused", file, err)
		}
		before[file] = string(text)
	}
	expect("a registry that was rolled back", "rolled-back", open(signed("editor", 1), trusted), "registry 1 of editor", "registry 2")
	expect("another app's folder", "other-app", open(signed("player", 9), trusted), "editor", "player")
	for file, text := range before { // what is refused changes nothing
		if after, err := os.ReadFile(file); err != nil || string(after) != text {
			t.Errorf("%s is another one after a refusal: %v", file, err)
		}
	}

	foreign.Ahead(t, folder, []byte(second))
	open(second, trusted).read(t, &opened)
	r := p.ask("metrics_step", opened.Metrics)
	var told struct{ Code string }
	if r.code() == "" {
		r.read(t, &told)
	}
	if told.Code != "clock-back" && r.code() != "clock-back" {
		t.Errorf("a clock that was set back: %.300s", r.all)
	}
	p.ask("metrics_close", opened.Metrics)
}
