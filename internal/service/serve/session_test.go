package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/wire"
)

// operator is one, called ada: the file that she is in, what it says, and her token.
func operator(t *testing.T) (path string, bearers *Bearers, token string) {
	path = filepath.Join(t.TempDir(), "operators")
	token, err := AddBearer(rng.New(), path, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if bearers, err = ReadBearers(path); err != nil {
		t.Fatal(err)
	}
	return path, bearers, token
}

// A link lets a browser in once; its cookie shows the status page and nothing else, and
// ends with the operator's token.
func TestABrowserIsLetInByALinkOnce(t *testing.T) {
	path, bearers, token := operator(t)
	seen := ""
	s := start(t, Config{Operators: bearers, Routes: map[string]Handler{"GET /v1/me": func(w http.ResponseWriter, r *http.Request) error {
		seen = r.Header.Get("Cookie")
		return nil
	}}})
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.wants(wire.Unauthenticated, "POST", "/session", nil)
	s.wants(wire.Unauthenticated, "GET", "/session/"+strings.Repeat("A", 43), nil)
	_, text, p := s.do("POST", "/session", nil, "Authorization", "Bearer "+token)
	var link struct{ Path string }
	if err := json.Unmarshal([]byte(text), &link); p != nil || err != nil || !strings.HasPrefix(link.Path, "/session/") || strings.Contains(text, token) {
		t.Fatalf("%s, %v, %v", text, p, err)
	}
	response, _, p := s.do("GET", link.Path, nil)
	if p != nil || response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" || len(response.Cookies()) != 1 {
		t.Fatalf("%v %v", response, p)
	}
	c := response.Cookies()[0]
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("%+v", c)
	}
	s.wants(wire.Unauthenticated, "GET", link.Path, nil) // once

	cookie := c.Name + "=" + c.Value
	if _, page, p := s.do("GET", "/", nil, "Cookie", cookie); p != nil || !strings.Contains(page, "<!doctype html>") {
		t.Errorf("%s, %v", page, p)
	}
	s.wants(wire.Unauthenticated, "GET", "/", nil, "Cookie", c.Name+"="+strings.Repeat("A", 43))
	for _, path := range []string{"/status.json", "/metrics"} {
		s.wants(wire.Unauthenticated, "GET", path, nil, "Cookie", cookie)
	}
	s.wants(wire.Unauthenticated, "POST", "/session", nil, "Cookie", cookie)
	if s.do("GET", "/v1/me", nil, "Cookie", cookie); seen != "" {
		t.Errorf("a handler sees the cookie %q", seen)
	}

	// Who has no token any more has no session.
	if _, err := AddBearer(rng.New(), path, "bob"); err != nil {
		t.Fatal(err)
	}
	text2, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text2)) {
		if !strings.HasPrefix(line, "ada ") {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(kept, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, _, p := s.do("GET", "/", nil, "Cookie", cookie); p != nil && p.Code == wire.Unauthenticated {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a session outlives its operator's token")
		}
	}
}
