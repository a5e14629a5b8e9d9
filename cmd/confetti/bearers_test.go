package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/server"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/plan"
)

// standIns are before the services of a trial, of which each has an operator's token of its own. They write
// down what their service is shown, and whose else it is.
type standIns struct {
	mu     sync.Mutex
	own    map[string]string          // the service that an operator's token is for, by the token
	shown  map[string]map[string]bool // where each credential was shown
	idle   map[string]bool            // tokens that nobody needs to show
	faults []string
	close  []func()
}

// behind puts a service behind a stand-in: the one listens at another address of this machine, the other
// where the plan says.
func (s *standIns) behind(t *testing.T, at trial.Folder, p plans.Party) {
	t.Helper()
	token, err := serve.AddBearer(rng.New(), filepath.Join(at.Of(p), "operators"), "operator")
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(p.URL, "https://")
	inner := strings.Replace(host, "127.0.0.1", "127.0.0.2", 1)
	config, err := os.ReadFile(at.Config(p))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("listen = '"+host+"'", "listen = '"+inner+"'", "'../"+trial.Operators+"'", "'operators'").Replace(string(config))
	pair, err := tls.LoadX509KeyPair(filepath.Join(at.Of(p), "server.crt"), filepath.Join(at.Of(p), "server.key"))
	if err == nil {
		err = os.WriteFile(at.Config(p), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	roots, err := serve.ReadPool(at.Path(trial.Roots))
	if err != nil {
		t.Fatal(err)
	}
	carry := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}
	l, err := tls.Listen("tcp", host, &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	to := &httputil.ReverseProxy{Transport: carry, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "https", inner
			r.Out.Host = r.In.Host
		}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.look(p.URL, r)
		to.ServeHTTP(w, r)
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(l) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[token] = p.URL
	s.close = append(s.close, func() { server.Close(); <-done; carry.CloseIdleConnections() })
}

// put gives a trial's folder a token for each service that no command has shown before.
func (s *standIns) put(t *testing.T, at trial.Folder, parties []plans.Party) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var text []byte
	for _, p := range parties {
		token, err := serve.AddBearer(rng.New(), filepath.Join(t.TempDir(), "operators"), "idle")
		if err != nil {
			t.Fatal(err)
		}
		s.idle[token] = true
		text = fmt.Appendf(text, "%s %s\n", p.URL, token)
	}
	if err := os.WriteFile(at.Path(trial.Tokens), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// look is seen, of one request at a time.
func (s *standIns) look(at string, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen(at, r)
}

// seen writes down what a service is shown. A token of an operator is for one service; any other credential
// may have been shown nowhere else.
func (s *standIns) seen(at string, r *http.Request) {
	kind, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if shown == "" {
		return
	}
	if s.shown[shown] == nil {
		s.shown[shown] = map[string]bool{}
	}
	s.shown[shown][at] = true
	if s.idle[shown] {
		s.faults = append(s.faults, fmt.Sprintf("%s %s: %s is shown an operator's token, and none is needed", r.Method, r.URL.Path, at))
	}
	if of := s.own[shown]; of != "" && of != at || len(s.shown[shown]) > 1 {
		s.faults = append(s.faults, fmt.Sprintf("%s %s: %s is shown a %s that is for %s, and was shown at %q", r.Method, r.URL.Path, at, kind, of, slices.Sorted(maps.Keys(s.shown[shown]))))
	}
}

// known reports whether a service was shown the token of its operator.
func (s *standIns) known(at string) bool {
	for token, of := range s.own {
		if of == at && s.shown[token][at] {
			return true
		}
	}
	return false
}

// file writes a file of the tokens of these services.
func (s *standIns) file(t *testing.T, name string, ours func(url string) bool) string {
	t.Helper()
	var text []byte
	for token, of := range s.own {
		if ours(of) {
			text = fmt.Appendf(text, "%s %s\n", of, token)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// takesToken reports whether a command takes a file of tokens: by what the names, or the words, of its files say.
func takesToken(c *kong.Node) bool {
	is := func(v *kong.Value) bool {
		return v.Tag.Type == "path" && regexp.MustCompile(`(?i)\b(bearer|token|credential)s?\b`).MatchString(v.Name+" "+v.Help)
	}
	return slices.ContainsFunc(c.Positional, is) || slices.ContainsFunc(c.Flags, func(f *kong.Flag) bool { return is(f.Value) })
}

// silent are the commands that take such a file and ask no service.
var silent = []string{"token add", "party card"}

// typedLine is a command, and what is typed behind it.
type typedLine struct {
	command string
	args    []string
}

// shows lists all commands that show a token, as typed with the tokens in a file.
func shows(at trial.Folder, signed plan.Signed, file, tokens, fresh string) []typedLine {
	reach := []string{"--roots", at.Path(trial.Roots)}
	with := append([]string{"--tokens", tokens}, reach...)
	return []typedLine{
		{"plan register", append([]string{file}, with...)},
		{"top", append([]string{"--plan", file}, with...)},
		{"top", append([]string{"--web", "--plan", file}, with...)},
		{"budget show", append([]string{trial.Population, "--url", signed.Plan.Analyzer.URL}, with...)},
		{"serve console", append([]string{"--analyzer", signed.Plan.Analyzer.URL, "--listen", "127.0.0.1:0"}, with...)},
		{"alarms", append([]string{"--plan", file, "--acknowledge", "all"}, with...)},
		{"submit", append([]string{at.Path("answers.csv"), "--plan", file, "--publishers", at.Path(trial.Publishers), "--bearer", at.Path(trial.Devices), "--folder", fresh, "--devices", "--delay", "0s"}, reach...)},
		{"plan close", append([]string{file, "--wait", "1m"}, with...)},
	}
}

// No service of any role is shown a token that is not its own, by whichever command and page, and whichever
// tokens somebody has. A command that takes a token and is not typed here fails.
func TestNobodyIsShownATokenOfOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs two addresses of this machine")
	}
	typed := map[string]bool{}
	for _, l := range shows("", plan.Signed{}, "", "", "") {
		typed[l.command] = true
	}
	all := append(leaves(parser(t, program).Model.Node), leaves(parser(t, server.Program).Model.Node)...)
	for _, c := range all {
		_, name, _ := strings.Cut(c.FullPath(), " ")
		switch {
		case slices.Contains(silent, name) && !takesToken(c), slices.Contains(silent, name) && typed[name], typed[name] && !takesToken(c):
			t.Errorf("confetti %s takes no token, or asks services", name)
		case takesToken(c) && !typed[name] && !slices.Contains(silent, name):
			t.Errorf("confetti %s takes a token, and nobody looks at whom it is shown to: type it here", name)
		}
	}
	for _, route := range []string{plan.RouteMix, plan.RouteSum} {
		t.Run(route, func(t *testing.T) { nobodyIsShown(t, route) })
	}
}

func nobodyIsShown(t *testing.T, route string) {
	s := &standIns{own: map[string]string{}, idle: map[string]bool{}, shown: map[string]map[string]bool{}}
	var parties []plans.Party
	at, _, signed := startRoute(t, route, 3, 6, func(at trial.Folder, signed plan.Signed) {
		parties = plans.Parties(signed.Plan)
		for _, p := range parties {
			s.behind(t, at, p)
		}
		text, err := os.ReadFile(s.file(t, "all", func(string) bool { return true }))
		if err == nil {
			err = os.WriteFile(at.Path(trial.Tokens), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() {
		for _, end := range s.close {
			end()
		}
	})
	if err := os.WriteFile(at.Path("answers.csv"), []byte("colour\nred\nred\ngreen\ngreen\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	analyzer := signed.Plan.Analyzer.URL
	// Whoever has tokens of all, and of one organisation's, types everything; the last closes.
	for _, whose := range []struct {
		name string
		ours func(url string) bool
	}{
		{"the analyzer's", func(url string) bool { return url == analyzer }},
		{"all but the analyzer's", func(url string) bool { return url != analyzer }},
		{"all", func(string) bool { return true }},
	} {
		tokens := s.file(t, "tokens", whose.ours)
		for _, l := range shows(at, signed, at.Path(trial.Plan), tokens, filepath.Join(t.TempDir(), "devices")) {
			args := append(strings.Fields(l.command), l.args...)
			if l.command == "serve console" {
				walk(t, args)
				continue
			}
			var out, errs bytes.Buffer
			code := run(args, terminal.Streams{Out: &out, Err: &errs, Version: "test"})
			t.Logf("%s: confetti %s: exit code %d\n%s%s", whose.name, l.command, code, &out, &errs)
			if want := map[string]int{"all but the analyzer's": 3}[whose.name]; l.command == "plan close" && whose.name != "the analyzer's" && code != want {
				t.Errorf("%s: closing ends with %d, want %d", whose.name, code, want)
			}
		}
	}
	// Whoever needs no token shows none, though the trial's folder has one for each service.
	s.put(t, at, parties)
	for _, args := range [][]string{
		{"release", "fetch", "--dir", string(at), "--out", filepath.Join(t.TempDir(), "release")},
		{"plan", "withdraw", "--dir", string(at), "--reason", "tried", "--log", parties[len(parties)-1].URL},
	} {
		var out, errs bytes.Buffer
		code := run(args, terminal.Streams{Out: &out, Err: &errs, Version: "test"})
		t.Logf("confetti %s: exit code %d\n%s%s", strings.Join(args[:2], " "), code, &out, &errs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		t.Error(fault)
	}
	for _, p := range parties {
		if !s.known(p.URL) {
			t.Errorf("%s was never asked by its operator", p.Name)
		}
	}
	if others := len(s.shown) - len(s.own); others < 6 {
		t.Errorf("only %d credentials of devices and services were shown", others)
	}
	// A stand-in that is shown another's token, or one that nobody needs, says so.
	before := len(s.faults)
	show := func(token string) {
		s.seen(parties[1].URL, &http.Request{Method: "GET", URL: &url.URL{Path: "/"}, Header: http.Header{"Authorization": {"Bearer " + token}}})
	}
	for token, of := range s.own {
		if of == analyzer {
			show(token)
		}
	}
	for token := range s.idle {
		show(token)
	}
	if want := before + 1 + len(parties); len(s.faults) != want {
		t.Errorf("of tokens of others, and such as nobody needs, %d are seen, want %d", len(s.faults)-before, want-before)
	}
}

// walk runs a console, logs in, and does all that its pages offer: every link of the console's, and every form,
// those of services twice, so that what drains takes work again.
func walk(t *testing.T, args []string) {
	t.Helper()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- run(args, terminal.Streams{Out: w, Err: &errs, Version: "test"})
		w.Close()
	}()
	var said []byte
	buffer := make([]byte, 4096)
	link := regexp.MustCompile(`(http://[^/\s]+)(/login/\S+)`)
	for !link.Match(said) {
		n, err := r.Read(buffer)
		if said = append(said, buffer[:n]...); err != nil {
			t.Fatalf("the console ends with %d: %s", <-ended, &errs)
		}
	}
	found := link.FindSubmatch(said)
	b := &browser{t: t, base: string(found[1]), seen: map[string]bool{}}
	defer func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(os.Interrupt)
		}
		if code := <-ended; err != nil || code != 0 {
			t.Errorf("the console ends with %d, %v: %s", code, err, &errs)
		}
		b.client.CloseIdleConnections()
	}()
	b.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error { return http.ErrUseLastResponse }
	b.send(http.MethodPost, string(found[2]), nil)
	for range 2 {
		b.seen = map[string]bool{}
		b.follow("/")
		b.follow("/operator")
	}
	if text := b.send(http.MethodGet, "/operator", nil); strings.Contains(text, "drains since") {
		t.Errorf("a service drains still:\n%s", text)
	}
}

// browser is one that has no script.
type browser struct {
	t      *testing.T
	base   string
	cookie *http.Cookie
	seen   map[string]bool
	client http.Client
}

// send asks for a page, and returns its text.
func (b *browser) send(method, path string, form url.Values) string {
	b.t.Helper()
	r, err := http.NewRequest(method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	for _, c := range res.Cookies() {
		b.cookie = c
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

var (
	hrefs  = regexp.MustCompile(`href="(/[^"#]*)"`)
	forms  = regexp.MustCompile(`(?s)<form method="(get|post)" action="([^"#]*)[^"]*">(.*?)</form>`)
	fields = regexp.MustCompile(`<input type="(?:hidden|checkbox)" name="([^"]+)" value="([^"]*)"`)
)

// follow does what a page offers, but for logging out, and closing: both end what comes after.
func (b *browser) follow(path string) {
	b.t.Helper()
	if b.seen[path] || strings.HasPrefix(path, "/static/") || strings.HasPrefix(path, "/login") {
		return
	}
	b.seen[path] = true
	text := b.send(http.MethodGet, path, nil)
	for _, f := range forms.FindAllStringSubmatch(text, -1) {
		values := url.Values{}
		for _, field := range fields.FindAllStringSubmatch(f[3], -1) {
			values.Set(field[1], strings.NewReplacer("&amp;", "&", "&#43;", "+").Replace(field[2]))
		}
		switch {
		case f[2] == "/logout" || strings.HasPrefix(f[2], "/operator/close/"):
		case f[1] == "get":
			b.follow(f[2] + "?" + values.Encode())
		default:
			b.send(http.MethodPost, f[2], values)
		}
	}
	for _, href := range hrefs.FindAllStringSubmatch(text, -1) {
		b.follow(strings.ReplaceAll(href[1], "&amp;", "&"))
	}
}
