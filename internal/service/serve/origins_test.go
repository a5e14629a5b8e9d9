package serve

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/wire"
)

const (
	app   = "https://app.example.org"
	other = "http://localhost:8080"
)

var crossOrigin = []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Access-Control-Allow-Credentials", "Access-Control-Allow-Private-Network"}

// pages is a service that has paths of every kind, and what its handlers are shown.
func pages(t *testing.T, origins ...string) (*started, func() http.Header) {
	var shown http.Header
	h := func(w http.ResponseWriter, r *http.Request) error { shown = r.Header; return nil }
	refuse := func(w http.ResponseWriter, r *http.Request) error {
		return wire.Problemf(wire.RateLimited, "slowly")
	}
	s := start(t, Config{
		Origins: origins, Visited: []string{"POST /tasks/{task}/reports"},
		Routes: map[string]Handler{
			wire.PlanPattern: h, wire.RegisterPattern: h, wire.ContributionPattern: h, wire.TokensPattern: refuse, "POST /tasks/{task}/reports": h,
			wire.BatchPattern: h, wire.BudgetPattern: h, wire.ClosePattern: h, wire.ReleasePattern: h,
		},
	})
	return s, func() http.Header { return shown }
}

func (s *started) crossOrigin(method, path string, header ...string) map[string]string {
	s.t.Helper()
	res, _, _ := s.do(method, path, nil, header...)
	found := map[string]string{}
	for _, name := range crossOrigin {
		if v := res.Header.Values(name); len(v) > 1 {
			s.t.Errorf("%s stands there %d times", name, len(v))
		} else if len(v) == 1 {
			found[name] = v[0]
		}
	}
	if method == "OPTIONS" && res.StatusCode == http.StatusNoContent || len(found) > 0 {
		if !strings.Contains(strings.Join(res.Header.Values("Vary"), ", "), "Origin") {
			s.t.Errorf("%s %s: what keeps answers is not told that origins differ", method, path)
		}
	}
	return found
}

func TestPagesOfTheConfigurationAskAndRead(t *testing.T) {
	s, shown := pages(t, app, other)
	hash := strings.Repeat("0", 64)
	plan, upload, tokens := "/v1/plans/"+hash, "/v1/plans/"+hash+"/instances/0/contributions/"+hash, "/v1/plans/"+hash+"/tokens"
	for _, origin := range []string{app, other} {
		for path, methods := range map[string]string{upload: "PUT", tokens: "POST", plan: "GET", "/tasks/x/reports": "POST", "/v1/releases/" + hash + ".json": "GET"} {
			want := map[string]string{
				"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Methods": methods,
				"Access-Control-Allow-Headers": "Authorization, Content-Type, Accept", "Access-Control-Max-Age": "600",
			}
			if got := s.crossOrigin("OPTIONS", path, "Origin", origin, "Access-Control-Request-Method", methods, "Access-Control-Request-Headers", "authorization,content-type"); !maps.Equal(got, want) {
				t.Errorf("before %s %s: %v, want %v", methods, path, got, want)
			}
		}
		want := map[string]string{"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "Retry-After, Accept, Confetti-Versions"}
		// tokens are refused: a page reads problems too.
		for path, method := range map[string]string{upload: "PUT", tokens: "POST", plan: "GET"} {
			if got := s.crossOrigin(method, path, "Origin", origin); !maps.Equal(got, want) {
				t.Errorf("%s %s: %v, want %v", method, path, got, want)
			}
		}
		if shown().Get("Origin") != "" {
			t.Error("a handler is shown where the page came from")
		}
	}
	// What hops, publishers and operators do, no page does; nor reads it.
	for path, method := range map[string]string{"/v1/plans/" + hash + "/instances/0/hops/1/batches/0": "PUT", "/v1/budgets/x": "GET", plan + "/close": "POST", plan: "PUT", "/metrics": "GET", "/": "GET", "/session": "POST"} {
		if got := s.crossOrigin("OPTIONS", path, "Origin", app, "Access-Control-Request-Method", method); len(got) > 0 {
			t.Errorf("before %s %s: %v", method, path, got)
		}
		if got := s.crossOrigin(method, path, "Origin", app); len(got) > 0 && path != plan {
			t.Errorf("%s %s: %v", method, path, got)
		}
	}
	if got := s.crossOrigin("OPTIONS", plan, "Origin", app, "Access-Control-Request-Method", "DELETE"); len(got) > 0 {
		t.Errorf("before a method that there is not: %v", got)
	}
	// The number of respondents may be private, and that of their preflights tells it.
	_, metrics, _ := s.do("GET", "/metrics", nil)
	if strings.Contains(metrics, "OPTIONS /v1/plans/{plan}/tokens") || strings.Contains(metrics, `http_route="OPTIONS`) {
		t.Error("preflights are counted")
	}
}

func TestOtherPagesReadNothing(t *testing.T) {
	path := "/v1/plans/" + strings.Repeat("0", 64)
	hostile := []string{
		"", "null", "*", "https://app.example.org.evil.example", "https://evil.example", "http://app.example.org", "https://app.example.org:443", "https://app.example.org:8443", "https://app.example.org/",
		"HTTPS://APP.EXAMPLE.ORG", "https://APP.example.org", " https://app.example.org", "https://app.example.org https://evil.example", "https://app.example.org,https://evil.example",
		"https://x@app.example.org", "https://sub.app.example.org", "https://app.example.org%00", "https://app.example.org#", "http://localhost", "http://localhost:80800", "file://", strings.Repeat("a", 8000),
	}
	with, _ := pages(t, app, other)
	without, _ := pages(t)
	for _, origin := range hostile {
		for _, method := range []string{"OPTIONS", "GET"} {
			if got := with.crossOrigin(method, path, "Origin", origin, "Access-Control-Request-Method", "GET"); len(got) > 0 && strings.TrimSpace(origin) != app {
				t.Errorf("%s of %q: %v", method, origin, got)
			}
		}
	}
	for _, origin := range append(hostile, app) {
		if got := without.crossOrigin("GET", path, "Origin", origin); len(got) > 0 {
			t.Errorf("where no origin is named, %q reads %v", origin, got)
		}
		res, _, p := without.do("OPTIONS", path, nil, "Origin", origin, "Access-Control-Request-Method", "GET")
		if p == nil || p.Code != wire.MethodNotAllowed || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("where no origin is named a preflight is answered %v", p)
		}
	}
	// Two headers are no browser's.
	r, err := http.NewRequest("GET", with.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header["Origin"] = []string{app, "https://evil.example"}
	res, err := with.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("of two origins the first was taken")
	}
}

func TestOriginsAreWrittenAsBrowsersDo(t *testing.T) {
	for _, good := range []string{app, other, "https://app.example.org:8443", "http://127.0.0.1:3000", "http://[::1]:3000", "https://[2001:db8::1]"} {
		if err := CheckOrigins([]string{good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"*", "null", "", "app.example.org", "https://", "https://*.example.org", app + "/", app + "/page", app + ":443", app + ":", "http://localhost:80", "HTTPS://app.example.org", "https://App.example.org", "http://app.example.org", "file:///x", "https://u@app.example.org", app + "?x", app + "#x", app + "," + app, " " + app} {
		if CheckOrigins([]string{bad}) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if CheckOrigins([]string{app, app}) == nil {
		t.Error("an origin stands there twice")
	}
	var said bytes.Buffer
	_, err := HTTP{Listen: "127.0.0.1:0", Origins: []string{"*"}}.Open("test", slog.New(slog.NewTextHandler(&said, nil)))
	if err == nil || !strings.Contains(err.Error(), "http.origins") {
		t.Errorf("the configuration does not name the setting: %v", err)
	}
}
