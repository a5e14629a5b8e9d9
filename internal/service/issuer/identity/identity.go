// Package identity tells an issuer whom a request is from: by a token of an OpenID provider, an assertion of the
// app's backend, or a link that opens once. Used by internal/service/issuer, cmd/internal/server/roles and
// cmd/internal/server/token.
//
// What it returns names a person. The issuer keeps a keyed hash of it and nothing else, and signs blindly, so that
// no hop sees anything that follows from it.
package identity

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Identifier tells whom a request is from.
type Identifier interface {
	// Kind is how the issuer's records call what it takes. It separates respondents
	// of one kind from those of another.
	Kind() string
	// Identify returns what is the same in every request of one respondent, and in nobody
	// else's. plan is the name of the plan that the tokens are for. The error is a
	// *wire.Problem and says nothing of who asks.
	Identify(r *http.Request, plan string) ([]byte, error)
	// Err is why nobody could be told now.
	Err() error
}

// OIDC are the settings of an OpenID provider whose identity tokens are taken.
type OIDC struct {
	Issuer   string         `toml:"issuer" eg:"https://accounts.example.org" help:"The provider's URL as its tokens name it (iss), and the app's client ID there (aud)."`
	Audience string         `toml:"audience" eg:"confetti-app"`
	Keys     serve.Path     `toml:"keys" or:"provider.jwks" help:"Its public keys (JWKS), if they are not to be fetched from where it says. Read again after five minutes, and when a token names a key that is not in it."`
	Roots    serve.Path     `toml:"roots" or:"provider.crt" help:"Authorities that it is reached by, in PEM. Without it the system's."`
	MaxAge   serve.Duration `toml:"max_age" or:"1h" help:"How long after it was given out a token is taken."`
}

// Assertions are the settings of an app's backend that says who asks.
type Assertions struct {
	Issuer   string     `toml:"issuer" eg:"app.example.org" help:"How the backend names itself (iss), and this service (aud)."`
	Audience string     `toml:"audience" eg:"tokens.example.org"`
	Keys     serve.Path `toml:"keys" eg:"backend.jwks" help:"The backend's public keys (JWKS), read again as a provider's are."`
}

const (
	defaultMaxAge = time.Hour
	// assertionLife is the longest that an assertion may be good: it is made for one request.
	assertionLife = 10 * time.Minute
	// assertionType is the typ of an assertion, so that no other token that the backend signs is one.
	assertionType = "confetti-assertion+jwt"
	accessType    = "at+jwt" // of access tokens (RFC 9068), which are not meant for us

	maxToken   = 8 << 10 // bytes
	maxSubject = 255     // of an OpenID subject
	leeway     = time.Minute
)

// algorithms are those of public keys alone: what everybody can verify nobody may sign with it.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// signed takes JSON Web Tokens of one issuer for one audience.
type signed struct {
	kind     string
	issuer   string
	keys     *keySet
	verifier *oidc.IDTokenVerifier
	// more are the rules of the kind beside those of all; typ is what the token calls itself,
	// and secret what came with it.
	more func(token *oidc.IDToken, typ, plan, secret string) error
	// bound is whether a token comes with the secret that its nonce was made of.
	bound bool
}

func (s *signed) Kind() string { return s.kind }
func (s *signed) Err() error   { return s.keys.usable() }

// OpenOIDC reads what the settings name. Nothing is fetched before the first request.
func OpenOIDC(o OIDC, now func() time.Time) (Identifier, error) {
	var errs []error
	if err := https(o.Issuer); err != nil {
		errs = append(errs, serve.Fault("oidc.issuer", err))
	}
	if o.Audience == "" {
		errs = append(errs, serve.Fault("oidc.audience", errors.New("name the app's client ID: a token for another app would say nothing about this one")))
	}
	if o.MaxAge < 0 {
		errs = append(errs, serve.Fault("oidc.max_age", errors.New("is negative")))
	}
	client, err := serve.Client(o.Roots)
	errs = append(errs, serve.Fault("oidc.roots", err))
	keys := newKeySet(now, discovered(client, o.Issuer))
	if o.Keys != "" {
		keys = newKeySet(now, filed(o.Keys))
		_, err := keys.read(context.Background())
		errs = append(errs, serve.Fault("oidc.keys", err))
	}
	most := time.Duration(o.MaxAge)
	if most == 0 {
		most = defaultMaxAge
	}
	return &signed{
		kind: "oidc", issuer: o.Issuer, keys: keys, verifier: verifier(o.Issuer, o.Audience, keys, now), bound: true,
		more: func(t *oidc.IDToken, typ, plan, secret string) error {
			if err := checkIdentityToken(t, typ, o.Audience, now(), most); err != nil {
				return err
			}
			hash, err := wire.ParsePlanName(plan)
			if err != nil || !nonceIs(t, wire.SignInNonce(hash, secret)) {
				return errors.New("its nonce is not of this plan and of the secret that came with it")
			}
			return nil
		},
	}, errors.Join(errs...)
}

// OpenAssertions reads what the settings name.
func OpenAssertions(a Assertions, now func() time.Time) (Identifier, error) {
	var errs []error
	if a.Issuer == "" {
		errs = append(errs, serve.Fault("assertions.issuer", errors.New("name the backend as its assertions do")))
	}
	if a.Audience == "" {
		errs = append(errs, serve.Fault("assertions.audience", errors.New("name this service as the backend's assertions do: one for another service would be taken here")))
	}
	keys := newKeySet(now, filed(a.Keys))
	_, err := keys.read(context.Background())
	errs = append(errs, serve.Fault("assertions.keys", err))
	return &signed{
		kind: "assertion", issuer: a.Issuer, keys: keys, verifier: verifier(a.Issuer, a.Audience, keys, now),
		more: func(t *oidc.IDToken, typ, plan, _ string) error {
			var claims struct {
				Plan string `json:"plan"`
			}
			switch err := t.Claims(&claims); {
			case typ != assertionType:
				return fmt.Errorf("its typ is not %s", assertionType)
			case err != nil || claims.Plan != plan:
				return errors.New("it is for another plan, or names none")
			case t.IssuedAt.IsZero() || now().Sub(t.IssuedAt) < -leeway || t.Expiry.Sub(t.IssuedAt) > assertionLife:
				return fmt.Errorf("it does not say when it was made, or is good for longer than %v", assertionLife)
			}
			return nil
		},
	}, errors.Join(errs...)
}

// checkIdentityToken refuses what is no identity token that a client of that ID got within the last
// so long, beside what the verifier looks at: signature, issuer, audience and end (OpenID Connect
// Core 1.0, section 3.1.3.7). Its nonce is the caller's to compare (nonceIs).
func checkIdentityToken(t *oidc.IDToken, typ, client string, now time.Time, most time.Duration) error {
	var claims struct {
		Party string `json:"azp"`
	}
	err := t.Claims(&claims)
	switch age := now.Sub(t.IssuedAt); {
	case typ == accessType:
		return errors.New("it is an access token, and no identity token")
	case err != nil || claims.Party != client && (claims.Party != "" || len(t.Audience) > 1):
		return errors.New("it was given to another app, which is its authorized party")
	case t.IssuedAt.IsZero() || age < -leeway || age > most:
		return fmt.Errorf("it was not given out within the last %v", most)
	}
	return nil
}

// nonceIs compares a token's nonce, in a time that does not depend on it.
func nonceIs(t *oidc.IDToken, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(want)) == 1
}

func verifier(issuer, audience string, keys *keySet, now func() time.Time) *oidc.IDTokenVerifier {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = string(a)
	}
	return oidc.NewVerifier(issuer, keys, &oidc.Config{ClientID: audience, SupportedSigningAlgs: names, Now: now})
}

// Identify verifies the token that the request bears.
func (s *signed) Identify(r *http.Request, plan string) ([]byte, error) {
	raw, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	var secret string
	if s.bound {
		var whole bool
		if raw, secret, whole = wire.SignedIn(raw); found && !whole {
			return nil, wire.Problemf(wire.Unauthenticated, "a signed token with the secret of its nonce behind it is needed here")
		}
	}
	if !found || len(raw) > maxToken || strings.Count(raw, ".") != 2 {
		return nil, wire.Problemf(wire.Unauthenticated, "a signed token that says who asks is needed here")
	}
	if err := s.keys.fresh(r.Context()); err != nil {
		p := wire.Problemf(wire.Overloaded, "who asks cannot be told now: the keys are out of reach")
		p.RetryAfter = refetch
		return nil, p
	}
	token, err := s.verifier.Verify(r.Context(), raw)
	if err != nil {
		return nil, wire.Problemf(wire.Unauthenticated, "the token %s", reason(err))
	}
	if err := s.more(token, typeOf(raw), plan, secret); err != nil {
		return nil, wire.Problemf(wire.Unauthenticated, "the token is not good here: %w", err)
	}
	if token.Subject == "" || len(token.Subject) > maxSubject {
		return nil, wire.Problemf(wire.Unauthenticated, "the token is not good here: it names nobody")
	}
	// As it is configured: a provider that writes its name in two ways has one subject of that name.
	return []byte(s.issuer + "\x00" + token.Subject), nil
}

// reason returns why a token was refused, without what stands in it.
func reason(err error) string {
	_, expired := errors.AsType[*oidc.TokenExpiredError](err)
	switch text := err.Error(); {
	case expired:
		return "has expired"
	case strings.Contains(text, "audience"):
		return "is for another audience"
	case strings.Contains(text, "issued by a different provider"):
		return "is of another issuer"
	case strings.Contains(text, "nbf"):
		return "is not good yet"
	}
	return "is not signed with a key and algorithm that are taken here"
}

// typeOf returns the typ in the header of a token that was verified.
func typeOf(raw string) string {
	parsed, err := jose.ParseSigned(raw, algorithms)
	if err != nil {
		return ""
	}
	typ, _ := parsed.Signatures[0].Protected.ExtraHeaders[jose.HeaderType].(string)
	return strings.TrimPrefix(strings.ToLower(typ), "application/")
}

// Links takes codes of links, which are bearer tokens whose names say for which plan they
// are: see NewLink.
func Links(bearers *serve.Bearers) Identifier { return links{bearers} }

type links struct{ bearers *serve.Bearers }

func (links) Kind() string { return "link" }
func (l links) Err() error { return l.bearers.Err() }

// NewLink draws the name of a link for the plan of that name. Each link is a respondent.
func NewLink(r *rand.Rand, plan string) string {
	id := make([]byte, 16)
	rng.Reader(r).Read(id)
	return fmt.Sprintf("%s-%x", plan, id)
}

// Identify finds the code that the request bears.
func (l links) Identify(r *http.Request, plan string) ([]byte, error) {
	name, ok := l.bearers.Sender(r)
	of, _, _ := strings.Cut(name, "-")
	if _, err := hex.DecodeString(of); !ok || err != nil || of != plan {
		return nil, wire.Problemf(wire.Unauthenticated, "the code is not that of a link for this plan")
	}
	return []byte(name), nil
}
