package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reading is what can read an answer or open a sum, or knows what one means.
var reading = regexp.MustCompile(`^(analyzer|client|dp/(bitsum|direction|encode|estimate|fragment|kde|randomize|sketch|tally|vector)|learn|protocol|question|release|shuffler)(/|$)`)

// packages are those of ours that have code or data in a program.
func packages(t *testing.T, program string) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "binary")
	c := exec.Command("go", "build", "-o", binary, program)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`github\.com/confetti-dp/confetti/((?:[^/.]+/)*[^/.]+)\.`)
	var found []string
	for _, s := range symbols {
		for _, m := range ours.FindAllStringSubmatch(s.Name, -1) {
			found = append(found, m[1])
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func readers(found []string) []string {
	return slices.DeleteFunc(slices.Clone(found), func(p string) bool { return !reading.MatchString(p) })
}

// What the import test says of the source, the linked program shows again.
func TestTheBinaryCannotReadAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("links two programs")
	}
	aggregator := packages(t, ".")
	for _, want := range []string{"aggregate", "internal/service/aggregated", "internal/prio3", "internal/dp/sum"} {
		if !slices.Contains(aggregator, want) {
			t.Fatalf("the binary's symbols do not show that %s is in it: %v", want, aggregator)
		}
	}
	if found := readers(aggregator); len(found) > 0 {
		t.Errorf("the aggregator's binary contains %v", found)
	}
	// The same look at a program that could.
	if found := readers(packages(t, "../confetti-shuffler/testdata/reader")); !slices.Contains(found, "internal/dp/tally") || !slices.Contains(found, "protocol") {
		t.Errorf("in a program that could read answers only %v was found", found)
	}
}

func TestExitCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(bad, []byte("keys = 'none'\n[http]\nlisten = 'here'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--help"}, 0, []string{"Usage: confetti-aggregator"}},
		{[]string{"leader"}, 2, []string{"--config"}},
		{[]string{"mixer", "--config", bad}, 2, []string{"leader"}},
		{[]string{"leader", "--config", bad + ".none"}, 2, []string{"no such file"}},
		{[]string{"helper", "--config", bad, "--check"}, 2, []string{"http.listen", "http.certificate", "keys", "publishers", "database", "pair"}},
		{[]string{"leader", "--config", bad}, 2, []string{"http.listen"}},
	} {
		var out, err bytes.Buffer
		if code := run(c.args, &out, &err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args, code, c.code)
		}
		for _, s := range c.says {
			if !strings.Contains(out.String()+err.String(), s) {
				t.Errorf("%v says nothing of %q:\n%s%s", c.args, s, &out, &err)
			}
		}
	}
}
