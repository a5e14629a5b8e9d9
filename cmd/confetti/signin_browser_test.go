package main

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
)

// appPage is the page of an app at which people sign in and answer.
var appPage = template.Must(template.New("page").Parse(`<!doctype html><html lang="en"><title>App</title>
<script type="application/json" id="settings">{{.}}</script>
<main><button id="begin">Sign in and answer</button> <button id="other">Sign in for something else</button></main>
<script type="module" src="/page.js"></script></html>`))

// app serves the page, for what the settings say once they are known.
func app(t *testing.T, web string, settings *map[string]any) *httptest.Server {
	t.Helper()
	script := filepath.Join(t.TempDir(), "page.js")
	bundle := exec.CommandContext(t.Context(), filepath.Join(web, "node_modules", ".bin", "esbuild"), "wire/test/page.ts", "--bundle", "--platform=browser", "--format=esm", "--target=es2022", "--outfile="+script)
	bundle.Dir = web
	if out, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, script) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { appPage.Execute(w, *settings) })
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// People sign in at a provider with browsers of their own, over its redirects, and the page answers
// with the tokens that the issuer gives for their identity tokens: each person counts once. A token
// for another sign-in, plan or app, one that is old, and a way back that this browser has not begun
// give none.
func TestPeopleSignInWithABrowserAndAnswer(t *testing.T) {
	browser := webtest.Browser(t)
	web, err := filepath.Abs(filepath.Join("..", "..", "web"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.Node(t, web)
	provider, settings := identitytest.New(t), map[string]any{}
	page := app(t, web, &settings)
	provider.AllowPage("app", page.URL)
	at, s, signed := startTrial(t, 4, 1, func(at trial.Folder, _ plan.Signed) {
		configs, err := filepath.Glob(filepath.Join(string(at), "*", "*.toml"))
		if err != nil || len(configs) < 4 {
			t.Fatal(configs, err)
		}
		for _, path := range configs {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			whole := strings.Replace(string(text), "[http]\n", fmt.Sprintf("[http]\norigins = [%q]\n", page.URL), 1)
			if path == at.Config(plans.Party{Role: "issuer"}) {
				whole = withoutBearers(whole) + fmt.Sprintf("\n[oidc]\nissuer = '%s'\naudience = 'app'\nroots = '%s'\n", provider.URL, provider.Roots)
			}
			if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	settings["provider"], settings["client"], settings["service"] = provider.URL, "app", signed.Plan.Analyzer.URL
	settings["plan"], settings["publisher"], settings["answers"] = signed.Plan.Name(), signed.Publisher, [][]string{{"green"}}

	person := func() *webtest.Tab {
		b := webtest.Open(t, browser, webtest.Phone, chromedp.WithNewBrowserContext())
		b.TrustAnybody()
		return b
	}
	outcome := func(b *webtest.Tab) string {
		b.Do(webtest.Until(`document.body?.dataset.outcome !== undefined`))
		return webtest.Ask(b, chromedp.Evaluate[string](`document.body.dataset.outcome`))
	}
	signsIn := func(b *webtest.Tab, button string) string {
		b.Do(chromedp.Navigate(page.URL), chromedp.Click(button))
		return outcome(b)
	}
	const people = 4
	for i := range people {
		provider.SignedIn(fmt.Sprintf("person-%d", i), nil)
		b := person()
		if got := signsIn(b, "#begin"); got != "sent" {
			t.Fatalf("person %d: %s; %q", i, got, b.Found())
		}
		if i > 0 {
			continue
		}
		// The same person again, who has tokens already, and a reload, which has begun nothing.
		b.Do(chromedp.Reload())
		if got := outcome(b); got != "not begun here" {
			t.Errorf("a way back serves twice: %s", got)
		}
		if got := signsIn(person(), "#begin"); got != "token-issued" {
			t.Errorf("a person with another browser: %s", got)
		}
	}

	now := time.Now().Unix()
	b := person()
	for name, change := range map[string]func(map[string]any){
		"another nonce":       func(c map[string]any) { c["nonce"] = "x" },
		"expired":             func(c map[string]any) { c["iat"], c["exp"] = now-7200, now-3600 },
		"given out long ago":  func(c map[string]any) { c["iat"] = now - 7200 },
		"for another app":     func(c map[string]any) { c["aud"] = "another" },
		"of another provider": func(c map[string]any) { c["iss"] = "https://127.0.0.1:1" },
	} {
		provider.SignedIn("eve", change)
		if got := signsIn(b, "#begin"); got != "unauthenticated" {
			t.Errorf("a token that is %s: %s", name, got)
		}
	}
	provider.SignedIn("eve", nil)
	if got := signsIn(b, "#other"); got != "unauthenticated" {
		t.Errorf("a token for another plan: %s", got)
	}
	// Somebody is led to a way back that another browser has begun.
	stranger := person()
	stranger.Do(chromedp.Navigate(page.URL + "/?code=code-1&state=x"))
	if got := outcome(stranger); got != "not begun here" {
		t.Errorf("another state: %s", got)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`sessionStorage.setItem("sign-in", JSON.stringify({secret: "s", nonce: "n", state: "right", verifier: "v"}))`), chromedp.Navigate(page.URL+"/?code=code-1&state=wrong"))
	if got := outcome(b); got != "not begun here" {
		t.Errorf("a state of another sign-in: %s", got)
	}

	command(t, "plan", "close", at.Path(trial.Plan), "--dir", string(at))
	state, err := s.Progress(t.Context(), signed)
	if err != nil || state.Status != analyzerd.Released || len(state.Batches) != 1 || state.Batches[0].Respondents != people {
		text, _ := json.Marshal(state)
		t.Fatalf("%s, %v", text, err)
	}
	release := filepath.Join(t.TempDir(), "release")
	command(t, "release", "fetch", "--dir", string(at), "--out", release)
	command(t, "release", "verify", release, "--publishers", at.Path(trial.Publishers))
	opened(t, release, people)
}

// withoutBearers is an issuer's configuration in which nobody is known by a token of the operator's.
func withoutBearers(config string) string {
	var kept strings.Builder
	for line := range strings.Lines(config) {
		if !strings.HasPrefix(line, "bearers = ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
