package aggregator

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/tools/architecture/linked"
)

// What the import test says of the source, the linked program shows again.
func TestTheBinaryCannotReadAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("links three programs")
	}
	const database = "internal/storage/keep/postgres"
	for _, program := range []string{"confetti-aggregator", "confetti-aggregator-postgres"} {
		aggregator := linked.Build(t, "../../"+program)
		for _, want := range []string{"party/aggregator", "internal/service/aggregated", "internal/prio3", "internal/dp/sum"} {
			if !slices.Contains(aggregator, want) {
				t.Fatalf("the binary's symbols do not show that %s is in it: %v", want, aggregator)
			}
		}
		if found := linked.Readers(aggregator); len(found) > 0 {
			t.Errorf("%s contains %v", program, found)
		}
		if is := slices.Contains(aggregator, database); is != (program != "confetti-aggregator") {
			t.Errorf("%s contains %s: %t", program, database, is)
		}
	}
	// The same look at a program that could.
	if found := linked.Readers(linked.Build(t, "../shuffler/testdata/reader")); !slices.Contains(found, "internal/dp/tally") || !slices.Contains(found, "protocol") {
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
		{[]string{"helper", "--worker", "--config", bad}, 2, []string{"start more helpers"}},
		{[]string{"leader", "--files", bad, "--config", bad}, 2, []string{"has its shelves in a folder"}},
		{[]string{"leader", "--files", bad, "--worker", "--config", bad}, 2, []string{"can't be used together"}},
	} {
		var out, err bytes.Buffer
		if code := Run("confetti-aggregator", nil, c.args, &out, &err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args, code, c.code)
		}
		for _, s := range c.says {
			if !strings.Contains(out.String()+err.String(), s) {
				t.Errorf("%v says nothing of %q:\n%s%s", c.args, s, &out, &err)
			}
		}
	}
}
