// Package identitytest runs an OpenID provider that signs whatever a test says. Used by tests of
// internal/service/issuer, internal/service/console and cmd/confetti.
package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/confetti-dp/confetti/internal/rng"
)

// Provider serves its configuration and keys over TLS on a loopback address.
type Provider struct {
	*httptest.Server
	Roots string // PEM file of its authority

	t testing.TB

	mu      sync.Mutex
	keys    map[string]crypto.Signer
	down    bool
	fetched int
	subject string
	change  func(claims map[string]any)
	codes   map[string]url.Values // what was asked for where they were given out
	pages   map[string]string     // origins of pages that are clients without a secret, by their IDs
}

// Secret is that of the client of the same name as its ID: others have none.
const Secret = "what only the client knows"

// SignedIn has everybody be signed in as the subject, with claims that are changed before they
// are signed, if change is not nil.
func (p *Provider) SignedIn(subject string, change func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subject, p.change = subject, change
}

// AllowPage makes a client of pages of an origin, which cannot keep a secret (RFC 6749, section
// 2.1): the verifier alone says that who exchanges a code has begun.
func (p *Provider) AllowPage(client, origin string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[client] = origin
}

// authorize sends the browser back with a code, as if a person had just agreed.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil || asked.Get("response_type") != "code" || !strings.Contains(" "+asked.Get("scope")+" ", " openid ") || asked.Get("code_challenge_method") != "S256" {
		http.Error(w, "not a request of the code flow with PKCE", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	code := fmt.Sprintf("code-%d", len(p.codes)+1)
	p.codes[code] = asked
	p.mu.Unlock()
	back.RawQuery = url.Values{"code": {code}, "state": {asked.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// exchange gives an identity token for a code, once, and only to who has begun.
func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	asked, there := p.codes[r.PostFormValue("code")]
	if origin, page := p.pages[r.PostFormValue("client_id")]; page && r.Header.Get("Origin") == origin {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		id, secret, basic = r.PostFormValue("client_id"), url.QueryEscape(Secret), true // it shows none
	}
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !there || !basic || secret != url.QueryEscape(Secret) || id != asked.Get("client_id") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": id, "sub": p.subject, "nonce": asked.Get("nonce"), "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	if p.change != nil {
		p.change(claims)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": Sign(p.t, jose.RS256, p.keys["first"], "first", "JWT", claims)})
}

// New starts a provider with a key of RSA that is called "first".
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, keys: map[string]crypto.Signer{}, codes: map[string]url.Values{}, pages: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"response_types_supported": []string{"id_token", "code"}, "subject_types_supported": []string{"pairwise"},
			// What a provider offers is no reason to take it.
			"id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.fetched++; p.down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		w.Write(p.jwks())
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.exchange)
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	p.Roots = filepath.Join(t.TempDir(), "provider.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(p.Roots, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p.AddKey("first", RSA(t, 2048))
	return p
}

// RSA draws a key of so many bits.
func RSA(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rng.Reader(rng.New()), bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// EC draws a key of the curve P-256.
func EC(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rng.Reader(rng.New()))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// AddKey publishes the public half of a key.
func (p *Provider) AddKey(id string, key crypto.Signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys[id] = key
}

// RemoveKey takes a key back.
func (p *Provider) RemoveKey(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.keys, id)
}

// SetDown makes the keys out of reach.
func (p *Provider) SetDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Fetched returns how often the keys were asked for.
func (p *Provider) Fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}

// Key returns one that was added.
func (p *Provider) Key(id string) crypto.Signer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[id]
}

func (p *Provider) jwks() []byte {
	var set jose.JSONWebKeySet
	for id, key := range p.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id})
	}
	text, err := json.Marshal(set)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// JWKS writes the keys to a file.
func (p *Provider) JWKS() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := filepath.Join(p.t.TempDir(), "keys.jwks")
	if err := os.WriteFile(path, p.jwks(), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// Sign makes a token of the claims with any key and algorithm.
func Sign(t testing.TB, alg jose.SignatureAlgorithm, key any, id, typ string, claims map[string]any) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithHeader("kid", id)
	if typ != "" {
		options = options.WithType(jose.ContentType(typ))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
