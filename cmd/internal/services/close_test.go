package services

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
)

// Whoever closes shows each token to the service that it is for and to no other, and hears who is open still.
// A service that refuses the token that is here for it is nobody else's to close: that is an error.
func TestCloseShowsItsTokenWhereItBelongs(t *testing.T) {
	var mu sync.Mutex
	shown := map[string]bool{}
	closed := false
	stand := func(role string) *httptest.Server {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			bearer := r.Header.Get("Authorization")
			shown[role] = shown[role] || bearer != ""
			known := bearer == "Bearer an-operators-token"
			switch {
			case r.Method == http.MethodPost && known:
				closed = closed || role == "entry"
			case r.Method == http.MethodPost:
				problem(w, http.StatusUnauthorized, "unauthenticated")
			case strings.HasPrefix(r.URL.Path, "/v1/releases/"):
				problem(w, http.StatusConflict, "not-closed")
			case strings.HasSuffix(r.URL.Path, "/status") && closed:
				w.Write([]byte(`[{"instance":0,"hop":0,"phase":"closed","crowds":[{"crowd":0,"phase":"withheld"},{"crowd":1,"phase":"withheld"}]}]`))
			default:
				w.Write([]byte(`[{"instance":0,"hop":0,"phase":"collecting"}]`))
			}
		}))
		t.Cleanup(s.Close)
		return s
	}
	entry, last, analyzer := stand("entry"), stand("last"), stand("analyzer")
	folder := t.TempDir()
	roots, file, stale := filepath.Join(folder, "ca.crt"), filepath.Join(folder, "token"), filepath.Join(folder, "stale")
	for path, text := range map[string][]byte{roots: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: entry.Certificate().Raw}), file: []byte("an-operators-token\n"), stale: []byte("another\n")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := example.Density("rr")
	p.Route.Mix.Instances[0].Hops[0].URL, p.Route.Mix.Instances[0].Hops[1].URL, p.Analyzer.URL = entry.URL, last.URL, analyzer.URL
	with := func(token, at string) *Services {
		s, err := Operator{Flags: Flags{Roots: roots}, Token: token, At: at}.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	as := func(at string) *Services { return with(file, at) }
	quiet := func(string) {}
	if left, err := with(stale, entry.URL).CloseEntries(t.Context(), p, quiet); err == nil || len(left) != 0 {
		t.Errorf("the entry refuses the token: left %v, %v", left, err)
	}
	shown["entry"] = false
	if left, err := as(analyzer.URL).CloseEntries(t.Context(), p, quiet); err != nil || len(left) != 1 || left[0].URL != entry.URL || shown["entry"] {
		t.Errorf("the analyzer's operator closes: left %v, %v, shown %v", left, err, shown)
	}
	if left, err := as(entry.URL).CloseEntries(t.Context(), p, quiet); err != nil || len(left) != 0 || !shown["entry"] {
		t.Errorf("the entry's operator closes: left %v, %v, shown %v", left, err, shown)
	}
	if left, err := as(analyzer.URL).CloseEntries(t.Context(), p, quiet); err != nil || len(left) != 0 {
		t.Errorf("the entry is closed: left %v, %v", left, err)
	}
	if _, err := as(entry.URL).Verdict(t.Context(), p); !errors.Is(err, ErrNotOurs) {
		t.Errorf("the entry's operator closes the analyzer: %v", err)
	}
	if shown["last"] || shown["analyzer"] {
		t.Errorf("shown to others: %v", shown)
	}
}

func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	w.Write([]byte(`{"type":"https://confetti.example/problems/` + code + `","title":"t","status":401,"code":"` + code + `"}`))
}
