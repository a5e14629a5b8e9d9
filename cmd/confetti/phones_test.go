package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/studio"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// lan stands for an address of this machine on the network: one of the machine's own that nothing
// else of a trial listens on.
const lan = "127.0.0.2"

// A poll on the network: three phones, each a browser of its own, answer at the address that the
// command prints and shows, over TLS, and count as three beside others. The address that --lan names
// is what the pages listen on, and the services of the trial stay where they were.
func TestAPollWithSeveralPhones(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers at every address of 127.0.0.0/8")
	}
	browser := webtest.Browser(t)
	sheet, err := studio.Read([]byte("tea\ncoffee\ntea\nwater\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	choices := []string{"coffee", "tea", "water"}
	const others, places = 20, 40
	drawn, err := sheet.Draw(studio.Choice{Title: "What do you drink?", Asked: []studio.Asked{{Kind: "categories", Named: 3}}, Epsilon: 2, People: others + 3})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, at, values := filepath.Join(dir, "plan.toml"), filepath.Join(dir, "poll"), filepath.Join(dir, "values.csv")
	for name, text := range map[string]string{file: drawn.Plan, values: "answer\n" + strings.Repeat("tea\n", others)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := listening(t)
	ctx, stop := context.WithCancel(t.Context())
	var out said
	done := make(chan error, 1)
	go func() {
		done <- up.Command{Dir: at, Plan: file, Closes: time.Hour, Devices: places, Open: true, LAN: lan, Route: "mix"}.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard})
		stop()
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	address, screen := out.find(t, ctx, `Phones open (\S+)`), out.find(t, ctx, `room's screen[^\n]*\n\s+(\S+)`)
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "https" || to.Hostname() != lan || to.Path != "/answer" || !strings.HasPrefix(screen, "https://"+to.Host+"/login/") {
		t.Fatalf("phones are to open %s, and the screen is at %s: %v", address, screen, err)
	}
	if drawing := out.find(t, ctx, `(?s)Phones open \S+\n\n(.*)`); strings.Count(drawing, "\n") < 10 {
		t.Errorf("no QR code is printed:\n%s", drawing)
	}
	pages := 0
	for _, one := range listening(t) {
		if before[one.String()] != nil {
			continue
		}
		if host := one.IP.String(); host == lan && strconv.Itoa(one.Port) == to.Port() {
			pages++
		} else if host != "127.0.0.1" {
			t.Errorf("something listens on %s", one)
		}
	}
	if pages != 1 {
		t.Errorf("the pages listen on %s %d times", to.Host, pages)
	}
	if c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", to.Port()), time.Second); err == nil {
		c.Close()
		t.Error("the pages are at another address too")
	}
	var unnamed *tls.CertificateVerificationError
	if _, err := tls.Dial("tcp", to.Host, nil); !errors.As(err, &unnamed) {
		t.Errorf("the certificate is of an authority that everybody trusts, or there is none: %v", err)
	} else if leaf := unnamed.UnverifiedCertificates[0]; leaf.VerifyHostname(lan) != nil || leaf.VerifyHostname("127.0.0.1") == nil {
		t.Errorf("the certificate is of %v", leaf.IPAddresses)
	}

	room := webtest.Open(t, browser, webtest.Screens[0], chromedp.WithNewBrowserContext())
	room.TrustAnybody()
	room.Do(chromedp.Navigate(screen), chromedp.Click("main form button"), webtest.Until(`location.pathname === "/room" && document.readyState === "complete"`))
	for i, choice := range choices {
		phone := webtest.Open(t, browser, webtest.Phone, chromedp.WithNewBrowserContext())
		phone.TrustAnybody()
		phone.Do(chromedp.Navigate(address), webtest.Until(`document.querySelector("#answer button")?.disabled === false`),
			chromedp.Click(`input[value="`+choice+`"]`), chromedp.Click("#answer button"), chromedp.WaitVisible("#said"))
		if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.HasPrefix(text, "Sent.") {
			t.Fatalf("phone %d says %q; %q", i, text, phone.Found())
		}
		phone.Do(chromedp.WaitVisible("#told"))
		text := webtest.Ask(phone, chromedp.Text("#told"))
		said, found := strings.CutPrefix(text, "You chose “"+choice+"”. ")
		if !found || !strings.HasPrefix(said, "Your phone said: ") {
			t.Errorf("phone %d reads %q", i, text)
		}
		if i == 0 { // the same phone again has answered
			phone.Do(chromedp.Reload(), chromedp.WaitVisible("#said"))
			if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.Contains(text, "has answered already") {
				t.Errorf("opened again the phone says %q", text)
			}
			if text := webtest.Ask(phone, chromedp.Text("#told")); text != said {
				t.Errorf("opened again the phone reads %q, not %q", text, said)
			}
		}
		room.Do(webtest.Until(fmt.Sprintf(`document.querySelector(".count")?.textContent === "%d"`, i+1)))
	}
	command(t, "submit", values, "--dir", at, "--devices")
	room.Do(webtest.Until(`document.querySelector("#live").textContent.includes("at least")`))
	room.Do(chromedp.Click("details summary"), chromedp.Click("button.danger"), webtest.Until(`document.querySelector("#live")?.dataset.state === "released"`))
	if text := webtest.Ask(room, chromedp.Text("#live")); !strings.Contains(text, fmt.Sprintf("Of %d answers", others+3)) {
		t.Errorf("the room reads %q", text)
	}
}

// An address that nothing can listen on, or everybody could reach, is refused before anything runs.
func TestLANNamesOneAddress(t *testing.T) {
	for _, c := range []struct {
		lan  string
		open bool
		want string
	}{
		{lan, false, "--lan is for --open"},
		{"0.0.0.0", true, "give the address of this machine"},
		{"::", true, "give the address of this machine"},
		{"phone.example", true, "give the address of this machine"},
		{"127.0.0.1:80", true, "give the address of this machine"},
	} {
		dir := filepath.Join(t.TempDir(), "poll")
		err := up.Command{Dir: dir, Closes: time.Hour, Devices: 110, Open: c.open, LAN: c.lan, Route: "mix"}.RunUntil(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("--lan %s: %v, want %q", c.lan, err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("--lan %s: something was made", c.lan)
		}
	}
}

// listening are the addresses at which this process takes connections.
func listening(t *testing.T) map[string]*net.TCPAddr {
	t.Helper()
	own := map[string]bool{}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:[") {
			own[strings.Trim(to, "socket:[]")] = true
		}
	}
	all := map[string]*net.TCPAddr{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue // without IPv6
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != "0A" || !own[fields[9]] {
				continue
			}
			host, port, _ := strings.Cut(fields[1], ":")
			ip := make(net.IP, len(host)/2)
			for i := range ip { // words in the machine's order
				b, err := strconv.ParseUint(host[2*i:2*i+2], 16, 8)
				if err != nil {
					t.Fatal(err)
				}
				ip[i/4*4+3-i%4] = byte(b)
			}
			n, err := strconv.ParseUint(port, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			one := &net.TCPAddr{IP: ip, Port: int(n)}
			all[one.String()] = one
		}
		f.Close()
	}
	return all
}
