package metrics

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

func TestTypeScriptOfEveryKindIsGolden(t *testing.T) {
	got, err := typescript(every(), []string{"ed25519:xGfVCbufU22lJGj4nJ5R4j4dQVIKkD-dEvm7JF6EHRI"}, []byte("{\n \"registry\": \"</script> `${}` \\\"\"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/metrics.ts.txt"
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

// checked writes files beside a module and has the compiler of web look at them.
func checked(t *testing.T, files map[string]string) (string, error) {
	t.Helper()
	web, err := filepath.Abs("../../../../web")
	if err != nil {
		t.Fatal(err)
	}
	webtest.Node(t, web)
	dir := t.TempDir()
	options, err := json.Marshal(map[string]any{
		"compilerOptions": map[string]any{
			"strict": true, "noEmit": true, "declaration": true, "allowJs": true, "skipLibCheck": true, "target": "ES2022", "module": "NodeNext", "moduleResolution": "NodeNext", "types": []string{},
			"lib": []string{"ES2023", "DOM", "DOM.Iterable"}, "paths": map[string][]string{"@confetti-dp/client/metrics": {filepath.Join(web, "client", "metrics.js")}},
		},
		"include": []string{"*.ts"},
	})
	if err != nil {
		t.Fatal(err)
	}
	files["tsconfig.json"], files["package.json"] = string(options), `{"type": "module"}`
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), filepath.Join(web, "node_modules", ".bin", "tsc"), "-p", "tsconfig.json")
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// What is written passes the strict compiler beside calls of a page, and a value of another metric does not.
func TestTypeScriptCompilesBesideItsCalls(t *testing.T) {
	r := every()
	r.Metrics[8].Why = "Which theme */ is the default"
	module, err := typescript(r, []string{"ed25519:xGfVCbufU22lJGj4nJ5R4j4dQVIKkD-dEvm7JF6EHRI"}, []byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(line string) (string, error) {
		return checked(t, map[string]string{"metrics.ts": string(module), "page.ts": calledInPage + line})
	}
	if out, err := with(""); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line, says := range map[string]string{
		`counts.theme.set("solarized");`:   `Argument of type '"solarized"' is not assignable`,
		`counts.exportUsed.add("once");`:   "Argument of type 'string' is not assignable",
		`counts.sizeByTheme`:               "Property 'sizeByTheme' does not exist",
		`counts.newWelcome.outcome("old")`: `Argument of type '"old"' is not assignable`,
		`counts.exprtUsed.add();`:          "Property 'exprtUsed' does not exist",
		`await counts.start({bearers: 1})`: "'bearers' does not exist in type",
	} {
		if out, err := with(line); err == nil || !strings.Contains(out, says) {
			t.Errorf("%s: %v, %s", line, err, out)
		}
	}
}

const calledInPage = `import * as counts from "./metrics.js";

const stop: () => Promise<void> = await counts.start({ bearer: "somebody", problem: (error) => console.log(error.code) });
const words: string[] = await counts.fresh();
if (words.length > 0) await counts.consent(true);
counts.exportUsed.add();
counts.exportUsed.add(2);
counts.theme.set("dark");
counts.startSeconds.set(1.2);
counts.languages.add("c++");
counts.failingPlugin.set("vim-mode");
counts.exportFunnel.step("previewed");
counts.retention.step("opened");
const arm: "old" | "new" = await counts.newWelcome.arm();
counts.newWelcome.outcome(arm === "new" ? "paid" : "stayed");
await counts.it.record("theme", "dark");
await stop();
`

func TestTypeScriptRefusesNames(t *testing.T) {
	for name, change := range map[string]func(*metrics.Registry){
		"two names":      func(r *metrics.Registry) { r.Metrics[0].Name, r.Metrics[1].Name = "a_b", "a__b" },
		"its own":        func(r *metrics.Registry) { r.Metrics[0].Name = "consent" },
		"the language's": func(r *metrics.Registry) { r.Metrics[0].Name = "delete" },
	} {
		r := every()
		change(&r)
		if text, err := typescript(r, nil, nil); err == nil || !strings.Contains(err.Error(), "name it otherwise") {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
}

// A module of another registry is found, as CI asks; it has the registry as it was signed.
func TestTypeScriptFindsDrift(t *testing.T) {
	x := founded(t, 1, day(t, "2026-12-01"))
	declared := x.reviewed(week)
	x.sign(1)
	c := code{asked: x.asked(), TS: x.path("app/metrics.ts")}
	quiet := terminal.Streams{Out: io.Discard, Err: io.Discard}
	x.must(c.Run(quiet))
	text, err := os.ReadFile(c.TS)
	x.must(err)
	_, rest, _ := strings.Cut(string(text), "  registry: ")
	line, _, _ := strings.Cut(rest, ",\n")
	var embedded string
	x.must(json.Unmarshal([]byte(line), &embedded))
	if signed, err := os.ReadFile(x.path("app/confetti.registry.json")); err != nil || embedded != string(signed) {
		t.Errorf("%v: another registry is embedded than was signed", err)
	}
	c.Check = true
	x.must(c.Run(quiet))
	x.reviewed(strings.Replace(declared, `"dark"`, `"dark", "system"`, 1))
	x.at(day(t, "2027-01-20"))
	x.sign(1)
	if err := c.Run(quiet); err == nil || !strings.Contains(err.Error(), "confetti metrics code --ts") {
		t.Error(err)
	}
	if err := (code{asked: x.asked()}).Run(quiet); err == nil || !strings.Contains(err.Error(), "give --go, --kotlin, --swift, --python or --ts") {
		t.Error(err)
	}
}
