package identity

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/session"
)

// SignIn has browsers sign in at an OpenID provider, by the authorization code flow with PKCE,
// and tells which of the operators they are. It is safe for concurrent use.
type SignIn struct {
	settings  Operators
	secret    string
	client    *http.Client
	keys      *keySet
	verifier  *oidc.IDTokenVerifier
	now       func() time.Time
	endpoints endpoints
}

// Operators are the settings of a provider at which operators sign in.
type Operators struct {
	Issuer string     // the provider's URL, as its tokens name it
	Client string     // the client ID that the provider gave
	Secret serve.Path // file of the client's secret; empty: it has none
	Roots  serve.Path // PEM file of the provider's authorities; the system's without it
	Back   string     // where the provider sends browsers back to
	// Names are the operators' in logs, by their subjects with the provider. Nobody else is
	// let in.
	Names map[string]string
}

// signInAge is how old the identity token of a sign-in may be.
const signInAge = 10 * time.Minute

// errNobody says that who has signed in is none of the operators.
var errNobody = errors.New("issuer: who has signed in is none of the operators")

// OpenSignIn reads what the settings name. Nothing is fetched before the first sign-in.
func OpenSignIn(o Operators, now func() time.Time) (*SignIn, error) {
	errs := []error{serve.Fault("issuer", https(o.Issuer))}
	if o.Client == "" {
		errs = append(errs, serve.Fault("client", errors.New("name the client ID that the provider gave")))
	}
	if len(o.Names) == 0 {
		errs = append(errs, serve.Fault("operators", errors.New("name those whom to let in: everybody of the provider's would be otherwise")))
	}
	if _, there := o.Names[""]; there {
		errs = append(errs, serve.Fault("operators", errors.New("one has no subject: give the provider's sub of each")))
	}
	client, err := serve.Client(o.Roots)
	errs = append(errs, serve.Fault("roots", err))
	var secret string
	if o.Secret != "" {
		secret, err = serve.ReadSecretFile(o.Secret)
		errs = append(errs, serve.Fault("secret", err))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	client.Timeout = fetchTime
	keys := newKeySet(now, discovered(client, o.Issuer))
	return &SignIn{settings: o, secret: secret, client: client, keys: keys, verifier: verifier(o.Issuer, o.Client, keys, now), now: now}, nil
}

// Begin returns where a browser signs in. The browser keeps what is kept until it is back: nobody
// else may read it or have put it there.
func (s *SignIn) Begin(ctx context.Context) (url, kept string, err error) {
	c, err := s.config(ctx)
	if err != nil {
		return "", "", err
	}
	state, nonce, verifier := session.Secret(), session.Secret(), session.Secret()
	return c.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), strings.Join([]string{state, nonce, verifier}, "."), nil
}

// Finish returns the name of the operator who has signed in, by what the browser has kept and what it
// came back with. The error is errNobody of a person whom the provider knows and who is none.
func (s *SignIn) Finish(ctx context.Context, kept, state, code string) (name string, err error) {
	parts := strings.Split(kept, ".")
	if len(parts) != 3 || slices.Contains(parts, "") || code == "" || subtle.ConstantTimeCompare([]byte(parts[0]), []byte(state)) != 1 {
		return "", errors.New("issuer: this browser has not begun this sign-in")
	}
	c, err := s.config(ctx)
	if err != nil {
		return "", err
	}
	answer, err := c.Exchange(oidc.ClientContext(ctx, s.client), code, oauth2.VerifierOption(parts[2]))
	if err != nil {
		return "", errors.New("issuer: the provider does not take the code of this sign-in") // its words may hold what it was sent
	}
	raw, _ := answer.Extra("id_token").(string)
	if raw == "" || len(raw) > maxToken {
		return "", errors.New("issuer: the provider gave no identity token")
	}
	if err := s.keys.fresh(ctx); err != nil {
		return "", err
	}
	token, err := s.verifier.Verify(ctx, raw)
	if err != nil {
		return "", fmt.Errorf("issuer: the provider's identity token %s", reason(err))
	}
	err = checkIdentityToken(token, typeOf(raw), s.settings.Client, s.now(), signInAge)
	if err == nil && !nonceIs(token, parts[1]) {
		err = errors.New("its nonce is of another sign-in")
	}
	if err != nil {
		return "", fmt.Errorf("issuer: the provider's identity token is not good here: %w", err)
	}
	if name = s.settings.Names[token.Subject]; name == "" {
		return "", errNobody
	}
	return name, nil
}

func (s *SignIn) config(ctx context.Context) (*oauth2.Config, error) {
	at, err := s.endpoints.of(ctx, s.client, s.settings.Issuer, s.now())
	return &oauth2.Config{ClientID: s.settings.Client, ClientSecret: s.secret, Endpoint: at, RedirectURL: s.settings.Back, Scopes: []string{oidc.ScopeOpenID}}, err
}

// endpoints are where a provider signs people in, as it says itself. They are looked for as
// seldom as its keys are, whoever asks.
type endpoints struct {
	mu           sync.Mutex
	at           oauth2.Endpoint
	since, asked time.Time
	err          error
}

func (e *endpoints) of(ctx context.Context, client *http.Client, issuer string, now time.Time) (oauth2.Endpoint, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if (e.since.IsZero() || now.Sub(e.since) > stale) && (e.asked.IsZero() || now.Sub(e.asked) >= refetch) {
		e.asked = now
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
		defer cancel()
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), issuer)
		if err == nil {
			at := provider.Endpoint()
			if err = errors.Join(https(at.AuthURL), https(at.TokenURL)); err == nil {
				e.at, e.since = at, now
			}
		}
		e.err = err
	}
	if e.since.IsZero() || now.Sub(e.since) > lost {
		return e.at, fmt.Errorf("issuer: the provider's configuration: %w", e.err)
	}
	return e.at, nil
}
