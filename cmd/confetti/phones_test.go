package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/cmd/internal/server/up"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/plan"
)

// lan stands for an address of this machine on the network: one of the machine's own that nothing
// else of a trial listens on.
const lan = "127.0.0.2"

// A poll on the network, from its question alone: two phones, each a browser of its own, and a class of sixty behind one
// address answer at the address that the command prints and shows, over TLS. A phone has no menu, is thanked, and has
// the result by itself. The address that --lan names is what the pages listen on, and the services of the trial
// stay where they were.
func TestAPollOfARoom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers at every address of 127.0.0.0/8")
	}
	browser := webtest.Browser(t)
	const class, phones = 60, 2
	at := filepath.Join(t.TempDir(), "poll")
	before := listening(t)
	ctx, stop := context.WithCancel(t.Context())
	var out said
	done := make(chan error, 1)
	begun := time.Now()
	poll := up.Command{Dir: at, Ask: "What do you drink?", Answers: []string{"coffee", " tea", "mate"}, People: 12, Closes: new(time.Hour), Devices: new(100), LAN: lan}
	go func() {
		done <- poll.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard})
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
	t.Logf("the code is printed after %v", time.Since(begun).Round(time.Millisecond))
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
	room.Look(t, "room of a question")
	var answered []*webtest.Tab
	for i, choice := range []string{"mate", "tea"} {
		phone := webtest.Open(t, browser, webtest.Phone, chromedp.WithNewBrowserContext())
		phone.TrustAnybody()
		phone.Do(chromedp.Navigate(address), webtest.Until(`document.querySelector("#answer button")?.disabled === false`))
		if i == 0 {
			if menu := webtest.Ask(phone, chromedp.Text("header")); strings.TrimSpace(menu) != "Confetti" {
				t.Errorf("above a question a respondent has %q", menu)
			}
			if first := webtest.Ask(phone, chromedp.Evaluate[bool](`document.querySelector("#answer button").getBoundingClientRect().bottom <= innerHeight`)); !first {
				t.Error("the button is below the first screen")
			}
			phone.Look(t, "phone, asked")
		}
		phone.Do(chromedp.Click(`input[value="` + choice + `"]`))
		pressed := time.Now()
		phone.Do(chromedp.Click("#answer button"), chromedp.WaitVisible("#said"))
		t.Logf("phone %d: thanked %v after the press", i+1, time.Since(pressed).Round(time.Millisecond))
		if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.HasPrefix(text, "Sent.") {
			t.Fatalf("phone %d says %q; %q", i, text, phone.Found())
		}
		phone.Do(chromedp.WaitVisible("#told"))
		text := webtest.Ask(phone, chromedp.Text("#told"))
		said, found := strings.CutPrefix(text, "You chose “"+choice+"”. ")
		if !found || !strings.HasPrefix(said, "Your phone said: ") {
			t.Errorf("phone %d reads %q", i, text)
		}
		if i == 0 {
			if when := webtest.Ask(phone, chromedp.Text("#when")); !regexp.MustCompile(`The result\s+(today|\w+ \d+, \d{4}), \d+:\d\d.*, or sooner\s+It shows here, by itself, .* 12 people`).MatchString(when) {
				t.Errorf("of the result the phone says %q", when)
			}
			if quiet := webtest.Ask(phone, chromedp.Evaluate[bool](`document.querySelector("#stop").getBoundingClientRect().top >= innerHeight && !document.querySelector("#off").checkVisibility()`)); !quiet {
				t.Error("switching off is on the first screen")
			}
			phone.Look(t, "phone, said")
			phone.Do(chromedp.Reload(), chromedp.WaitVisible("#said")) // the same phone again has answered
			if text := webtest.Ask(phone, chromedp.Text("#outcome")); !strings.Contains(text, "has answered already") {
				t.Errorf("opened again the phone says %q", text)
			}
			if text := webtest.Ask(phone, chromedp.Text("#told")); text != said {
				t.Errorf("opened again the phone reads %q, not %q", text, said)
			}
		}
		room.Do(webtest.Until(fmt.Sprintf(`document.querySelector(".count")?.textContent === "%d"`, i+1)))
		answered = append(answered, phone)
	}

	begun = time.Now()
	var all sync.WaitGroup
	for range class {
		all.Go(func() {
			if err := classmate(t.Context(), "https://"+to.Host, client.Answers{"answer": "coffee"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("a class of %d behind one address has joined and answered after %v", class, time.Since(begun).Round(time.Millisecond))
	room.Do(webtest.Until(`document.querySelector("#live").textContent.includes("at least")`))
	room.Look(t, "room, answered")
	begun = time.Now()
	room.Do(chromedp.Click("details summary"), chromedp.Click("button.danger"), webtest.Until(`document.querySelector("#live")?.dataset.status === "released"`))
	t.Logf("the screen has the result %v after it was closed", time.Since(begun).Round(time.Millisecond))
	of := fmt.Sprintf("Of %d answers", class+phones)
	if text := webtest.Ask(room, chromedp.Text("#live")); !strings.Contains(text, of) {
		t.Errorf("the room reads %q", text)
	}
	room.Look(t, "room, result")
	for i, phone := range answered { // nobody touches them
		phone.Do(webtest.Until(`!!document.querySelector("#result .rows li") && document.querySelector("#when").hidden`))
		if text := webtest.Ask(phone, chromedp.Text("#result")); !strings.Contains(text, of) {
			t.Errorf("phone %d reads %q", i, text)
		}
	}
	answered[0].Look(t, "phone, result")
	answered[0].Do(chromedp.Click("#stop summary"), chromedp.Click("#off"), webtest.Until(`document.querySelector("#outcome").textContent.includes("answers nothing any more")`))
}

// classmate is a phone of a class without its browser: it joins a poll, and its device goes by way of the room.
func classmate(ctx context.Context, at string, answers client.Answers) error {
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 2 * time.Minute}
	defer web.CloseIdleConnections()
	get := func(path string) (string, error) {
		res, err := web.Get(at + path)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	}
	res, err := web.Post(at+"/answer/join", "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("a phone of the class joins: %s", res.Status)
	}
	var told struct{ Plan, Bearer string }
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil {
		return err
	}
	signed, err := plan.ParseSigned([]byte(told.Plan))
	if err != nil {
		return err
	}
	script, err := get("/answer/device/relay.js")
	if err != nil {
		return err
	}
	list, _, _ := strings.Cut(strings.TrimPrefix(script, "const carried = "), ";\n")
	var carried []string
	if err := json.Unmarshal([]byte(list), &carried); err != nil {
		return err
	}
	room := roundTrip(func(r *http.Request) (*http.Response, error) {
		i := slices.IndexFunc(carried, func(base string) bool { return strings.HasPrefix(r.URL.String(), base+"/") })
		if i < 0 {
			return nil, errors.New("no service of the room")
		}
		ask := r.Clone(r.Context())
		ask.URL, err = url.Parse(at + "/answer/relay/" + strconv.Itoa(i) + strings.TrimPrefix(r.URL.String(), carried[i]))
		ask.Host = ""
		ask.AddCookie(res.Cookies()[0])
		if err != nil {
			return nil, err
		}
		return web.Transport.RoundTrip(ask)
	})
	dir, err := os.MkdirTemp("", "confetti-phone-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := native.Folder{Path: dir}
	if err := client.Consent(store, true); err != nil {
		return err
	}
	c, err := client.Open(signed, client.Options{Publishers: plan.Trust(signed.Publisher), Store: store, Transport: &native.Transport{RoundTripper: room}, Bearer: told.Bearer, Delay: client.NoDelay, Wait: time.Minute})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Report(ctx, answers)
}

// roundTrip answers requests in the place of the network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What is wrong with a question is said all at once, with what to do, before anything is made; a folder that asks
// something else and a port that is taken are told too.
func TestAPollThatCannotBe(t *testing.T) {
	good := up.Command{Ask: "What do you drink?", Answers: []string{"tea", "mate"}, People: 12, Closes: new(time.Hour), Devices: new(20), LAN: "127.0.0.1"}
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		spoil func(*up.Command)
		wants []string
	}{
		"no question":    {func(c *up.Command) { c.Ask = "" }, []string{"go with a question", `--ask "What do you drink?"`}},
		"blank question": {func(c *up.Command) { c.Ask = "  " }, []string{"--ask has 0 letters: give a question"}},
		"long words":     {func(c *up.Command) { c.Ask, c.Answers = long, []string{"tea", long} }, []string{"--ask has 200 letters: give a question of 1 to 120", "--answers: number 2 has 200 letters: give at most 40"}},
		"two lines":      {func(c *up.Command) { c.Ask = "What\nnow?" }, []string{"can be printed on one line"}},
		"no answers":     {func(c *up.Command) { c.Answers = nil }, []string{"--answers has 0 of at least 2: give what can be chosen"}},
		"one answer":     {func(c *up.Command) { c.Answers = c.Answers[:1] }, []string{"--answers has 1 of at least 2"}},
		"an empty one":   {func(c *up.Command) { c.Answers = []string{"tea", " ", "mate"} }, []string{"number 2 is empty: give words between all commas"}},
		"one twice":      {func(c *up.Command) { c.Answers = []string{"tea", "mate", "tea"} }, []string{"number 3 is there before"}},
		"too many":       {func(c *up.Command) { c.Answers = strings.Split("abcdefghijklmnopqrstu", "") }, []string{"a phone shows at most 20: leave some out"}},
		"nobody":         {func(c *up.Command) { c.People = 0 }, []string{"--people is 0: give the fewest of whom a result is shown, 2 to"}},
		"one person":     {func(c *up.Command) { c.People = 1 }, []string{"of one alone it would be that one's"}},
		"rounds":         {func(c *up.Command) { c.Rounds = 3 }, []string{"a poll is asked once, so leave it out"}},
		"elsewhere":      {func(c *up.Command) { c.LAN = "192.0.2.7" }, []string{"this machine does not listen at 192.0.2.7: give one of its own addresses"}},
	} {
		one := good
		one.Dir = filepath.Join(t.TempDir(), "poll")
		c.spoil(&one)
		err := one.RunUntil(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard})
		for _, want := range c.wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if _, is := errors.AsType[terminal.UsageError](err); !is {
			t.Errorf("%s: %v is no wrong line", name, err)
		}
		if _, err := os.Stat(one.Dir); err == nil {
			t.Errorf("%s: something was made", name)
		}
	}

	good.Dir = filepath.Join(t.TempDir(), "poll")
	good.JSON = true
	ctx, stop := context.WithCancel(t.Context())
	var out said
	done := make(chan error, 1)
	go func() { done <- good.RunUntil(ctx, terminal.Streams{Out: &out, Err: io.Discard}) }()
	text := out.find(t, ctx, `(?s)(\{.*\n\})`)
	var asked struct {
		Plan string
		Room struct{ Phones, Screen string }
	}
	if err := json.Unmarshal([]byte(text), &asked); err != nil || !strings.HasPrefix(asked.Room.Phones, "https://127.0.0.1:") || !strings.HasSuffix(asked.Room.Phones, "/answer") || !strings.Contains(asked.Room.Screen, "/login/") || asked.Plan == "" {
		t.Errorf("%v: %s", err, text)
	}
	another := good
	another.Ask = "What do you eat?"
	if err := another.RunUntil(ctx, terminal.Streams{Out: io.Discard, Err: io.Discard}); err == nil || !strings.Contains(err.Error(), "has a poll already, which asks “What do you drink?”: name another folder") {
		t.Errorf("another question in the same folder: %v", err)
	}
	before := takePlace(t, asked.Room.Phones, nil)
	takePlace(t, asked.Room.Phones, nil) // another phone, which has another place
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(asked.Room.Phones)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := good.RunUntil(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard}); err == nil || !strings.Contains(err.Error(), "port "+at.Port()+" of 127.0.0.1, by which phones know this poll, is taken") {
		t.Errorf("a port that is taken: %v", err)
	}
	taken.Close()
	ctx, stop = context.WithCancel(t.Context()) // free again, the poll goes on where phones know it
	defer stop()
	var again said
	phones, err := os.ReadFile(filepath.Join(good.Dir, "phones"))
	if err != nil || strings.Contains(string(phones), before.cookie.Value) || strings.Contains(string(phones), before.bearer) {
		t.Errorf("phones are written down with what lets them in: %v", err)
	}
	// By its folder alone, the poll is taken up as it was asked; more words than that are for another one.
	if err := (up.Command{Dir: good.Dir, Answers: []string{"tea", "mate"}, Closes: new(time.Hour), Devices: new(20)}).RunUntil(ctx, terminal.Streams{Out: io.Discard, Err: io.Discard}); err == nil || !strings.Contains(err.Error(), "go with a question") {
		t.Errorf("answers without a question: %v", err)
	}
	good = up.Command{Dir: good.Dir, Closes: new(time.Hour), Devices: new(20)} // as it was made
	go func() { done <- good.RunUntil(ctx, terminal.Streams{Out: &again, Err: io.Discard}) }()
	if there := again.find(t, ctx, `Phones open (\S+)`); there != asked.Room.Phones {
		t.Errorf("started again, phones are to open %s, and knew %s", there, asked.Room.Phones)
	}
	if after := takePlace(t, asked.Room.Phones, before.cookie); after.bearer != before.bearer || after.cookie.Value != before.cookie.Value {
		t.Error("started again, the poll gives a phone that it knows a second place")
	}
	if other := takePlace(t, asked.Room.Phones, nil); other.bearer == before.bearer {
		t.Error("started again, the poll gives one place twice")
	}
	again.find(t, ctx, `It asks: (What do you drink\?)`)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(good.Dir, "phones"), append(phones, "12\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := good.RunUntil(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard}); err == nil || !strings.Contains(err.Error(), "is no list of phones") {
		t.Errorf("a list that is none: %v", err)
	}
	// The twin forgets its phones: the same one gets a second place.
	if err := os.Remove(filepath.Join(good.Dir, "phones")); err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	var forgot said
	go func() { done <- good.RunUntil(ctx, terminal.Streams{Out: &forgot, Err: io.Discard}) }()
	forgot.find(t, ctx, `Phones open (\S+)`)
	if after := takePlace(t, asked.Room.Phones, before.cookie); after.cookie.Value == before.cookie.Value {
		t.Error("a poll that forgot its phones knows one")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// seated is a phone that has joined.
type seated struct {
	cookie *http.Cookie
	bearer string
}

// takePlace has a phone join a poll, with the cookie that it has, or none.
func takePlace(t *testing.T, address string, cookie *http.Cookie) (s seated) {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute}
	defer web.CloseIdleConnections()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/join", nil)
	if err != nil {
		t.Fatal(err)
	}
	if cookie != nil {
		ask.AddCookie(cookie)
	}
	res, err := web.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var told struct{ Bearer string }
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil || res.StatusCode != http.StatusOK || told.Bearer == "" || len(res.Cookies()) != 1 {
		t.Fatalf("a phone joins: %s, %v", res.Status, err)
	}
	return seated{res.Cookies()[0], told.Bearer}
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
		err := up.Command{Dir: dir, Closes: new(time.Hour), Devices: new(110), Open: c.open, LAN: c.lan}.RunUntil(t.Context(), terminal.Streams{Out: io.Discard, Err: io.Discard})
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
