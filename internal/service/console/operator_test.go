package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/session"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// operated is a console with an operator's pages and a room, whose open plan its entry hop
// tells of; the log is what was done.
func operated(t *testing.T) (c *Console, s *services, asked string, log *strings.Builder) {
	t.Helper()
	s, asked, _, _ = several(t)
	s.hopsOf(t, asked, "at least 1024")
	alarm := "the disk is full"
	status, err := json.Marshal(serve.Status{Service: "analyzer", Since: published, Now: published.Add(time.Hour), Alarms: []string{alarm}, Gauges: []serve.Gauge{{Name: "budget of everybody", Share: 0.3, Text: "epsilon 20 at delta 0.001 in all"}}, Facts: []serve.Fact{{Name: "on disk", Value: "3.1 MiB"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.answers[base+"/status.json"] = status
	s.answers[base+"/v1/budgets/everybody"] = []byte(`{"population":"everybody","plans":[{"publisher":"ada","epsilon":1,"delta":1e-6},{"publisher":"bob","epsilon":2,"delta":1e-6}]}`)
	hash, err := wire.ParsePlanName(asked)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := plan.ParseSigned(s.answers[base+wire.PlanPath(hash)])
	if err != nil {
		t.Fatal(err)
	}
	log = &strings.Builder{}
	room := &Poll{
		Signed: signed, Address: "https://192.168.0.7:8480/answer", Bearers: []string{"one", "two"}, Carry: http.DefaultClient,
		Device: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "// %s\nexport {};", r.URL.Path) }),
	}
	c, err = New(Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s, Poll: room, Log: slog.New(slog.NewTextHandler(log, nil)), Backup: func(context.Context) (string, error) { return "copy.db", nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c, s, asked, log
}

// login opens a link, and returns the cookie and the secret of the session's forms.
func login(t *testing.T, c *Console) (cookie *http.Cookie, csrf string) {
	t.Helper()
	path := c.Login("ada")
	if res, _ := get(t, c, path); res.StatusCode != http.StatusOK || len(res.Cookies()) > 0 {
		t.Fatalf("looking at a link: %d %v", res.StatusCode, res.Cookies())
	}
	res, _ := post(t, c, path, nil, nil)
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("opening a link: %d %v", res.StatusCode, res.Cookies())
	}
	cookie = res.Cookies()[0]
	if again, _ := post(t, c, path, nil, nil); again.StatusCode != http.StatusForbidden {
		t.Errorf("a link opens twice: %d", again.StatusCode)
	}
	_, text := get(t, c, "/operator", "Cookie", cookie.Name+"="+cookie.Value)
	found := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("the operator's page has no form:\n%s", text)
	}
	return cookie, found[1]
}

func post(t *testing.T, c http.Handler, path string, cookie *http.Cookie, form url.Values) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie != nil {
		r.AddCookie(cookie)
	}
	return answered(t, c, r)
}

// at is where browsers reach the console whose operators sign in at a provider.
const at = "https://console.example"

// provided is a provider that knows the operator ada.
func provided(t *testing.T) (*identitytest.Provider, *identity.SignIn) {
	t.Helper()
	p := identitytest.New(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(identitytest.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	signIn, err := identity.OpenSignIn(identity.Operators{Issuer: p.URL, Client: "console", Secret: serve.Path(secret), Roots: serve.Path(p.Roots), Back: at + "/login/oidc/callback", Names: map[string]string{"248289": "ada"}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p, signIn
}

// An operator who has signed in at the provider is let in: the one browser that began it, once,
// and nothing is done by what another site leads to.
func TestAnOperatorSignsInAtAProvider(t *testing.T) {
	p, signIn := provided(t)
	_, s, _, log := operated(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s, SignIn: signIn, Secure: true, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := get(t, c, "/operator"); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/login" {
		t.Errorf("a stranger is led to %d %s", res.StatusCode, res.Header.Get("Location"))
	}
	_, text := get(t, c, "/login")
	wants(t, text, `href="/login/oidc"`)

	// begin goes to the provider and back, as a browser does, and is what its page then posts.
	begin := func() (began *http.Cookie, form url.Values) {
		res, _ := get(t, c, "/login/oidc")
		if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
			t.Fatalf("beginning: %d %v", res.StatusCode, res.Cookies())
		}
		began = res.Cookies()[0]
		if !began.HttpOnly || !began.Secure || began.SameSite != http.SameSiteStrictMode || !strings.HasPrefix(began.Name, "__Host-") || began.MaxAge > 600 {
			t.Errorf("%+v", began)
		}
		client := p.Client()
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		there, err := client.Get(res.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		there.Body.Close()
		back := strings.TrimPrefix(there.Header.Get("Location"), at)
		res, text := get(t, c, back)
		if res.StatusCode != http.StatusOK || len(res.Cookies()) > 0 {
			t.Fatalf("coming back does something: %d %v", res.StatusCode, res.Cookies())
		}
		form = url.Values{}
		for _, field := range regexp.MustCompile(`name="(state|code)" value="([^"]+)"`).FindAllStringSubmatch(text, -1) {
			form.Set(field[1], html.UnescapeString(field[2]))
		}
		return began, form
	}
	p.SignedIn("248289", nil)
	began, form := begin()
	if res, _ := post(t, c, "/login/oidc", nil, form); res.StatusCode != http.StatusForbidden {
		t.Errorf("another browser finishes: %d", res.StatusCode)
	}
	otherBegan, otherForm := begin()
	if res, _ := post(t, c, "/login/oidc", otherBegan, form); res.StatusCode != http.StatusForbidden {
		t.Errorf("a browser that has begun another sign-in finishes: %d", res.StatusCode)
	}
	res, _ := post(t, c, "/login/oidc", began, form)
	var session *http.Cookie
	for _, cookie := range res.Cookies() {
		if cookie.MaxAge > 0 {
			session = cookie
		}
	}
	if res.StatusCode != http.StatusSeeOther || session == nil || !session.HttpOnly || !session.Secure || session.SameSite != http.SameSiteStrictMode || session.Name != "__Host-confetti-console" {
		t.Fatalf("signing in: %d %+v", res.StatusCode, res.Cookies())
	}
	if res, text := get(t, c, "/operator", "Cookie", session.Name+"="+session.Value); res.StatusCode != http.StatusOK || !strings.Contains(text, "logged in as ada") {
		t.Errorf("ada is not let in: %d", res.StatusCode)
	}
	if res, _ := post(t, c, "/login/oidc", began, form); res.StatusCode != http.StatusForbidden {
		t.Errorf("a code serves twice: %d", res.StatusCode)
	}
	for name, change := range map[string]func(map[string]any){
		"somebody else":   func(c map[string]any) { c["sub"] = "7-stranger" },
		"another nonce":   func(c map[string]any) { c["nonce"] = "x" },
		"another's token": func(c map[string]any) { c["aud"] = "x" },
	} {
		p.SignedIn("248289", change)
		began, form := begin()
		if res, text := post(t, c, "/login/oidc", began, form); res.StatusCode != http.StatusForbidden || strings.Contains(text, "7-stranger") {
			t.Errorf("%s: %d\n%s", name, res.StatusCode, text)
		}
	}
	for _, back := range []string{"", "?error=access_denied&state=" + otherForm.Get("state"), "?code=x", "?state=x"} {
		if res, _ := get(t, c, "/login/oidc/callback"+back); res.StatusCode != http.StatusForbidden {
			t.Errorf("coming back with %q: %d", back, res.StatusCode)
		}
	}
	from := func(address string) int {
		r := httptest.NewRequest(http.MethodGet, "/login/oidc", nil)
		r.RemoteAddr = address
		res, _ := answered(t, c, r)
		return res.StatusCode
	}
	many := 0
	for i := range 40 {
		if from(fmt.Sprintf("198.51.100.7:%d", 1000+i)) == http.StatusTooManyRequests {
			many++
		}
	}
	if many == 0 {
		t.Error("a stranger begins as many sign-ins as it likes")
	}
	if status := from("198.51.100.8:1000"); status != http.StatusSeeOther {
		t.Errorf("a stranger keeps everybody else out: %d", status)
	}
	if said := log.String(); !strings.Contains(said, "logged in at the provider") || strings.Contains(said, "248289") || strings.Contains(said, form.Get("code")) || strings.Contains(said, began.Value) {
		t.Errorf("the log says\n%s", said)
	}
}

// The code of a link lets somebody in, and stands in the address of its page: where that page cannot
// be drawn no log has it.
func TestNoLogHasACodeOfALink(t *testing.T) {
	c, _, _, log := operated(t)
	whole := templates
	templates = func() map[string]*template.Template {
		broken := maps.Clone(whole())
		broken["login"] = template.Must(template.New("base").Parse("{{.Body.Nothing}}"))
		return broken
	}
	defer func() { templates = whole }()
	path := c.Login("ada")
	res, text := get(t, c, path)
	code := strings.TrimPrefix(path, "/login/")
	if res.StatusCode != http.StatusBadGateway || strings.Contains(text, code) {
		t.Errorf("%d\n%s", res.StatusCode, text)
	}
	if said := log.String(); !strings.Contains(said, "a page failed") || !strings.Contains(said, "/login/{code}") || strings.Contains(said, code) {
		t.Errorf("the log says\n%s", said)
	}
}

// Of sums the page says who of the two has how many reports.
func TestAggregatorsAreNamedByWhatTheyDo(t *testing.T) {
	of := part{way: []plan.Party{{URL: "https://l.example"}, {URL: "https://h.example"}}}
	roles := along(plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Leader: of.way[0], Helper: of.way[1]}})
	if len(roles) != 2 || roles[0].role != "leader" || roles[1].role != "helper" {
		t.Errorf("%v", roles)
	}
	status := &serve.Status{Tables: []serve.Table{{Data: aggregated.Status{Plan: "p", Role: "helper", Crowds: []aggregated.CrowdStatus{{Crowd: 1, Phase: aggregated.HandedOn, Reports: 1200, Refused: 3}}}}}}
	rows := rowsOf(party{Status: status}, "p")
	if len(rows) != 1 || rows[0] != (lifeRow{Where: "helper, crowd 2", Phase: "handed on", Respondents: 1200, Dropped: 3}) {
		t.Errorf("%+v", rows)
	}
}

// How far a sum has come its leader tells, as roughly as a hop.
func TestALeaderTellsHowFarASumHasCome(t *testing.T) {
	s, _, _, _ := several(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s})
	if err != nil {
		t.Fatal(err)
	}
	var p plan.Plan
	p.Crowd.Minimum = 1000
	p.Route = plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Leader: plan.Party{URL: "https://leader.example"}, Helper: plan.Party{URL: "https://helper.example"}}}
	for role, want := range map[string]int{"leader": 1, "helper": 0} {
		text, err := json.Marshal(serve.Status{Tables: []serve.Table{{Data: aggregated.Status{Plan: p.Name(), Role: role, Crowds: []aggregated.CrowdStatus{{Phase: "collecting", About: "at least 1024"}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		s.answers["https://leader.example/status.json"] = text
		n := 0
		if found := c.progress(t.Context(), p); found != nil {
			if n = len(found.Crowds); n == 1 && (found.Crowds[0].Words != "at least 1024" || !found.Crowds[0].Full) {
				t.Errorf("%+v", found)
			}
		}
		if n != want {
			t.Errorf("the %s tells of %d crowds", role, n)
		}
	}
}

// Nothing is done by a GET, without a session, or by a form that is not of the session; all
// that is done is written down, with who did it.
func TestAnOperatorActs(t *testing.T) {
	c, s, asked, log := operated(t)
	cookie, csrf := login(t, c)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" {
		t.Errorf("%+v", cookie)
	}
	if res, text := get(t, c, "/operator"); res.StatusCode != http.StatusForbidden || strings.Contains(text, "disk") {
		t.Errorf("a stranger sees the services: %d", res.StatusCode)
	}
	acts := map[string]url.Values{
		"/operator/alarms":         {"url": {base}, "alarm": {serve.AlarmID("the disk is full")}},
		"/operator/close/" + asked: {"sure": {"yes"}},
		"/room/close":              {},
		"/operator/backup":         {"sure": {"yes"}},
		"/operator/drain":          {"sure": {"yes"}, "url": {base}, "drain": {"true"}},
	}
	asks := []string{"/operator/backup", "/operator/drain?drain=true&url=" + url.QueryEscape(base), "/operator/drain?drain=false&url=" + url.QueryEscape(base)}
	for _, path := range asks {
		if res, text := get(t, c, path, "Cookie", cookie.Name+"="+cookie.Value); res.StatusCode != http.StatusOK || !strings.Contains(text, `name="sure" value="yes"`) || !strings.Contains(text, csrf) {
			t.Errorf("GET %s: %d\n%s", path, res.StatusCode, text)
		}
		if res, text := get(t, c, path); res.StatusCode == http.StatusOK || strings.Contains(text, `name="sure"`) {
			t.Errorf("GET %s without a session: %d", path, res.StatusCode)
		}
	}
	for path, form := range acts {
		if res, _ := get(t, c, path, "Cookie", cookie.Name+"="+cookie.Value); path != "/operator/backup" && res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, res.StatusCode)
		}
		if res, _ := post(t, c, path, nil, form); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s without a session: %d", path, res.StatusCode)
		}
		form.Set("csrf", "x")
		if res, _ := post(t, c, path, cookie, form); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s with a form of another session: %d", path, res.StatusCode)
		}
	}
	if len(s.asked) > 0 {
		t.Fatalf("something was done: %q", s.asked)
	}
	for path, form := range acts {
		form.Set("csrf", csrf)
		if res, text := post(t, c, path, cookie, form); res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d\n%s", path, res.StatusCode, text)
		}
	}
	if all := strings.Join(s.asked, "\n"); len(s.asked) != 4 || !strings.Contains(all, "/alarms") || !strings.Contains(all, base+`/drain {"drain": true}`) || !strings.Contains(all, asked+"/close") {
		t.Errorf("asked was\n%s", all)
	}
	for _, want := range []string{"who=ada", "logged in", "closed plan " + asked, "acknowledged alarm", "backed the analyzer up to copy.db", "had a service drain: " + base} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	_, text := get(t, c, "/operator", "Cookie", cookie.Name+"="+cookie.Value)
	wants(t, text, "The disk is full", "Make room on the disk", "at least 1024", "budget", "closed plan", "3.1 MiB")

	// A confirmation is asked for, and the operator's token goes to services alone.
	before := len(s.asked)
	if res, _ := post(t, c, "/operator/close/"+asked, cookie, url.Values{"csrf": {csrf}}); res.StatusCode != http.StatusBadRequest {
		t.Errorf("closed without a confirmation: %d", res.StatusCode)
	}
	if res, _ := post(t, c, "/operator/alarms", cookie, url.Values{"csrf": {csrf}, "url": {"https://evil.example"}, "alarm": {"x"}}); res.StatusCode != http.StatusNotFound {
		t.Errorf("a service of nobody's: %d", res.StatusCode)
	}
	for _, bad := range []url.Values{
		{"url": {base}, "drain": {"true"}},
		{"url": {base}, "sure": {"yes"}},
		{"url": {base}, "sure": {"yes"}, "drain": {"1}{"}},
		{"url": {"https://evil.example"}, "sure": {"yes"}, "drain": {"true"}},
	} {
		bad.Set("csrf", csrf)
		if res, _ := post(t, c, "/operator/drain", cookie, bad); res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusNotFound {
			t.Errorf("draining by %v: %d", bad, res.StatusCode)
		}
	}
	if res, _ := post(t, c, "/operator/backup", cookie, url.Values{"csrf": {csrf}}); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a backup without a confirmation: %d", res.StatusCode)
	}
	if res, _ := get(t, c, "/operator/drain?drain=true&url="+url.QueryEscape("https://evil.example"), "Cookie", cookie.Name+"="+cookie.Value); res.StatusCode != http.StatusNotFound {
		t.Errorf("the page for a service of nobody's: %d", res.StatusCode)
	}
	if len(s.asked) != before {
		t.Errorf("asked was %q", s.asked[before:])
	}
	if res, _ := post(t, c, "/logout", cookie, url.Values{"csrf": {csrf}}); res.StatusCode != http.StatusSeeOther {
		t.Errorf("logging out: %d", res.StatusCode)
	}
	if res, _ := get(t, c, "/operator", "Cookie", cookie.Name+"="+cookie.Value); res.StatusCode != http.StatusForbidden {
		t.Errorf("a session outlives its end: %d", res.StatusCode)
	}
}

// The services tell of themselves, and the bar of a budget has each plan and the one to come.
func TestServicesTellOfThemselves(t *testing.T) {
	c, s, _, _ := operated(t)
	key := keyfile.Name{ID: "0123456789abcdef", Suite: "x25519", Purpose: "analyzer", Since: published}
	status, err := json.Marshal(serve.Status{
		Service: "analyzer", Since: published, Now: published.Add(time.Hour), Draining: published, Alarms: []string{"the certificate ends at 2026-12-01T00:00:00Z"},
		Facts:  []serve.Fact{{Name: "version", Value: "v1.2.3"}, {Name: "99 of 100 answers", Value: "within 25ms since the start"}, {Name: "backlog", Value: "2 batches wait, the oldest for 3m0s"}},
		Gauges: []serve.Gauge{{Name: "budget of everybody", Share: 0.3, Text: "epsilon 20"}},
		Tables: []serve.Table{{Title: serve.KeysTitle, Data: []keyfile.Name{key}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.answers[base+"/status.json"] = status
	cookie, _ := login(t, c)
	page := func(query string) string {
		_, text := get(t, c, "/operator"+query, "Cookie", cookie.Name+"="+cookie.Value)
		return text
	}
	text := page("")
	wants(t, text, "v1.2.3", "within 25ms", "the oldest for 3m0s", key.ID, "Take work again", "Have its files renewed", "one more like the last", "ada: epsilon 1 (replacement)")
	// 30 % are taken by epsilon 3 in all: one of 2 takes 20 % more, one of 8 does not fit.
	if parts := regexp.MustCompile(`x="([0-9.]+)%" width="([0-9.]+)%"`).FindAllStringSubmatch(text, -1); len(parts) < 3 || parts[0][2] != "10.00" || parts[1][1] != "10.00" || parts[1][2] != "20.00" || parts[2][1] != "30.00" || parts[2][2] != "20.00" {
		t.Errorf("the bar is %v", parts)
	}
	if strings.Contains(text, "It would not fit") {
		t.Error("a plan that fits does not")
	}
	wants(t, page("?planned=8"), "planned: epsilon 8", "It would not fit", `x="30.00%" width="70.00%"`)
	wants(t, page("?planned=0.5"), "planned: epsilon 0.5", `x="30.00%" width="5.00%"`)
	for _, bad := range []string{"x", "-1", "0", "NaN", "Inf"} {
		if res, _ := get(t, c, "/operator?planned="+bad, "Cookie", cookie.Name+"="+cookie.Value); res.StatusCode != http.StatusBadRequest {
			t.Errorf("planned %s: %d", bad, res.StatusCode)
		}
	}
}

// A phone has one credential however often it asks, and there are no more than devices.
func TestAPhoneJoinsOnce(t *testing.T) {
	c, _, _, _ := operated(t)
	join := func(cookie *http.Cookie) (status int, bearer string, keep *http.Cookie) {
		res, text := post(t, c, "/answer/join", cookie, nil)
		var told struct{ Plan, Bearer string }
		if res.StatusCode != http.StatusOK {
			return res.StatusCode, "", nil
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || !strings.Contains(told.Plan, "come to work") {
			t.Fatalf("%v: %s", err, text)
		}
		return res.StatusCode, told.Bearer, res.Cookies()[0]
	}
	_, one, keep := join(nil)
	_, again, _ := join(keep)
	_, two, _ := join(nil)
	status, _, _ := join(nil)
	if one != "one" || again != "one" || two != "two" || status != http.StatusConflict || !keep.HttpOnly || keep.SameSite != http.SameSiteStrictMode {
		t.Errorf("%q %q %q %d %+v", one, again, two, status, keep)
	}
	if drawn, err := c.o.Poll.Drawn(); err != nil || strings.Count(drawn, "\n") < 14 {
		t.Errorf("%v:\n%s", err, drawn)
	}
}

// A phone that deletes its cookie again and again does not get all places: neither by one
// address nor by many. It is told when to come back, and one that is in stays in.
func TestOnePhoneDoesNotTakeAllPlaces(t *testing.T) {
	c, _, _, _ := operated(t)
	c.o.Poll.Bearers = make([]string, 1000)
	join := func(address string, cookie *http.Cookie) *http.Response {
		r := httptest.NewRequest(http.MethodPost, "/answer/join", nil)
		r.Header.Set("Accept", "application/json")
		r.RemoteAddr = address
		if cookie != nil {
			r.AddCookie(cookie)
		}
		res, text := answered(t, c, r)
		if res.StatusCode == http.StatusTooManyRequests && (res.Header.Get("Retry-After") == "" || len(res.Cookies()) > 0 || text == "") {
			t.Errorf("refused with %v: %s", res.Header, text)
		}
		return res
	}
	var first *http.Cookie
	for i := range joinsOfAddress {
		res := join(fmt.Sprintf("192.0.2.1:%d", 1000+i), nil)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("join %d of an address: %d", i, res.StatusCode)
		}
		first = res.Cookies()[0]
	}
	for _, same := range []string{"192.0.2.1:9", "[::ffff:192.0.2.1]:9"} {
		if res := join(same, nil); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("one more from %s: %d", same, res.StatusCode)
		}
	}
	if res := join("192.0.2.1:9", first); res.StatusCode != http.StatusOK {
		t.Errorf("a phone that was in: %d", res.StatusCode)
	}
	in := joinsOfAddress
	for i := range 2 * joinsInAll {
		if res := join(fmt.Sprintf("10.0.0.%d:1", i), nil); res.StatusCode == http.StatusOK {
			in++
		}
	}
	if in < joinsInAll || in > joinsInAll+20 { // some more come in while the test runs
		t.Errorf("%d phones of many addresses joined at once, of at most %d", in, joinsInAll)
	}
	if joined := c.o.Poll.joined(); joined != in {
		t.Errorf("%d places are taken by %d phones", joined, in)
	}
}

// A collection is closed at its entries first, and at the analyzer once all that came has arrived;
// meanwhile the room says that it is counted. An entry that refuses leaves it open.
func TestEntriesCloseBeforeTheAnalyzer(t *testing.T) {
	c, s, asked, _ := operated(t)
	hash, err := wire.ParsePlanName(asked)
	if err != nil {
		t.Fatal(err)
	}
	arrived, closed := make(chan struct{}), make(chan struct{})
	refused := errors.New("not ours: South (shuffler) must close the collection too")
	c.o.Close = func(_ context.Context, p plan.Plan) (func(context.Context) error, error) {
		if p.Name() != asked {
			t.Errorf("closes %s", p.Name())
		}
		return func(context.Context) error {
			<-arrived
			defer close(closed)
			return nil
		}, refused
	}
	ada := session.Session{Name: "ada"}
	if told, is := errors.AsType[*pageError](c.closePlan(t.Context(), ada, hash)); !is || !strings.Contains(told.remedy, "South (shuffler) must close") {
		t.Errorf("an entry that refuses: %v", told)
	}
	if _, is := c.closing.Load(asked); is || len(s.asked) > 0 {
		t.Errorf("it closes all the same: %q", s.asked)
	}
	refused = nil
	for range 2 { // who asks again asks for what is under way
		if err := c.closePlan(t.Context(), ada, hash); err != nil {
			t.Fatal(err)
		}
	}
	if _, is := c.closing.Load(asked); !is {
		t.Error("it is not known that it closes")
	}
	close(arrived)
	<-closed
}

// The operator's pages and the room's, in a browser.
func TestOperatorsAndRoomsPagesInABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	c, _, _, _ := operated(t)
	served := httptest.NewServer(c)
	defer served.Close()
	c.o.Hosts = append(c.o.Hosts, served.Listener.Addr().String())
	_, signIn := provided(t)
	_, signing := start(t, Options{Analyzer: base, Public: c.o.Public, Operator: c.o.Operator, SignIn: signIn})
	for _, screen := range webtest.Screens {
		b := webtest.Open(t, ctx, screen)
		b.Do(chromedp.Navigate(served.URL + "/room"))
		b.Look(t, "room, "+screen.Name)
		b.Do(chromedp.Navigate(served.URL + c.Login("ada")))
		b.Look(t, "login, "+screen.Name)
		b.Do(chromedp.Click("main button"), chromedp.WaitVisible(".room details"))
		b.Look(t, "room of the operator, "+screen.Name)
		b.Do(chromedp.Navigate(signing + "/login"))
		b.Look(t, "signing in, "+screen.Name)
		b.Do(chromedp.Navigate(signing + "/login/oidc/callback?state=x&code=y"))
		b.Look(t, "back from the provider, "+screen.Name)
		for _, dark := range []bool{false, true} {
			b.Darken(t, dark)
			b.Do(chromedp.Navigate(served.URL + "/operator"))
			name := "operator, " + screen.Name
			if dark {
				name += ", dark"
			}
			b.Look(t, name)
			if !dark {
				b.Do(chromedp.Click(`.each > summary`), chromedp.Click(`form[action="/operator/drain"] button`), chromedp.WaitVisible(`a.quiet[href="/operator"]`))
				b.Look(t, "draining, "+screen.Name)
			}
		}
	}
}
