package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/wire"
)

func fine(w http.ResponseWriter, r *http.Request) error {
	if err := Enter(r, Respondent{}); err != nil {
		return err
	}
	_, err := w.Write([]byte("fine"))
	return err
}

// A draining service takes nothing new of anybody, goes on with what ends its work, and takes
// work again when it is told so. Only an operator tells it.
func TestAServiceDrains(t *testing.T) {
	_, bearers, token := operator(t)
	const handed = "POST /handed"
	routes := map[string]Handler{handed: fine}
	for _, pattern := range []string{wire.ContributionPattern, wire.BatchPattern, wire.TokensPattern, wire.RegisterPattern, wire.KeepStatePattern, wire.ClosePattern, wire.WithdrawPattern, wire.HeldPattern, wire.PlanPattern} {
		routes[pattern] = fine
	}
	s := start(t, Config{Operators: bearers, Routes: routes, Handed: []string{handed}})
	ada := []string{"Authorization", "Bearer " + token}
	fill := strings.NewReplacer("{plan}", strings.Repeat("0", 64), "{state}", strings.Repeat("0", 64), "{instance}", "0", "{hop}", "1", "{crowd}", "0", "{id}", "x")
	refused := func() (which []string) {
		for pattern := range routes {
			method, at, _ := strings.Cut(pattern, " ")
			if _, _, p := s.do(method, fill.Replace(at), nil); p != nil {
				if p.Code != wire.Overloaded || p.RetryAfter == 0 {
					t.Errorf("%s: %v", pattern, p)
				}
				which = append(which, pattern)
			}
		}
		return which
	}
	order := func(text string) (st Status) {
		t.Helper()
		_, body, p := s.do("POST", "/drain", strings.NewReader(text), ada...)
		if err := json.Unmarshal([]byte(body), &st); p != nil || err != nil {
			t.Fatal(p, err)
		}
		return st
	}
	if which := refused(); len(which) > 0 {
		t.Fatalf("before: %q", which)
	}
	s.wants(wire.Unauthenticated, "POST", "/drain", strings.NewReader(`{"drain":true}`))
	for _, bad := range []string{"", "{}", `{"drain":1}`, `{"drain":null}`, `{"drain":true} x`} {
		s.wants(wire.BadRequest, "POST", "/drain", strings.NewReader(bad), ada...)
	}
	s.wants(wire.BadRequest, "POST", "/drain", strings.NewReader(strings.Repeat(" ", 1<<20)), ada...)
	st := order(`{"drain":true}`)
	if st.Draining.IsZero() || len(st.Alarms) != 1 || !strings.Contains(st.Alarms[0], "drains") {
		t.Errorf("%+v", st)
	}
	if again := order(`{"drain":true}`); !again.Draining.Equal(st.Draining) {
		t.Errorf("it drains anew: %v and %v", st.Draining, again.Draining)
	}
	if which := refused(); len(which) != 6 {
		t.Errorf("while it drains: %q", which)
	}
	s.wants(wire.Overloaded, "GET", "/readyz", nil)
	if _, body, p := s.do("GET", "/healthz", nil); p != nil || body != "ok\n" {
		t.Errorf("a draining service is not alive: %q %v", body, p)
	}
	if st := order(`{"drain":false}`); !st.Draining.IsZero() || len(st.Alarms) > 0 {
		t.Errorf("%+v", st)
	}
	if which := refused(); len(which) > 0 {
		t.Errorf("after: %q", which)
	}
	if _, body, p := s.do("GET", "/readyz", nil); p != nil || body != "ready\n" {
		t.Errorf("it is not ready again: %q %v", body, p)
	}
	open := start(t, Config{})
	open.wants(wire.Unauthenticated, "POST", "/drain", strings.NewReader(`{"drain":true}`))
}

// A service tells its version, its certificate's end, its disk, how long requests take, and
// which keys it has, and nothing of the keys but their names.
func TestAServiceTellsOfItself(t *testing.T) {
	keys, secret := t.TempDir(), bytes.Repeat([]byte{0xab}, 32)
	file := keyfile.File{Suite: "x25519", Purpose: "hop 1", PublicKey: keytext.Encode("x25519", bytes.Repeat([]byte{1}, 32)), PrivateKey: secret}
	if err := keyfile.Create(filepath.Join(keys, "a.json"), file); err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(keys, "a.json"), since, since); err != nil {
		t.Fatal(err)
	}
	authority, err := NewAuthority("test", 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"c": cert, "k": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate, err := ReadCertificate(filepath.Join(dir, "c"), filepath.Join(dir, "k"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Keys: keys, Disk: DiskOf(Path(filepath.Join(dir, "c"))), TLS: TLS(certificate, nil), Routes: map[string]Handler{"GET /quick": fine}})
	if err != nil {
		t.Fatal(err)
	}
	m := s.config.Metrics
	for range 980 {
		m.request("GET /quick", 200, 2*time.Millisecond)
	}
	for range 20 {
		m.request("GET /quick", 200, 70*time.Millisecond)
		m.request("GET /metrics", 200, 20*time.Second) // an operator's, which is not counted
	}
	st := s.status(context.Background())
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"version"`, `"until ` + time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02")[:8], `"free disk"`, `"within 100ms since the start"`, keytext.ID(file.PublicKey), `"hop 1"`, `"2026-03-01"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the status does not say %s:\n%s", want, text)
		}
	}
	if len(st.Alarms) > 0 {
		t.Errorf("a new certificate of a day is an alarm: %q", st.Alarms)
	}
	for left, alarm := range map[time.Duration]bool{20 * 24 * time.Hour: false, 13 * 24 * time.Hour: true, -time.Hour: true} {
		leaf := &x509.Certificate{NotBefore: time.Now().Add(-80 * 24 * time.Hour), NotAfter: time.Now().Add(left)}
		s.config.TLS = TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &tls.Certificate{Leaf: leaf}, nil }, nil)
		if st := s.status(t.Context()); alarm != (len(st.Alarms) == 1 && strings.Contains(st.Alarms[0], "the certificate ends at ")) {
			t.Errorf("%v are left: %q", left, st.Alarms)
		}
	}
	whole, err := os.ReadFile(filepath.Join(keys, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		Private string `json:"private_key"`
	}
	if err := json.Unmarshal(whole, &kept); err != nil || kept.Private == "" || strings.Contains(string(text), kept.Private) || strings.Contains(string(text), "abababab") {
		t.Errorf("%v: the status has the key:\n%s", err, text)
	}
	for range 100 {
		m.request("GET /quick", 200, 2*time.Minute)
	}
	if most, n := m.slow(s.config.Routes); most != 0 || n != 1100 {
		t.Errorf("beyond the last step: %v of %d", most, n)
	}
	if most, n := m.slow(nil); most != 0 || n != 0 {
		t.Errorf("of no routes: %v of %d", most, n)
	}
}
