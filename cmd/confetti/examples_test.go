package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/tools/doctest"
	"github.com/confetti-dp/confetti/web/client"
)

// lines runs what a shell is told in a folder, and returns what it prints.
func lines(t *testing.T, dir string, told string, env ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-ec", told)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	text, err := c.CombinedOutput()
	return string(text), err
}

// The examples answer a trial, each with a token of its own, by the lines of their page: a program in Go, one of Node, a
// page, and one in React. The analyzer counts all four. A token that is no token is told by its code.
func TestExamples(t *testing.T) {
	need := func(what string, err error) {
		t.Helper()
		if err == nil {
			return
		}
		if os.Getenv("CONFETTI_NODE") == "require" {
			t.Fatalf("%s: %v", what, err)
		}
		t.Skipf("%s: %v", what, err)
	}
	for _, name := range []string{"npm", "node"} {
		_, err := exec.LookPath(name)
		need("examples for browsers and Node", err)
	}
	browser := webtest.Browser(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	page, err := os.ReadFile(filepath.Join(root, "docs/examples/README.md"))
	if err == nil {
		err = os.CopyFS(work, os.DirFS(filepath.Join(root, "docs/examples")))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "version")
	typed := map[string][]string{} // by the folder that they begin in
	in := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, begins := strings.CutPrefix(line, "cd "); begins {
			in, line, _ = strings.Cut(rest, " && ")
		}
		if line == "```" {
			in = ""
		} else if in != "" && line != "" {
			line, _, _ = strings.Cut(line, " && python3 -m http.server 8000") // the test serves it
			typed[in] = append(typed[in], line)
		}
	}
	if len(typed) != 3 {
		t.Fatalf("the page has lines for %d examples", len(typed))
	}

	files, err := webclient.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(work, "package")
	if err := os.CopyFS(packed, os.DirFS(filepath.Join(root, "web/client"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"confetti.wasm", "wasm_exec.js"} {
		f, err := files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		made, err := os.Create(filepath.Join(packed, name))
		if err == nil {
			_, err = made.ReadFrom(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		made.Close()
		f.Close()
	}
	if out, err := lines(t, packed, "npm pack --ignore-scripts --offline --pack-destination .."); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	served := map[string]string{"page": "page", "react": "react/public"}
	at := map[string]string{}
	var origins []string
	for name, folder := range served {
		s := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(work, folder))))
		t.Cleanup(s.Close)
		at[name], origins = s.URL, append(origins, s.URL)
	}
	dir := filepath.Join(work, "trial")
	trialFor(t, dir, origins...)
	tokens, err := os.ReadFile(filepath.Join(dir, "devices.tokens"))
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Fields(string(tokens))
	given, err := os.ReadFile(filepath.Join(dir, "app.json"))
	if err != nil {
		t.Fatal(err)
	}
	// as makes app.json that of another respondent.
	as := func(bearer string) {
		t.Helper()
		var a map[string]any
		err := json.Unmarshal(given, &a)
		if a["bearer"] = bearer; err == nil {
			var text []byte
			if text, err = json.Marshal(a); err == nil {
				err = os.WriteFile(filepath.Join(dir, "app.json"), text, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	said := regexp.MustCompile(`You said: .*(the coin's|nothing, as happens by chance)\.`)

	app, module := filepath.Join(work, "program"), filepath.Join(root, "docs/examples/app")
	if out, err := lines(t, module, "GOWORK=off go list -mod=readonly -deps . >"+os.DevNull+"; go build -o '"+app+"' .", "GOWORK="+doctest.Together(t, root, module)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := lines(t, work, "'"+app+"' trial/app.json green"); err != nil || !said.MatchString(out) {
		t.Errorf("Go: %v\n%s", err, out)
	}
	if out, err := lines(t, work, "'"+app+"' trial/app.json green"); err == nil || !strings.Contains(out, "answered before") {
		t.Errorf("Go, again: %v\n%s", err, out)
	}
	counted := 1

	begun := "npm_config_offline=true"
	as("cft_nobody")
	if out, err := lines(t, filepath.Join(work, "node"), strings.Join(typed["node"], "\n"), begun); err == nil || !strings.Contains(out, "credential: ") {
		t.Errorf("Node, without a token: %v\n%s", err, out)
	}
	as(own[len(own)-1])
	if out, err := lines(t, filepath.Join(work, "node"), strings.Join(typed["node"][1:], "\n")); err != nil || !said.MatchString(out) {
		t.Errorf("Node: %v\n%s", err, out)
	}
	if out, err := lines(t, filepath.Join(work, "node"), strings.Join(typed["node"][1:], "\n")); err == nil || !strings.Contains(out, "answered: ") {
		t.Errorf("Node, again: %v\n%s", err, out)
	}
	counted++

	// opened has a browser answer at an address.
	opened := func(name string, says *regexp.Regexp, answer chromedp.Action[chromedp.Void]) {
		t.Helper()
		b := webtest.Open(t, browser, webtest.Phone, chromedp.WithNewBrowserContext())
		b.TrustAnybody()
		b.Do(chromedp.Navigate(at[name]))
		if answer != nil {
			b.Do(answer)
		}
		text := ""
		for begun := time.Now(); !says.MatchString(text); time.Sleep(100 * time.Millisecond) {
			if text = webtest.Ask(b, chromedp.Text("body")); time.Since(begun) > time.Minute {
				t.Fatalf("%s reads %q; %q", name, text, b.Found())
			}
		}
	}
	if out, err := lines(t, filepath.Join(work, "page"), strings.Join(typed["page"], "\n"), begun); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	choose := webtest.Until(`(() => {
		const button = document.querySelector("form button");
		if (!button || button.disabled) return false;
		document.querySelector("input[value=green]").click();
		button.click();
		return true;
	})()`)
	as("cft_nobody")
	if out, err := lines(t, filepath.Join(work, "page"), "cp ../trial/app.json ."); err != nil {
		t.Fatal(err, out)
	}
	opened("page", regexp.MustCompile(`credential: `), choose)
	as(own[len(own)-2])
	if out, err := lines(t, filepath.Join(work, "page"), typed["page"][1]); err != nil {
		t.Fatal(err, out)
	}
	opened("page", said, choose)
	counted++

	as(own[len(own)-3])
	if out, err := lines(t, filepath.Join(work, "react"), strings.Join(typed["react"], "\n")); err != nil {
		if out, absent := lines(t, filepath.Join(work, "react"), "npm ci --ignore-scripts --no-audit --no-fund"); absent != nil {
			need("React is not here, and npm has it not: "+out, absent)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	opened("react", said, webtest.Until(`(() => {
		const button = [...document.querySelectorAll("button")].find((b) => b.textContent === "green");
		button?.click();
		return !!button;
	})()`))
	counted++

	values := filepath.Join(work, "values.csv")
	if err := os.WriteFile(values, []byte("colour\n"+strings.Repeat("blue\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "submit", values, "--dir", dir, "--devices")
	command(t, "plan", "close", "--dir", dir)
	out := filepath.Join(work, "release")
	command(t, "release", "fetch", "--dir", dir, "--out", out)
	if shown := command(t, "release", "show", filepath.Join(out, "release.json")); !regexp.MustCompile(`Respondents counted +104\b`).MatchString(shown) || counted != 4 {
		t.Errorf("of 100 devices and %d examples are counted:\n%.600s", counted, shown)
	}
}
