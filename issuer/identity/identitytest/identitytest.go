// Package identitytest is an OpenID provider for tests: it signs what it is told to.
package identitytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

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
}

// New starts a provider with a key of RSA that is called "first".
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, keys: map[string]crypto.Signer{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize",
			"response_types_supported": []string{"id_token"}, "subject_types_supported": []string{"pairwise"},
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

// Fetched is how often the keys were asked for.
func (p *Provider) Fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}

// Key is one that was added.
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
