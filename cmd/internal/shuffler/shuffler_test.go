package shuffler

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/tools/architecture/linked"
)

func build(t *testing.T, command string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "binary")
	c := exec.Command("go", "build", "-o", binary, command)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// What the import test says of the source, the linked program shows again.
func TestTheBinaryCannotReadReports(t *testing.T) {
	if testing.Short() {
		t.Skip("links three programs")
	}
	const database = "internal/storage/keep/postgres"
	for _, program := range []string{"confetti-shuffler", "confetti-shuffler-postgres"} {
		mixer := linked.Build(t, "../../"+program)
		if !slices.Contains(mixer, "internal/service/shufflerd") || !slices.Contains(mixer, "envelope") {
			t.Fatalf("the symbols of %s do not show what is in it: %v", program, mixer)
		}
		if found := linked.Readers(mixer); len(found) > 0 {
			t.Errorf("%s contains %v", program, found)
		}
		if is := slices.Contains(mixer, database); is != (program != "confetti-shuffler") {
			t.Errorf("%s contains %s: %t", program, database, is)
		}
	}
	// The same look at a program that could.
	if found := linked.Readers(linked.Build(t, "./testdata/reader")); !slices.Contains(found, "internal/dp/fragment") || !slices.Contains(found, "internal/dp/tally") || !slices.Contains(found, "protocol") {
		t.Errorf("in a program that could read reports only %v was found", found)
	}
}

// The command lines under deploy are ones that this program takes.
func TestDeployedCommandLines(t *testing.T) {
	unit, err := os.ReadFile("../../../deploy/systemd/confetti-shuffler.service")
	if err != nil {
		t.Fatal(err)
	}
	worker, err := os.ReadFile("../../../deploy/systemd/confetti-shuffler-worker@.service")
	if err != nil {
		t.Fatal(err)
	}
	unit = append(unit, worker...)
	compose, err := os.ReadFile("../../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := os.ReadFile("../../../deploy/helm/confetti/templates/statefulset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`ExecStart(?:Pre)?=/usr/bin/confetti-shuffler(?:-postgres)? (.*)`).FindAllSubmatch(unit, -1)
	lines = append(lines, regexp.MustCompile(`command: \[("--config".*)\]`).FindAllSubmatch(compose, -1)...)
	lines = append(lines, regexp.MustCompile(`args: \[("--(?:config|worker)".*)\]`).FindAllSubmatch(chart, -1)...)
	if len(lines) != 7 {
		t.Fatalf("%d command lines, want 2 of each unit, 1 of the compose file, 2 of the chart", len(lines))
	}
	for _, l := range lines {
		var c cli
		args := strings.Fields(strings.NewReplacer(`", "`, " ", `"`, "", "{{ .Values.role }}", "shuffler", "%i", "1").Replace(string(l[1])))
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil || c.Config == "" {
			t.Errorf("%q: %v", args, err)
		}
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
		{[]string{"--help"}, 0, []string{"Usage: confetti-shuffler"}},
		{nil, 2, []string{"--config"}},
		{[]string{"--config", bad + ".none"}, 2, []string{"no such file"}},
		{[]string{"--config", bad, "--check"}, 2, []string{"http.listen", "http.certificate", "keys", "publishers", "queue"}},
		{[]string{"--config", bad}, 2, []string{"http.listen"}},
	} {
		var out, err bytes.Buffer
		if code := Run("confetti-shuffler", nil, c.args, &out, &err); code != c.code {
			t.Errorf("%v: exit code %d, want %d", c.args, code, c.code)
		}
		for _, s := range c.says {
			if !strings.Contains(out.String()+err.String(), s) {
				t.Errorf("%v says nothing of %q:\n%s%s", c.args, s, &out, &err)
			}
		}
	}
}
