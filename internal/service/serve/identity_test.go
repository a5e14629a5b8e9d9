package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
)

func TestBearers(t *testing.T) {
	r := stattest.Rand(t)
	path := filepath.Join(t.TempDir(), "tokens")
	tokens := map[string]string{}
	for _, name := range []string{"alice", "bob", "alice"} {
		token, err := AddBearer(r, path, name)
		if err != nil {
			t.Fatal(err)
		}
		tokens[token] = name
	}
	b, err := ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range tokens {
		if name, ok := b.Find(token); !ok || name != want {
			t.Errorf("found %q, want %s", name, want)
		}
		for _, other := range []string{token[:len(token)-1], token + "A", strings.ToUpper(token), "cft_" + strings.Repeat("A", 43), "", token[4:]} {
			if _, ok := b.Find(other); ok {
				t.Error("another token was taken")
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for token := range tokens {
		if bytes.Contains(text, []byte(token[4:])) {
			t.Error("the file shows a token")
		}
	}
	for _, name := range []string{"", "a b", "a\n"} {
		if _, err := AddBearer(r, path, name); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBearers(path); err == nil {
		t.Error("a file open to others was read")
	}
	line := strings.SplitAfter(string(text), "\n")
	for name, bad := range map[string]string{
		"empty": "", "no salt": "confetti-bearers/v1\n", "another version": strings.Replace(string(text), "/v1", "/v2", 1),
		"a hash twice": string(text) + line[1], "no name": line[0] + " " + strings.SplitN(line[1], " ", 2)[1], "half a line": string(text[:len(text)-9]), "three words": line[0] + "x " + line[1],
	} {
		if _, err := parseBearers([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// A token added or taken away while the service runs counts from then on; a file
// that was spoilt leaves what was known.
func TestBearersAreReadAgain(t *testing.T) {
	r := stattest.Rand(t)
	path := filepath.Join(t.TempDir(), "tokens")
	first, err := AddBearer(r, path, "alice")
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := AddBearer(r, path, "bob")
	if err != nil {
		t.Fatal(err)
	}
	b.file.looked = b.file.looked.Add(-lookEvery)
	if _, ok := b.Find(second); !ok {
		t.Error("a new token is not known")
	}
	if err := os.WriteFile(path, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.file.looked = b.file.looked.Add(-lookEvery)
	if _, ok := b.Find(first); !ok || b.Err() == nil {
		t.Error("a spoilt file is not noticed, or took away what was known")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := AddBearer(r, path, "carol"); err != nil {
		t.Fatal(err)
	}
	b.file.looked = b.file.looked.Add(-lookEvery)
	if _, ok := b.Find(first); ok || b.Err() != nil {
		t.Error("a token that was taken away is still known")
	}
}

func FuzzParseBearers(f *testing.F) {
	f.Add([]byte("confetti-bearers/v1 AAAAAAAAAAAAAAAAAAAAAA\nalice AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if p, err := parseBearers(text); err == nil && len(p.salt) != saltSize {
				t.Error("accepted without a salt")
			}
		})
	})
}

func TestRespondentsAreKeyedHashes(t *testing.T) {
	secret, again, other := NewSecret(bytes.Repeat([]byte{1}, 32)), NewSecret(bytes.Repeat([]byte{1}, 32)), NewSecret(bytes.Repeat([]byte{2}, 32))
	alice := secret.Respondent("bearer", []byte("alice"))
	if alice != again.Respondent("bearer", []byte("alice")) {
		t.Error("a service that comes up again does not know whom it heard")
	}
	for name, r := range map[string]Respondent{
		"another service": other.Respondent("bearer", []byte("alice")), "another kind": secret.Respondent("certificate", []byte("alice")), "another name": secret.Respondent("bearer", []byte("alicf")),
	} {
		if r == alice {
			t.Errorf("%s has the same hash", name)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s"} {
		if s := fmt.Sprintf(verb, secret); s != "a secret" {
			t.Errorf("%s prints %s", verb, s)
		}
	}
}

func TestAuthenticator(t *testing.T) {
	r := stattest.Rand(t)
	path := filepath.Join(t.TempDir(), "tokens")
	token, err := AddBearer(r, path, "alice")
	if err != nil {
		t.Fatal(err)
	}
	bearers, err := ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	a := Authenticator{Secret: NewSecret([]byte("secret")), Bearers: bearers, Certificates: true}
	s := start(t, Config{Operators: bearers, Routes: map[string]Handler{"GET /v1/me": func(w http.ResponseWriter, r *http.Request) error {
		me, err := a.Respondent(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%x", me)
		return err
	}}})
	s.wants(wire.Unauthenticated, "GET", "/v1/me", nil)
	s.wants(wire.Unauthenticated, "GET", "/v1/me", nil, "Authorization", "Bearer x")
	s.wants(wire.Unauthenticated, "GET", "/v1/me", nil, "Authorization", "Basic "+token)
	s.wants(wire.Unauthenticated, "GET", "/v1/me", nil, "Authorization", token)
	s.wants(wire.Unauthenticated, "GET", "/metrics", nil, "Authorization", token)
	_, byToken, p := s.do("GET", "/v1/me", nil, "Authorization", "Bearer "+token)
	if p != nil || strings.Contains(byToken, "alice") {
		t.Errorf("by token: %v", p)
	}
	s.wants(wire.Unauthenticated, "GET", "/metrics", nil)
	s.wants(wire.Unauthenticated, "GET", "/", nil)
	if _, _, p := s.do("GET", "/metrics", nil, "Authorization", "Bearer "+token); p != nil {
		t.Errorf("an operator is not let in: %v", p)
	}

	stranger, err := NewAuthority("stranger", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	me := func(ca *Authority, name string) (string, error) {
		cert, key, err := ca.Client(name)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }}}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(s.url + "/v1/me")
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		var b bytes.Buffer
		b.ReadFrom(response.Body)
		return b.String(), nil
	}
	first, err := me(s.ca, "alice")
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := me(s.ca, "alice")
	if err != nil || renewed != first {
		t.Errorf("a renewed certificate is another respondent (%v)", err)
	}
	if bob, err := me(s.ca, "bob"); err != nil || bob == first {
		t.Errorf("two names are one respondent (%v)", err)
	}
	if _, err := me(stranger, "alice"); err == nil {
		t.Error("a stranger's certificate was taken")
	}
}

func TestRates(t *testing.T) {
	rates := NewRates[int](0.001, 3, 10)
	for i := range 3 {
		if err := rates.Allow(1); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	p, ok := errors.AsType[*wire.Problem](rates.Allow(1))
	if !ok || p.Code != wire.RateLimited || p.RetryAfter < 900*time.Second || p.RetryAfter > 1000*time.Second {
		t.Errorf("the fourth: %+v", p)
	}
	if err := rates.Allow(2); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// Whatever the keys, memory stays bounded and the newest ones are remembered.
func TestRatesForgetTheQuiet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keys = 8
		rates := NewRates[int](0.001, 1, keys)
		var recent []int
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			key := rapid.IntRange(0, 40).Draw(t, "key")
			err := rates.Allow(key)
			known := false
			for _, k := range recent[max(0, len(recent)-keys):] {
				known = known || k == key
			}
			if known && err == nil {
				t.Fatalf("key %d was forgotten too soon", key)
			}
			recent = append(recent, key)
			if len(rates.young) > keys || len(rates.old) > keys {
				t.Fatalf("%d and %d keys are remembered", len(rates.young), len(rates.old))
			}
		}
	})
}

func TestCertificatesAreReadAgain(t *testing.T) {
	ca, err := NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile, pool := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")
	renew := func() {
		cert, key, err := ca.Server("127.0.0.1", "localhost")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(atomicfile.Replace(certFile, cert, 0o600), atomicfile.Replace(keyFile, key, 0o600), atomicfile.Replace(pool, ca.PEM(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadCertificate(certFile, keyFile); err == nil {
		t.Error("no files were read")
	}
	renew()
	get, err := ReadCertificate(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	before, err := get(nil)
	if err != nil {
		t.Fatal(err)
	}
	renew()
	time.Sleep(lookEvery + 10*time.Millisecond)
	after, err := get(nil)
	if err != nil || bytes.Equal(before.Certificate[0], after.Certificate[0]) {
		t.Errorf("the renewed certificate is not used (%v)", err)
	}
	if _, err := ReadPool(pool); err != nil {
		t.Error(err)
	}
	if _, err := ReadPool(keyFile); err == nil {
		t.Error("a key was read as an authority")
	}
	if _, _, err := ca.Server(); err == nil {
		t.Error("a certificate for no host")
	}
}
