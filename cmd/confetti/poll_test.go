package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/studio"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// said is what a command prints while it runs.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

// find waits until what was printed matches, and is the match's group.
func (s *said) find(t *testing.T, ctx context.Context, pattern string) string {
	t.Helper()
	for {
		s.mu.Lock()
		m := regexp.MustCompile(pattern).FindStringSubmatch(s.b.String())
		text := s.b.String()
		s.mu.Unlock()
		if m != nil {
			return m[1]
		}
		select {
		case <-ctx.Done():
			t.Fatalf("nothing printed matches %s:\n%s", pattern, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// pollWords is what a poll's pages say where its answers go one way or the other.
type pollWords struct {
	scan, leaves string
	told         string // a pattern
	received     string // by the verifier
}

// A live poll from the command to the release, on both routes: its question is made of values in the studio,
// a phone opens the address of the QR code and answers through two hops or to two aggregators, the screen of
// the room sees the crowd fill and closes, and a browser verifies the release.
func TestALivePoll(t *testing.T) {
	browser := webtest.Browser(t)
	for name, says := range map[string]pollWords{
		"mix": {
			scan: "mixed by 2 hops", leaves: "What leaves it is randomized, and sealed.", told: `^You chose “coffee”. Your phone said: (coffee|tea|water)`,
			received: "✓ receipts 1 batch, signed for by 2 receipts of hops",
		},
		"sum": {
			scan: "Two aggregators add the shares of all before", leaves: "in two shares, each sealed for another aggregator", told: `^You chose “coffee”. Your phone said: an answer in two sealed shares, one for each aggregator;`,
			received: "✓ receipts 1 batch, signed for by 2 receipts of aggregators",
		},
	} {
		t.Run(name, func(t *testing.T) { livePoll(t, browser, name, says) })
	}
}

// livePoll is the poll on one route.
func livePoll(t *testing.T, browser context.Context, name string, says pollWords) {
	sheet, err := studio.Read([]byte("tea\ncoffee\ntea\nwater\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	const others, places = 23, 40
	drawn, err := sheet.Draw(studio.Choice{Title: "What do you drink?", Asked: []studio.Asked{{Kind: "categories", Named: 3}}, Route: name, Epsilon: 2, People: others + 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, at := filepath.Join(dir, "plan.toml"), filepath.Join(dir, "poll")
	values := filepath.Join(dir, "values.csv")
	for name, text := range map[string]string{file: drawn.Plan, values: "answer\n" + strings.Repeat("tea\n", others)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var out said
	done := make(chan error, 1)
	go func() {
		done <- up.Command{Dir: at, Plan: file, Closes: new(time.Hour), Devices: new(places), Open: true}.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard})
		stop() // nobody waits for a trial that does not run
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	address := out.find(t, ctx, `Phones open (http\S+)`)

	room := webtest.Open(t, browser, webtest.Screens[0])
	room.Do(chromedp.Navigate(out.find(t, ctx, `room's screen[^\n]*\n\s+(http\S+)`)), chromedp.Click("main form button"), webtest.Until(`!location.pathname.startsWith("/login") && document.readyState === "complete"`))
	room.Do(chromedp.Navigate(strings.TrimSuffix(address, "/answer")+"/room"), chromedp.WaitVisible(".qr"))
	if shown := webtest.Ask(room, chromedp.Text(".address")); shown != address {
		t.Errorf("the room's screen shows %q, and the command %q", shown, address)
	}
	if text := webtest.Ask(room, chromedp.Text(".scan")); !strings.Contains(text, says.scan) {
		t.Errorf("the room's screen says of the way: %q", text)
	}
	room.Look(t, "room, nobody yet, "+name)

	phone := webtest.Open(t, browser, webtest.Phone, chromedp.WithNewBrowserContext())
	phone.Do(chromedp.Navigate(address), webtest.Until(`document.querySelector("#answer button")?.disabled === false`))
	if text := webtest.Ask(phone, chromedp.Text(".price")); !strings.Contains(text, says.leaves) {
		t.Errorf("the phone says of the way: %q", text)
	}
	phone.Look(t, "answer, "+name)
	phone.Do(chromedp.Click(`input[value="coffee"]`), chromedp.Click("#answer button"), chromedp.WaitVisible("#said"))
	if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.HasPrefix(text, "Sent.") {
		t.Errorf("the phone says %q", text)
	}
	phone.Do(chromedp.WaitVisible("#told"))
	if text := webtest.Ask(phone, chromedp.Text("#told")); !regexp.MustCompile(says.told).MatchString(text) {
		t.Errorf("what was said reads %q", text)
	}
	phone.Do(chromedp.Click(".first .fold summary"))
	if text := webtest.Ask(phone, chromedp.Text("#words")); !strings.Contains(text, "What do you drink?") || !strings.Contains(text, "sent") {
		t.Errorf("what was written down reads %q", text)
	}
	phone.Look(t, "answer, sent, "+name)
	phone.Do(chromedp.Reload(), chromedp.WaitVisible("#said"))
	if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.Contains(text, "has answered already") {
		t.Errorf("opened again the phone says %q", text)
	}

	room.Do(webtest.Until(`document.querySelector(".count")?.textContent === "1" && document.querySelector("#live").textContent.includes("fewer than")`))
	command(t, "submit", values, "--dir", at, "--devices")
	room.Do(webtest.Until(`document.querySelector("#live").textContent.includes("at least")`))
	room.Look(t, "room, full, "+name)
	room.Do(chromedp.Click("details summary"), chromedp.Click("button.danger"), webtest.Until(`document.querySelector("#live")?.dataset.status === "released"`))
	if text := webtest.Ask(room, chromedp.Text("#live")); !strings.Contains(text, "Of 24 answers") {
		t.Errorf("the room reads %q", text)
	}
	room.Look(t, "room, released, "+name)

	phone.Do(chromedp.Navigate(strings.TrimSuffix(address, "/answer")+"/room"), chromedp.Click(".ask .button"), webtest.Until(`document.querySelector("#verify")?.hidden === false`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("details:has(#verify)").open = true; 0`), chromedp.Click("#verify button"), chromedp.WaitVisible("#verdict"))
	checks := webtest.Ask(phone, chromedp.Evaluate[string](`[...document.querySelectorAll("#verdict, #checks li")].map(l => l.innerText.replaceAll("\n", " ")).join("\n")`))
	for _, want := range []string{"checks hold for ", "nobody said that this is the publisher", "✓ signature", "✓ promise", says.received, "✓ respondents the release counts no more than the 24", "✓ counts.csv"} {
		if !strings.Contains(checks, want) {
			t.Errorf("the browser's check lacks %q:\n%s", want, checks)
		}
	}
	phone.Look(t, "release of a poll, verified, "+name)

	html := command(t, "ledger", "show", filepath.Join(at, "devices", "device-000001"), "--html")
	if !strings.Contains(html, "<strong>Trial.</strong>") {
		t.Error("the device's page does not say that it answered a trial")
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, html)
		}
	}))
	defer page.Close()
	for _, b := range []*webtest.Tab{room, phone} {
		b.Do(chromedp.Navigate(page.URL))
		b.Look(t, "ledger, "+name)
	}
}
