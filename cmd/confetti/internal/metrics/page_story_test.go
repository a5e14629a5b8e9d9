package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/testkit/foreign"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/web/client"
)

// site serves the example's page with what was generated for it, in a browser whose clock is the team's.
type site struct {
	*team
	web  string // the folder of the tree
	page *httptest.Server
	tab  *webtest.Tab

	gone   atomic.Bool  // the services answer nobody
	missed atomic.Int32 // requests meanwhile

	mu     sync.Mutex
	module []byte // metrics.js
	wasm   int    // how often the module of the client was asked for
}

// clock shifts the clock of a page, or of its worker, to the team's.
func (s *site) clock() string {
	return fmt.Sprintf("const shift = %d - Date.now(), Real = Date;\nglobalThis.Date = class extends Real {\n  constructor(...of) { of.length ? super(...of) : super(Real.now() + shift); }\n  static now() { return Real.now() + shift; }\n};\n", s.now().UnixMilli())
}

// ServeHTTP implements http.Handler.
func (s *site) serve(client http.Handler, scripts fs.FS) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, kind, text string) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		io.WriteString(w, text)
	}
	mux.HandleFunc("/clock.js", func(w http.ResponseWriter, _ *http.Request) { answer(w, "text/javascript", s.clock()) })
	mux.HandleFunc("/confetti/worker.js", func(w http.ResponseWriter, _ *http.Request) {
		text, err := fs.ReadFile(scripts, "worker.js")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, "text/javascript", "import \"/clock.js\";\n"+string(text))
	})
	mux.HandleFunc("/confetti/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".wasm") {
			s.mu.Lock()
			s.wasm++
			s.mu.Unlock()
		}
		http.StripPrefix("/confetti", client).ServeHTTP(w, r)
	})
	mux.HandleFunc("/metrics.js", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		answer(w, "text/javascript", string(s.module))
	})
	mux.HandleFunc("/app.json", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "application/json", fmt.Sprintf(`{"bearer": %q, "delay": 0}`, s.people[0]))
	})
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		text, err := os.ReadFile(filepath.Join(s.web, "../docs/examples/metrics/index.html"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, "text/html", strings.Replace(string(text), "<script", "<script src=\"/clock.js\"></script>\n<script", 1))
	})
	return mux
}

// opened returns a site with a team of so many people, and a tab on nothing.
func opened(t *testing.T, people int, at time.Time) *site {
	t.Helper()
	web, err := filepath.Abs("../../../../web")
	if err != nil {
		t.Fatal(err)
	}
	webtest.Node(t, web)
	files, err := webclient.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{web: web}
	s.page = httptest.NewServer(s.serve(webclient.Handler(files), files))
	t.Cleanup(s.page.Close)
	s.team = founded(t, people, at, s.page.URL)
	services := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, there := s.network[r.Host]
		if s.gone.Load() {
			s.missed.Add(1)
			http.Error(w, "for now", http.StatusServiceUnavailable)
			return
		}
		if !there {
			http.Error(w, "nobody", http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(services.Close)
	_, port, err := net.SplitHostPort(services.Listener.Addr().String())
	s.must(err)
	browser := webtest.Browser(t,
		chromedp.Flag("host-resolver-rules", "MAP hop.test:443 127.0.0.1:"+port+", MAP analyzer.test:443 127.0.0.1:"+port),
		chromedp.Flag("ignore-certificate-errors", true), chromedp.Flag("disable-blink-features", "AutomationControlled"))
	s.tab = webtest.Open(t, browser, webtest.Screens[0])
	return s
}

// code writes the module of the registry as it is now, as a page loads it.
func (s *site) code() {
	s.t.Helper()
	made := s.path("app/metrics.ts")
	s.must(code{asked: s.asked(), TS: made}.Run(terminal.Streams{Out: io.Discard, Err: io.Discard}))
	c := exec.CommandContext(s.t.Context(), filepath.Join(s.web, "node_modules", ".bin", "esbuild"), made, "--format=esm")
	var said bytes.Buffer
	c.Stderr = &said
	text, err := c.Output()
	if err != nil {
		s.t.Fatalf("%v: %s", err, said.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.module = text
}

// modules returns how often the client's module was loaded so far.
func (s *site) modules() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wasm
}

// visit opens the page at a time, and waits until it has started.
func (s *site) visit(at time.Time) {
	s.t.Helper()
	s.at(at)
	s.tab.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.page.URL+"/"), webtest.Until(`document.body?.dataset.started === "yes"`))
}

// js evaluates a body of an async function in the page, where counts is the generated module and kept what is in the store.
func (s *site) js(body string) string {
	s.t.Helper()
	return webtest.Ask(s.tab, chromedp.Evaluate[string](`(async () => {
		const counts = await import("./metrics.js");
		const { database } = await import("./confetti/store.js");
		const store = await database("confetti");
		const kept = async (name) => { const text = await store.load(name); return text ? JSON.parse(new TextDecoder().decode(text)) : undefined; };
		const result = await (async () => { `+body+` })().catch((error) => ({ code: error.code ?? "thrown", message: String(error) }));
		return JSON.stringify(result ?? null);
	})()`, chromedp.EvalAwaitPromise))
}

// until waits until an expression of the same is true.
func (s *site) until(expression string) {
	s.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for s.js("return "+expression+";") != "true" {
		if time.Now().After(deadline) {
			s.t.Fatalf("it is not so that %s: %s; %s", expression, s.js(`return [await kept("metrics"), await kept("counted")];`), s.tab.Found())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// state is what the page's device keeps, as far as a page reads it.
type keptState struct {
	Seasons map[string]struct {
		Round      int
		Said, Over bool
		Kept       map[string]any
	}
	Aside struct {
		Number  int
		Next    time.Time
		Windows []struct {
			Season      string
			From, Until time.Time
			Metrics     []string
		}
	}
}

func (s *site) kept() (state keptState) {
	s.t.Helper()
	text := s.js(`return await kept("metrics");`)
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return state
}

const pageWeek = week + `
[metric.export_used]
kind = "counter"
edges = [1, 2, 5]
every = "week"
why = "Whether export is worth a button"
owner = "ada@example.org"
ends = 2027-06-30

[metric.start_seconds]
kind = "number"
edges = [0.5, 1, 2.5]
keep = "highest"
every = "week"
why = "Whether starting got slower"
owner = "ada@example.org"
ends = 2027-06-30
`

// A page counts by generated code, without the module until it is needed; two tabs count together; once its period is
// over it answers by itself, once, beside devices of Go, and the release has it. A metric that is retired takes what was kept along.
func TestAPageCountsFromDeclarationToRetirement(t *testing.T) {
	s := opened(t, 130, day(t, "2026-12-01"))
	declared := s.reviewed(pageWeek)
	s.sign(2)
	s.code()

	// Before a yes there is nothing in the browser, and nothing is loaded to start.
	s.visit(day(t, "2026-12-01"))
	if n := s.modules(); n != 0 {
		t.Errorf("to start, the module was loaded %d times", n)
	}
	if got := s.js(`counts.theme.set("dark"); counts.theme.set(7); counts.it.counter("none").add(Symbol()); return (await counts.fresh()).length;`); got != "3" {
		t.Errorf("%s metrics are fresh", got)
	}
	if got := s.js(`return (await indexedDB.databases()).length;`); got != "0" || s.modules() != 1 {
		t.Errorf("before a yes there are %s databases; the module was loaded %d times to say what is asked", got, s.modules())
	}
	s.tab.Do(chromedp.Click("#ask"), webtest.Until(`document.querySelectorAll("#asked li").length === 3`), chromedp.Click("#agree"), webtest.Until(`document.querySelector("#agree").hidden`))
	if got := s.js(`return [(await counts.fresh()).length, (await kept("metrics")).aside.windows.length];`); got != "[0,0]" {
		t.Errorf("after a yes, before the season: %s", got)
	}

	// The season begins: a week is drawn, for which the module is loaded, and once more by nobody until the answer is due.
	begins := day(t, "2026-12-07")
	s.visit(begins.Add(time.Minute))
	s.until(`(await kept("metrics")).aside.windows.length === 1`)
	drawn := s.kept().Aside
	before := s.modules()
	from, until := drawn.Windows[0].From, drawn.Windows[0].Until
	devices, people := s.drawing(day(t, "2026-12-01"), begins, s.kept().Seasons["week/12"].Round, 9)

	s.visit(from.Add(-time.Minute))
	s.tab.Do(chromedp.Click("#export"))
	s.visit(from.Add(time.Hour))
	other := webtest.Open(t, s.tab.Context, webtest.Screens[0])
	other.Do(chromedp.Navigate(s.page.URL+"/"), webtest.Until(`document.body?.dataset.started === "yes"`), chromedp.Click("#light"), chromedp.Click("#export"), chromedp.Click("#export"))
	s.tab.Do(chromedp.Click("#export"))
	s.until(`(await kept("counted"))?.calls["week/12"].export_used?.[0].times === 3`)
	s.tab.Do(chromedp.Click("#dark"))
	s.until(`(await kept("counted"))?.calls["week/12"].theme?.at(-1).value === "dark"`)
	if n := s.modules(); n != before {
		t.Errorf("to count, the module was loaded %d times", n-before)
	}
	t.Logf("a call of a page takes %s ns", s.js(`const began = performance.now(); for (let i = 0; i < 1e6; i++) counts.exportUsed.add(); return Math.round(performance.now() - began);`))
	s.visit(from.Add(2 * time.Hour))
	for _, want := range []string{"season week/12, asked of ", "theme ", "dark", "one of 3 metrics is drawn; if this one, then as it is with probability", "nothing is said before its end"} {
		if got := s.js(`return await counts.it.shown();`); !strings.Contains(got, want) || strings.Contains(got, "you said") {
			t.Errorf("what is shown to debug lacks %q: %s", want, got)
		}
	}

	// Its answer is due.
	for week := 1; !begins.AddDate(0, 0, 7*week).After(until); week++ {
		s.at(begins.AddDate(0, 0, 7*week).Add(time.Duration(2*week) * time.Hour)) // the coordinator is a little later each time
		s.conclude()
	}
	for _, app := range devices {
		metrics.Category[string]{App: app, Name: "theme"}.Set("light")
	}
	due := func() time.Time {
		if at := s.kept().Aside.Next.Add(time.Second); at.After(s.now()) {
			return at
		}
		return s.now()
	}
	s.gone.Store(true)                                // a page starts, and keeps a yes, while nobody can be reached
	for visits := 0; s.missed.Load() == 0; visits++ { // a season may begin before, which asks nobody
		if visits == 4 {
			t.Fatalf("the page asks nobody: %+v; %q", s.kept(), s.tab.Found())
		}
		s.visit(due())
		if got := s.js(`return await counts.consent(true);`); strings.Contains(got, "code") {
			t.Errorf("a yes while nobody can be reached: %s", got)
		}
	}
	s.gone.Store(false)
	for visits := 0; !s.kept().Seasons["week/12"].Over; visits++ {
		if visits == 4 {
			t.Fatalf("the page does not answer: %+v; %q", s.kept(), s.tab.Found())
		}
		next := s.js(`return (await kept("metrics")).aside.next;`)
		s.visit(due())
		s.until(`(await kept("metrics")).aside.next !== ` + next)
	}
	s.visit(s.now().Add(2 * time.Hour))
	if got := s.js(`return await counts.it.shown();`); !strings.Contains(got, "you said: ") {
		t.Errorf("after its answer it shows %s", got)
	}
	s.at(until.AddDate(0, 0, 3))
	for _, app := range devices {
		if _, err := app.Step(t.Context()); err != nil {
			t.Error(err)
		}
	}
	s.at(until.AddDate(0, 0, 7).Add(12 * time.Hour))
	s.conclude()
	released, err := json.Marshal(s.release(s.ledger(people[0]).Entries[0].Plan))
	s.must(err)
	for _, want := range []string{`"dark"`, `"2-4"`, `"below0.5"`, fmt.Sprintf(`"respondents","value":%d`, len(devices)+1)} {
		if !strings.Contains(strings.ReplaceAll(string(released), " ", ""), want) {
			t.Errorf("the release of %d devices does not have %s: %s", len(devices)+1, want, released)
		}
	}

	// It is retired: what was kept of it goes, and what was drawn and spent stays.
	s.visit(day(t, "2027-01-04").Add(time.Minute))
	s.until(`(await kept("metrics")).aside.windows.length === 1`)
	from = s.kept().Aside.Windows[0].From
	s.visit(from.Add(time.Hour))
	s.tab.Do(chromedp.Click("#dark"), chromedp.Click("#export"))
	s.until(`(await kept("counted"))?.calls["week/13"].export_used?.[0].times === 1`)
	without := strings.Replace(declared, declared[strings.Index(declared, "[metric.export_used]"):strings.Index(declared, "[metric.start_seconds]")], "", 1)
	older := s.module
	s.at(from.Add(2 * time.Hour))
	s.asks(without)
	s.sign(1)
	s.code()
	s.module = append(s.module, "\nexport const exportUsed = it.counter(\"export_used\");\n"...) // as a page calls that was not changed
	s.visit(from.Add(2 * time.Hour))
	if got := s.kept().Seasons["week/13"].Kept; got["theme"] == nil || got["export_used"] != nil || got["start_seconds"] == nil {
		t.Errorf("after it was retired the device keeps %v", got)
	}
	for call, code := range map[string]string{`"export_used", 1`: "unknown-metric", `"theme", 1`: "wrong-type", `"theme", "solarized"`: "outside-domain"} {
		if got := s.js(`await counts.it.record(` + call + `);`); !strings.Contains(got, `"code":"`+code+`"`) || !strings.Contains(got, strings.Split(call, `"`)[1]) || strings.Contains(got, "solarized") {
			t.Errorf("%s: %s", call, got)
		}
	}
	if got := s.js(`await counts.it.record("theme", "light"); return (await kept("metrics")).seasons["week/13"].kept.theme.text;`); got != `"light"` {
		t.Errorf("by name it counts %s", got)
	}

	// Registries that are refused, and a clock that is set back.
	refused := func(what, code string, names ...string) {
		t.Helper()
		if got := s.js(`const { app } = await import("./confetti/metrics.js"); const stop = await counts.start(); await stop(); await app({ ` + what + ` }).start();`); !strings.Contains(got, `"code":"`+code+`"`) || slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(got, n) }) {
			t.Errorf("%s: %s", code, got)
		}
	}
	embedded := func(module []byte) string {
		_, rest, _ := strings.Cut(string(module), "app({")
		text, _, _ := strings.Cut(rest, "\n});")
		return text
	}
	held := s.js(`return (await kept("metrics")).seasons;`)
	refused(embedded(older), "rolled-back", "registry 1 of editor", "registry 2")
	refused(strings.Replace(embedded(s.module), "ed25519:", "ed25519:A", 1), "publisher", "stranger")
	player, _, _ := foreign.Weekly(t, s.now(), "player", 9)
	refused(fmt.Sprintf("registry: %q, publishers: [%q]", player, foreign.Public(foreign.Publisher)), "other-app", "editor", "player")
	refused(strings.Replace(embedded(s.module), "2027-06-30", "2027-06-29", 1), "registry")
	if after := s.js(`return (await kept("metrics")).seasons;`); after != held {
		t.Errorf("what was refused has changed what is kept: %s, and it was %s", after, held)
	}
	s.visit(from.Add(-48 * time.Hour))
	if got := s.js(`return await counts.consent(true);`); !strings.Contains(got, `"code":"clock-back"`) {
		t.Errorf("a clock that is set back: %s", got)
	}

	// A no destroys what is kept, and the draws stay.
	s.visit(from.Add(3 * time.Hour))
	s.tab.Do(chromedp.Click("#dark"), chromedp.Click("#off"))
	s.until(`(await kept("metrics")).aside.windows.length === 0`)
	if got := s.js(`return [await kept("metrics"), await kept("counted") ?? null];`); strings.Contains(got, `"kept"`) || !strings.Contains(got, `"week/13"`) || !strings.HasSuffix(got, ",null]") {
		t.Errorf("after a no the browser keeps %s", got)
	}
	for _, fault := range s.tab.Found() {
		if !strings.Contains(fault, "404") && !strings.Contains(fault, "clock-back") && !strings.Contains(fault, "503") && !strings.Contains(fault, "origin") { // what the page was told of above
			t.Error(fault)
		}
	}
}

// drawing returns apps of so many people who have drawn a round of the first season, the page's person apart.
func (x *team) drawing(agreed, begins time.Time, round, n int) (all []*metrics.App, people []int) {
	x.t.Helper()
	for person := 1; len(all) < n; person++ {
		if person == len(x.people) {
			x.t.Fatalf("of %d people %d have drawn round %d", person, len(all), round)
		}
		x.at(agreed)
		app := x.installed(person)
		x.must(app.Consent(true))
		x.at(begins.Add(time.Minute))
		if _, err := app.Step(x.t.Context()); err != nil {
			x.t.Fatal(err)
		}
		if x.ledger(person).Studies[0].Round == round {
			all, people = append(all, app), append(people, person)
		}
	}
	return all, people
}
