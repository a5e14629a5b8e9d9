package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

const (
	// refetch is how long after a look for keys the next one is, whoever asks with
	// whatever key: a stranger makes the service ask the provider no oftener.
	refetch = 10 * time.Second
	// stale is how long keys are used without a look for new ones, lost how long
	// without one that succeeds: a key that was taken back is taken no longer.
	stale = 5 * time.Minute
	lost  = time.Hour

	fetchTime = 5 * time.Second
	maxKeys   = 1 << 18 // bytes of a JWKS
	leastRSA  = 2048    // bits
)

// keySet is the public keys of whoever signs. It is safe for concurrent use.
type keySet struct {
	now  func() time.Time
	read func(context.Context) ([]jose.JSONWebKey, error)

	mu    sync.Mutex
	all   []jose.JSONWebKey
	since time.Time // when they were read; zero: they never were
	asked time.Time // when they were last looked for
	err   error     // why that failed
}

func newKeySet(now func() time.Time, read func(context.Context) ([]jose.JSONWebKey, error)) *keySet {
	return &keySet{now: now, read: read}
}

// fresh looks for keys if those that are here are old, and says why there are none.
func (k *keySet) fresh(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); k.since.IsZero() || now.Sub(k.since) > stale {
		k.look(ctx, now)
	}
	return k.here()
}

// look reads the keys, unless that was tried a moment ago. The caller holds mu.
func (k *keySet) look(ctx context.Context, now time.Time) {
	if !k.asked.IsZero() && now.Sub(k.asked) < refetch {
		return
	}
	k.asked = now
	// Whoever asked first may go: the others wait for the same keys.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	all, err := k.read(ctx)
	if k.err = err; err == nil {
		k.all, k.since = all, now
	}
}

// here says why the keys may not be used. The caller holds mu.
func (k *keySet) here() error {
	if k.since.IsZero() || k.now().Sub(k.since) > lost {
		return fmt.Errorf("issuer: no keys by which identities could be told: %w", k.err)
	}
	return nil
}

// usable returns why nobody could be told now; nil before anybody has asked.
func (k *keySet) usable() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked.IsZero() {
		return nil
	}
	return k.here()
}

// VerifySignature returns what a token says that one of the keys has signed, for
// package oidc.
func (k *keySet) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	parsed, err := jose.ParseSigned(raw, algorithms)
	if err != nil || len(parsed.Signatures) != 1 {
		return nil, errors.New("not one signature of a public key")
	}
	id := parsed.Signatures[0].Header.KeyID
	for _, key := range k.candidates(ctx, id) {
		if payload, err := parsed.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("no key verifies it")
}

// candidates returns the keys of the id, or all where there is none; keys that have come since
// are looked for if the id is new.
func (k *keySet) candidates(ctx context.Context, id string) (found []jose.JSONWebKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range 2 {
		for _, key := range k.all {
			if id == "" || key.KeyID == id {
				found = append(found, key)
			}
		}
		if len(found) > 0 {
			return found
		}
		k.look(ctx, k.now())
	}
	return nil
}

// parseKeys takes those of a JWKS that verify signatures and are long enough.
func parseKeys(text []byte) (good []jose.JSONWebKey, err error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("not a JSON Web Key Set")
	}
	for _, key := range set.Keys {
		if !key.IsPublic() || !key.Valid() || key.Use != "" && key.Use != "sig" {
			continue
		}
		switch public := key.Key.(type) {
		case *rsa.PublicKey:
			if public.N.BitLen() < leastRSA {
				continue
			}
		case *ecdsa.PublicKey, ed25519.PublicKey:
		default:
			continue
		}
		good = append(good, key)
	}
	if len(good) == 0 {
		return nil, fmt.Errorf("no public key of a signature, of RSA with %d bits, an elliptic curve or Ed25519, is in the JSON Web Key Set", leastRSA)
	}
	return good, nil
}

// filed reads keys from a file.
func filed(path serve.Path) func(context.Context) ([]jose.JSONWebKey, error) {
	return func(context.Context) ([]jose.JSONWebKey, error) {
		if path == "" {
			return nil, errors.New("name a file of public keys (JWKS)")
		}
		file, err := os.Open(string(path))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxKeys))
		if err != nil {
			return nil, err
		}
		good, err := parseKeys(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return good, nil
	}
}

// discovered fetches keys from where the provider says that they are (OpenID Connect
// Discovery).
func discovered(client *http.Client, issuer string) func(context.Context) ([]jose.JSONWebKey, error) {
	return func(ctx context.Context) ([]jose.JSONWebKey, error) {
		defer client.CloseIdleConnections() // the next look is minutes away
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
		if err != nil {
			return nil, fmt.Errorf("the provider's configuration: %w", err)
		}
		var where struct {
			Keys string `json:"jwks_uri"`
		}
		if err := provider.Claims(&where); err != nil {
			return nil, fmt.Errorf("the provider's configuration: %w", err)
		}
		if err := https(where.Keys); err != nil {
			return nil, fmt.Errorf("the provider's keys: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.Keys, nil)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, fmt.Errorf("the provider's keys: %w", err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(io.LimitReader(res.Body, maxKeys))
		if err != nil || res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the provider's keys: the answer is %d (%v)", res.StatusCode, err)
		}
		return parseKeys(text)
	}
}

// https refuses a URL whose answer anybody on the way could write.
func https(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return errors.New("need a URL that begins with https://")
	}
	return nil
}
