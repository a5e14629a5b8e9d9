package console

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "folder for pictures of every page, for a person to look at")

// axeFile is what finds faults that keep people out; .ci/run installs it.
const axeFile = "testdata/browser/node_modules/axe-core/axe.min.js"

// maxPage bounds the bytes that a page and all that it loads take.
const maxPage = 300_000

// screens are those that pages must fit.
var screens = []struct {
	name          string
	width, height int64
	phone         bool
}{{"desktop", 1280, 900, false}, {"phone", 390, 844, true}}

// browser starts Chromium, or says loudly why it cannot.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("NO BROWSER: there is no chromium on this machine, so no page was looked at (apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is a page in the browser, with what went wrong there.
type tab struct {
	context.Context
	t      *testing.T
	mu     sync.Mutex
	faults []string
	bytes  float64
}

func open(t *testing.T, ctx context.Context, width, height int64, phone bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{Context: ctx, t: t}
	size := chromedp.EmulateViewport(width, height)
	if phone {
		size = chromedp.EmulateViewport(width, height, chromedp.EmulateMobile)
	}
	if err := chromedp.Do(ctx, size); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, fmt.Sprintf("exception: %+v", *e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				b.faults = append(b.faults, fmt.Sprintf("console: %s", e.Args[0].Value))
			}
		case *cdplog.EventEntryAdded:
			if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Level == cdplog.EntryLevelWarning {
				b.faults = append(b.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
			}
		case *network.EventLoadingFinished:
			b.bytes += e.EncodedDataLength
		}
	}); err != nil {
		t.Fatal(err)
	}
	_, errLog := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{})
	_, errNet := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, errRun := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	if err := errors.Join(errLog, errNet, errRun); err != nil {
		t.Fatal(err)
	}
	return b
}

// do runs steps, for half a minute at most.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, 30*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v; %q", err, b.found())
	}
}

// ask runs a step that has a value, likewise.
func ask[T any](b *tab, step chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, 30*time.Second)
	defer cancel()
	value, err := chromedp.Run(ctx, step)
	if err != nil {
		b.t.Fatalf("%v; %q", err, b.found())
	}
	return value
}

// found is what went wrong since it was last asked.
func (b *tab) found() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// look checks a page that is there: nothing went wrong, it fits the screen, it is small, and
// axe finds nothing. It records the first paint.
func (b *tab) look(t *testing.T, name string) {
	t.Helper()
	b.do(chromedp.WaitVisible("main"))
	fits := ask(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth <= document.documentElement.clientWidth`))
	paint := ask(b, chromedp.Evaluate[float64](`(performance.getEntriesByName("first-contentful-paint")[0] ?? {startTime: -1}).startTime`))
	for _, fault := range b.found() {
		t.Errorf("%s: %s", name, fault)
	}
	b.mu.Lock()
	bytes := b.bytes
	b.bytes = 0
	b.mu.Unlock()
	if bytes > maxPage {
		t.Errorf("%s takes %.0f bytes, of at most %d", name, bytes, maxPage)
	}
	if !fits {
		wide := ask(b, chromedp.Evaluate[string](`[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).slice(0, 5).map(e => e.tagName + "." + e.className.toString()).join(" ")`))
		t.Errorf("%s is wider than the screen: %s", name, wide)
	}
	t.Logf("%s: %.0f bytes, first paint after %.0f ms", name, bytes, paint)
	if *screenshots != "" {
		picture := ask(b, chromedp.FullScreenshot(100))
		if err := os.WriteFile(filepath.Join(*screenshots, strings.NewReplacer(" ", "-", ",", "").Replace(name)+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range b.axe(t) {
		t.Errorf("%s: axe: %s", name, v)
	}
}

// axe checks what keeps people out who read with a screen reader, or see little.
func (b *tab) axe(t *testing.T) (faults []string) {
	t.Helper()
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		t.Logf("NOT CHECKED with axe-core, which is not installed (npm ci --prefix console/testdata/browser): %v", err)
		return
	}
	b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
	found := ask(b, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 160) + " " + n.failureSummary)}))))`, chromedp.EvalAwaitPromise))
	var violations []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		faults = append(faults, fmt.Sprintf("%s: %s: %q", v.ID, v.Help, v.Nodes[:min(3, len(v.Nodes))]))
	}
	return faults
}

// darken has the page ask for its dark form, or for its light one.
func (b *tab) darken(t *testing.T, dark bool) {
	t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	if _, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}}); err != nil {
		t.Fatal(err)
	}
}

// start serves a console on this machine.
func start(t *testing.T, o Options) (*Console, string) {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return c, s.URL
}

// Every page of an analyst is drawn without a fault, at the size of a desk and of a phone,
// light and dark, and can be read by whoever cannot see it.
func TestAnalystsPagesInABrowser(t *testing.T) {
	ctx := browser(t)
	s, asked, crowds, sampled := several(t)
	s.hopsOf(t, asked, "at least 4096")
	_, url := start(t, Options{Analyzer: base, Public: s, Operator: s, Now: func() time.Time { return published.Add(2 * time.Hour) }})
	pages := []struct{ name, path string }{
		{"collections", "/"},
		{"collection", "/plans/" + asked},
		{"release", "/releases/" + crowds + "?pick=0&pick=1"},
		{"two crowds", "/releases/" + crowds + "?crowd=north&with=south&pick=0&pick=1"},
		{"consistent", "/releases/" + sampled + "?attribute=rising&show=consistent"},
		{"no page", "/plans/none"},
	}
	for _, screen := range screens {
		for _, dark := range []bool{false, true} {
			b := open(t, ctx, screen.width, screen.height, screen.phone)
			b.darken(t, dark)
			for _, p := range pages {
				name := p.name + ", " + screen.name
				if dark {
					name += ", dark"
				}
				b.do(chromedp.Navigate(url + p.path))
				if p.name == "no page" {
					b.found() // the browser says that it is not there
				}
				b.look(t, name)
			}
		}
	}
}

// Without a mouse: the switch is reached by keys, and changes the chart by the script.
func TestAReleaseIsRegroupedInABrowser(t *testing.T) {
	ctx := browser(t)
	s, _, crowds, _ := several(t)
	_, url := start(t, Options{Analyzer: base, Public: s})
	b := open(t, ctx, 390, 844, true)
	b.do(chromedp.Navigate(url+"/releases/"+crowds),
		chromedp.Click(`input[name=pick][value="0"]`), chromedp.Click(`input[name=pick][value="1"]`),
		chromedp.Click(`.together button`), chromedp.WaitVisible(`.result .value`))
	text := ask(b, chromedp.Text(`.results`))
	// The page's script listens once the page is whole, and a change leads to the next page.
	b.do(chromedp.Poll[chromedp.Void](`document.readyState === "complete"`),
		chromedp.Evaluate[chromedp.Void](`{
			const beside = document.querySelector("select[name=with]");
			beside.value = "south";
			beside.dispatchEvent(new Event("change", {bubbles: true}));
		}`),
		chromedp.WaitVisible(`.legend`))
	where := ask(b, chromedp.Location())
	if !strings.Contains(text, "coffee") || !strings.Contains(text, "tea") {
		t.Errorf("the group reads %q", text)
	}
	if !strings.Contains(where, "with=south") || !strings.Contains(where, "pick=0") {
		t.Errorf("the choice is not in the address: %s", where)
	}
	b.look(t, "regrouped by hand")
}

// The looks that find nothing find what is wrong: a script that is not the console's, a fault
// in one, and a picture without words.
func TestLooksFindWhatIsWrong(t *testing.T) {
	ctx := browser(t)
	s, _, _, _ := several(t)
	_, url := start(t, Options{Analyzer: base, Public: s})
	b := open(t, ctx, 390, 844, true)
	for name, script := range map[string]string{
		"a script in the page":     `document.body.append(Object.assign(document.createElement("script"), {textContent: "1"}))`,
		"a picture from elsewhere": `document.body.append(Object.assign(new Image(), {src: "https://elsewhere.example/x.png", alt: ""}))`,
		"a fault":                  `setTimeout(() => { throw new Error("planted") })`,
	} {
		b.do(chromedp.Navigate(url+"/"), chromedp.Evaluate[chromedp.Void](script+"; 0"), chromedp.Sleep(300*time.Millisecond))
		if len(b.found()) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	b.do(chromedp.Navigate(url+"/"), chromedp.Evaluate[chromedp.Void](`document.querySelector("main").append(Object.assign(new Image(), {src: "/static/icon.svg"})); 0`))
	if _, err := os.Stat(axeFile); err == nil && len(b.axe(t)) == 0 {
		t.Error("a picture without words is not found")
	}
}
