package webtest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "folder for pictures of every page, for a person to look at")

// axeFile is what finds faults that keep people out, in the tree; .ci/run installs it in axeHome.
const (
	axeHome = "internal/service/console/testdata/browser"
	axeFile = axeHome + "/node_modules/axe-core/axe.min.js"
)

// Axe returns what axeFile holds; the error says that it is not installed.
func Axe() (script string, err error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, at := os.Stat(filepath.Join(dir, "go.mod")); at == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(axeFile)))
	return string(text), err
}

// patience is how long a step may take: machines that test have much else to do.
const patience = 2 * time.Minute

// maxPage bounds the bytes that a page and all that it loads take.
const maxPage = 300_000

// Screen is the size of one.
type Screen struct {
	Name          string
	Width, Height int64
	Phone         bool
}

// Screens are those that pages must fit.
var Screens = []Screen{{"desktop", 1280, 900, false}, Phone}

// Phone is one that is held upright.
var Phone = Screen{"phone", 390, 844, true}

// Tests are those of a package that share one browser, which takes seconds to start: TestMain runs them. In packages that
// have no such TestMain each test starts its own.
type Tests struct{ M *testing.M }

// one is the browser that tests share.
var one struct {
	shared  bool
	context context.Context // nil before the first test that needs it
	end     []func()
}

// Run runs the tests, and ends the browser behind them.
func (m Tests) Run() int {
	one.shared = true
	defer func() {
		for _, end := range slices.Backward(one.end) {
			end()
		}
	}()
	return m.M.Run()
}

// Browser returns Chromium with a profile that no other test has seen, or says loudly why it cannot. With more options it is a
// browser of its own.
func Browser(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	if !one.shared || len(more) > 0 {
		return started(t, t.TempDir(), t.Cleanup, more...)
	}
	if one.context == nil {
		profile, err := os.MkdirTemp("", "confetti-browser-*")
		if err != nil {
			t.Fatal(err)
		}
		one.end = append(one.end, func() { os.RemoveAll(profile) })
		one.context = started(t, profile, func(end func()) { one.end = append(one.end, end) })
	}
	ctx, cancel := chromedp.NewContext(one.context, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// started starts a browser with its profile in a folder, and says what ends it.
func started(t testing.TB, profile string, ends func(func()), more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(time.Minute))
	options = append(options, more...)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ends(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	ends(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Tab is a page in the browser, with what went wrong there.
type Tab struct {
	context.Context
	t      testing.TB
	screen Screen
	looks  int // on all screens
	mu     sync.Mutex
	faults []string
	bytes  float64
}

// Open opens a page, in a profile of its own or with those before it.
func Open(t testing.TB, ctx context.Context, screen Screen, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx, options...)
	t.Cleanup(cancel)
	b := &Tab{Context: ctx, t: t, screen: screen}
	b.fit(screen)
	if err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			said := ""
			if e.ExceptionDetails.Exception != nil {
				said = e.ExceptionDetails.Exception.Description
			}
			b.faults = append(b.faults, fmt.Sprintf("exception: %s: %+v", said, *e.ExceptionDetails))
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

// fit gives the page another screen.
func (b *Tab) fit(screen Screen) {
	b.t.Helper()
	size := chromedp.EmulateViewport(screen.Width, screen.Height)
	if screen.Phone {
		size = chromedp.EmulateViewport(screen.Width, screen.Height, chromedp.EmulateMobile)
	}
	if err := chromedp.Do(b.Context, size); err != nil {
		b.t.Fatal(err)
	}
}

// LookOnAll looks at a page on each screen, on one of them light and on the other dark, and at the next page the other way
// round: colours do not depend on the width. It leaves the page light, on the screen that it was opened on.
func (b *Tab) LookOnAll(t testing.TB, name string) {
	t.Helper()
	for i, screen := range Screens {
		b.fit(screen)
		said, dark := name+", "+screen.Name, (b.looks+i)%2 == 1
		if dark {
			said += ", dark"
		}
		b.Darken(t, dark)
		b.Look(t, said)
	}
	b.looks++
	b.fit(b.screen)
	b.Darken(t, false)
}

// Do runs steps, for as long as patience lasts.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v; %q", err, b.Found())
	}
}

// Ask runs a step that has a value, likewise.
func Ask[T any](b *Tab, step chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, step)
	if err != nil {
		b.t.Fatalf("%v; %q", err, b.Found())
	}
	return value
}

// Found returns what went wrong since it was last asked.
func (b *Tab) Found() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// toPaint is how long a page that is there may take until its first paint is told of.
const toPaint = 500 * time.Millisecond

// Look checks a page that is there: nothing went wrong, it fits the screen, it is small, and
// Axe finds nothing. It records the first paint.
func (b *Tab) Look(t testing.TB, name string) {
	t.Helper()
	b.Do(Until(`document.readyState === "complete" && (document.querySelector("main")?.getClientRects().length ?? 0) > 0`))
	fits := Ask(b, chromedp.Evaluate[bool](`document.documentElement.scrollWidth <= document.documentElement.clientWidth`))
	paint := -1.0
	for begun := time.Now(); paint < 0 && time.Since(begun) < toPaint; time.Sleep(5 * time.Millisecond) { // a tab that nobody sees is not painted
		paint = Ask(b, chromedp.Evaluate[float64](`(performance.getEntriesByName("first-contentful-paint")[0] ?? {startTime: -1}).startTime`))
	}
	for _, fault := range b.Found() {
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
		wide := Ask(b, chromedp.Evaluate[string](`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).slice(0, 5).map(e => e.tagName + "." + e.className.toString()).join(" ")`))
		t.Errorf("%s is wider than the screen: %s", name, wide)
	}
	t.Logf("%s: %.0f bytes, first paint after %.0f ms", name, bytes, paint)
	if *screenshots != "" {
		picture := Ask(b, chromedp.FullScreenshot(100))
		if err := os.WriteFile(filepath.Join(*screenshots, strings.NewReplacer(" ", "-", ",", "").Replace(name)+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range b.Axe(t) {
		t.Errorf("%s: axe: %s", name, v)
	}
}

// Axe checks what keeps people out who read with a screen reader, or see little.
func (b *Tab) Axe(t testing.TB) (faults []string) {
	t.Helper()
	axe, err := Axe()
	if err != nil {
		if os.Getenv("CONFETTI_NODE") == "require" {
			t.Fatal(err)
		}
		t.Logf("NOT CHECKED with axe-core, which is not installed (npm ci --prefix %s): %v", axeHome, err)
		return
	}
	b.Do(chromedp.Evaluate[chromedp.Void](axe))
	found := Ask(b, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 160) + " " + n.failureSummary)}))))`, chromedp.EvalAwaitPromise))
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

// Below returns those of so many elements, by their selectors, that end below the first screen, or are not there.
func (b *Tab) Below(screen Screen, selectors ...string) (found []string) {
	b.t.Helper()
	for _, selector := range selectors {
		end := Ask(b, chromedp.Evaluate[float64](fmt.Sprintf(`(e => e ? e.getBoundingClientRect().bottom + scrollY : 1e9)(document.querySelector(%q))`, selector)))
		if end > float64(screen.Height) {
			found = append(found, fmt.Sprintf("%s ends at %.0f", selector, end))
		}
	}
	return found
}

// Darken has the page ask for its dark form, or for its light one.
func (b *Tab) Darken(t testing.TB, dark bool) {
	t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	if _, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}}); err != nil {
		t.Fatal(err)
	}
}

// Scripts lets pages that are opened from now on run their scripts, or keeps them from it.
func (b *Tab) Scripts(t testing.TB, run bool) {
	t.Helper()
	if _, err := chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run}); err != nil {
		t.Fatal(err)
	}
}

// Until waits until an expression of the page, or its promise, is true, whichever page that is: one that leaves
// while it is asked has not answered, and the next is asked.
func Until(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, target *chromedp.Target) (done chromedp.Void, err error) {
		for {
			if is, err := chromedp.Evaluate[bool](expression, chromedp.EvalAwaitPromise)(ctx, target); is || err != nil && !left(err) {
				return done, err
			}
			select {
			case <-ctx.Done():
				return done, fmt.Errorf("%w: it is not so that %s", ctx.Err(), expression)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// left reports whether a page that was asked is no longer there: Chromium has a sentence for each
// moment at which it may leave, and one code for all of them and others.
func left(err error) bool {
	told, ok := errors.AsType[*cdproto.Error](err)
	return ok && slices.ContainsFunc([]string{"Inspected target navigated or closed", "Cannot find context with specified id", "Cannot find default execution context", "Execution context was destroyed"}, func(says string) bool {
		return strings.HasPrefix(told.Message, says)
	})
}

// TrustAnybody has the page take any certificate: providers and services of tests have authorities of
// their own.
func (b *Tab) TrustAnybody() {
	b.t.Helper()
	if _, err := chromedp.Call(b.Context, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true}); err != nil {
		b.t.Fatal(err)
	}
}
