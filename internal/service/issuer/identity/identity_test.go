package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

const (
	client  = "confetti-app"
	subject = "248289761001"
)

var (
	planName = strings.Repeat("0a", 32)
	start    = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// secret is what the device drew for its sign-in.
var secret = base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

// identify shows a credential, with the secret behind it where it is an identity token.
func identify(who Identifier, token string) ([]byte, *wire.Problem) {
	if who.Kind() == "oidc" {
		token += "~" + secret
	}
	return shown(who, token)
}

func shown(who Identifier, credential string) ([]byte, *wire.Problem) {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Authorization", "Bearer "+credential)
	got, err := who.Identify(r, planName)
	p, _ := errors.AsType[*wire.Problem](err)
	if err != nil && p == nil {
		panic(err)
	}
	return got, p
}

// good is what a provider says of a person.
func good(p *identitytest.Provider) map[string]any {
	hash, err := wire.ParsePlanName(planName)
	if err != nil {
		panic(err)
	}
	return map[string]any{"iss": p.URL, "aud": client, "sub": subject, "nonce": wire.SignInNonce(hash, secret), "iat": start.Unix(), "exp": start.Add(time.Hour).Unix(), "email": "bea@example.org"}
}

func with(claims map[string]any, name string, value any) map[string]any {
	c := maps.Clone(claims)
	if c[name] = value; value == nil {
		delete(c, name)
	}
	return c
}

func TestIdentityTokens(t *testing.T) {
	p := identitytest.New(t)
	c := &clock{start}
	who, err := OpenOIDC(OIDC{Issuer: p.URL, Audience: client, Roots: serve.Path(p.Roots)}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := p.Key("first")
	p.AddKey("ec", identitytest.EC(t))
	sign := func(claims map[string]any) string {
		return identitytest.Sign(t, jose.RS256, rsaKey, "first", "JWT", claims)
	}
	claims := good(p)
	first, problem := identify(who, sign(claims))
	if problem != nil || !bytes.Contains(first, []byte(subject)) {
		t.Fatalf("%s %v", first, problem)
	}
	for name, token := range map[string]string{
		"another key of theirs":     identitytest.Sign(t, jose.ES256, p.Key("ec"), "ec", "", claims),
		"no key is named":           identitytest.Sign(t, jose.RS256, rsaKey, "", "", claims),
		"PSS":                       identitytest.Sign(t, jose.PS256, rsaKey, "first", "", claims),
		"several audiences":         sign(with(with(claims, "aud", []string{"other", client}), "azp", client)),
		"given out later":           sign(with(claims, "iat", start.Add(30*time.Second).Unix())),
		"another e-mail address":    sign(with(claims, "email", "b@example.org")),
		"the provider's own things": sign(with(claims, "at_hash", "n-0S6_WzA2Mj")),
	} {
		if again, problem := identify(who, token); problem != nil || !bytes.Equal(again, first) {
			t.Errorf("%s: %s, %v", name, again, problem)
		}
	}
	if other, problem := identify(who, sign(with(claims, "sub", "2"))); problem != nil || bytes.Equal(other, first) {
		t.Errorf("another person: %s, %v", other, problem)
	}

	public, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	published, err := os.ReadFile(p.JWKS())
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]struct{ token, says string }{
		"another audience":               {sign(with(claims, "aud", "other")), "audience"},
		"no audience":                    {sign(with(claims, "aud", nil)), "audience"},
		"another's, which names us too":  {sign(with(claims, "aud", []string{"other", client})), "authorized party"},
		"another app's party":            {sign(with(claims, "azp", "other")), "authorized party"},
		"another issuer":                 {sign(with(claims, "iss", "https://evil.example")), "issuer"},
		"expired":                        {sign(with(claims, "exp", start.Add(-time.Second).Unix())), "expired"},
		"no end":                         {sign(with(claims, "exp", nil)), "expired"},
		"too old":                        {sign(with(with(claims, "iat", start.Add(-2*time.Hour).Unix()), "exp", start.Add(time.Hour).Unix())), "within"},
		"given out tomorrow":             {sign(with(claims, "iat", start.Add(24*time.Hour).Unix())), "within"},
		"no time":                        {sign(with(claims, "iat", nil)), "within"},
		"not good yet":                   {sign(with(claims, "nbf", start.Add(time.Hour).Unix())), "not good yet"},
		"nobody":                         {sign(with(claims, "sub", "")), "nobody"},
		"a subject without end":          {sign(with(claims, "sub", strings.Repeat("x", 256))), "nobody"},
		"an access token":                {identitytest.Sign(t, jose.RS256, rsaKey, "first", "at+JWT", claims), "access token"},
		"an access token, in full":       {identitytest.Sign(t, jose.RS256, rsaKey, "first", "application/at+jwt", claims), "access token"},
		"another key":                    {identitytest.Sign(t, jose.RS256, identitytest.RSA(t, 2048), "first", "", claims), "not signed"},
		"another key of another kind":    {identitytest.Sign(t, jose.EdDSA, foreign, "first", "", claims), "not signed"},
		"an unknown key":                 {identitytest.Sign(t, jose.RS256, identitytest.RSA(t, 2048), "second", "", claims), "not signed"},
		"the public key as a secret":     {identitytest.Sign(t, jose.HS256, public, "first", "", claims), "not signed"},
		"the same in PEM":                {identitytest.Sign(t, jose.HS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), "first", "", claims), "not signed"},
		"the key set as a secret":        {identitytest.Sign(t, jose.HS256, published, "first", "", claims), "not signed"},
		"no algorithm":                   {unsigned(t, "none", claims, ""), "not signed"},
		"no algorithm, in capitals":      {unsigned(t, "NONE", claims, ""), "not signed"},
		"no algorithm, with a signature": {unsigned(t, "none", claims, "AAAA"), "not signed"},
		"no signature":                   {sign(claims)[:strings.LastIndex(sign(claims), ".")+1], "not signed"},
		"a changed claim":                {changed(t, sign(claims), with(claims, "sub", "2")), "not signed"},
		"no token":                       {"", "needed"},
		"words":                          {"a.b.c", "not signed"},
		"too long":                       {sign(with(claims, "more", strings.Repeat("x", 9<<10))), "needed"},
	} {
		got, problem := identify(who, bad.token)
		if got != nil || problem == nil || problem.Code != wire.Unauthenticated || !strings.Contains(problem.Detail, bad.says) {
			t.Errorf("%s: %s, %v, want %q", name, got, problem, bad.says)
		}
		if problem != nil && (strings.Contains(problem.Detail, subject) || strings.Contains(problem.Detail, "example") || bad.token != "" && strings.Contains(problem.Detail, bad.token)) {
			t.Errorf("%s: the problem says who asks: %v", name, problem)
		}
	}
	// Strangers with keys of their own invention do not make us ask the provider each time.
	if n := p.Fetched(); n > 2 {
		t.Errorf("the keys were fetched %d times within a second", n)
	}
}

// A token that was given out for something else serves nobody who finds it: its nonce is of the
// plan, and of a secret that whoever signed in has kept.
func TestAnIdentityTokenIsOfOnePlanAndDevice(t *testing.T) {
	p := identitytest.New(t)
	c := &clock{start}
	who, err := OpenOIDC(OIDC{Issuer: p.URL, Audience: client, Roots: serve.Path(p.Roots)}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(nonce any) string {
		return identitytest.Sign(t, jose.RS256, p.Key("first"), "first", "JWT", with(good(p), "nonce", nonce))
	}
	own := good(p)["nonce"].(string)
	hash, err := wire.ParsePlanName(planName)
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := shown(who, sign(own)+"~"+secret); problem != nil {
		t.Fatal(problem)
	}
	other := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
	const nonce, behind = "nonce", "behind it"
	for name, bad := range map[string]struct{ credential, says string }{
		"no secret":               {sign(own), behind},
		"an empty secret":         {sign(own) + "~", behind},
		"a short secret":          {sign(wire.SignInNonce(hash, secret[:40])) + "~" + secret[:40], behind},
		"a long secret":           {sign(own) + "~" + secret + "AA", behind},
		"two secrets":             {sign(own) + "~" + secret + "~" + secret, behind},
		"another form of it":      {sign(own) + "~" + secret[:42] + "d", behind},
		"another secret":          {sign(own) + "~" + other, nonce},
		"no nonce":                {sign(nil) + "~" + secret, nonce},
		"an empty nonce":          {sign("") + "~" + secret, nonce},
		"a nonce of another app":  {sign("n-0S6_WzA2Mj") + "~" + secret, nonce},
		"a nonce that is no text": {sign(7) + "~" + secret, "not signed"},
		"another plan's":          {sign(wire.SignInNonce([32]byte{0x0b}, secret)) + "~" + secret, nonce},
		"the secret itself":       {sign(secret) + "~" + secret, nonce},
	} {
		got, problem := shown(who, bad.credential)
		if got != nil || problem == nil || problem.Code != wire.Unauthenticated || !strings.Contains(problem.Detail, bad.says) || strings.Contains(problem.Detail, secret) {
			t.Errorf("%s: %s, %v, want %q", name, got, problem, bad.says)
		}
	}
}

// unsigned is a token that says itself that nobody need sign it.
func unsigned(t *testing.T, alg string, claims map[string]any, signature string) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"`+alg+`","kid":"first"}`)) + "." + encode(payload) + "." + signature
}

func changed(t *testing.T, token string, claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + parts[2]
}

// Keys come and go without a restart, and a provider that is out of reach for a while
// stops nobody; for long, everybody, and is said to be the reason.
func TestKeysComeAndGo(t *testing.T) {
	p := identitytest.New(t)
	c := &clock{start}
	who, err := OpenOIDC(OIDC{Issuer: p.URL, Audience: client, Roots: serve.Path(p.Roots), MaxAge: serve.Duration(24 * time.Hour)}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	claims := with(good(p), "exp", start.Add(24*time.Hour).Unix())
	old, fresh := p.Key("first"), identitytest.EC(t)
	ask := func(id string, alg jose.SignatureAlgorithm, key any) *wire.Problem {
		_, problem := identify(who, identitytest.Sign(t, alg, key, id, "", claims))
		return problem
	}
	p.SetDown(true)
	if problem := ask("first", jose.RS256, old); problem == nil || problem.Code != wire.Overloaded || problem.RetryAfter == 0 {
		t.Errorf("without any keys: %v", problem)
	}
	if who.Err() == nil {
		t.Error("without any keys it is ready")
	}
	p.SetDown(false)
	c.at = c.at.Add(refetch)
	if problem := ask("first", jose.RS256, old); problem != nil || who.Err() != nil {
		t.Errorf("once the provider is back: %v, %v", problem, who.Err())
	}
	p.AddKey("second", fresh)
	c.at = c.at.Add(refetch)
	if problem := ask("second", jose.ES256, fresh); problem != nil {
		t.Errorf("a new key: %v", problem)
	}
	p.RemoveKey("first")
	if problem := ask("first", jose.RS256, old); problem != nil {
		t.Errorf("a key that was taken back a moment ago: %v", problem)
	}
	c.at = c.at.Add(stale + time.Second)
	if problem := ask("first", jose.RS256, old); problem == nil || problem.Code != wire.Unauthenticated {
		t.Errorf("a key that was taken back: %v", problem)
	}
	p.SetDown(true)
	c.at = c.at.Add(lost - time.Minute)
	if problem := ask("second", jose.ES256, fresh); problem != nil {
		t.Errorf("the provider is out of reach: %v", problem)
	}
	c.at = c.at.Add(2 * time.Minute)
	if problem := ask("second", jose.ES256, fresh); problem == nil || problem.Code != wire.Overloaded {
		t.Errorf("it has been for long: %v", problem)
	}
}

func TestAssertions(t *testing.T) {
	p := identitytest.New(t)
	c := &clock{start}
	who, err := OpenAssertions(Assertions{Issuer: "app.example", Audience: "tokens.example", Keys: serve.Path(p.JWKS())}, c.now)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{"iss": "app.example", "aud": "tokens.example", "sub": subject, "iat": start.Unix(), "exp": start.Add(5 * time.Minute).Unix(), "plan": planName}
	sign := func(typ string, claims map[string]any) string {
		return identitytest.Sign(t, jose.RS256, p.Key("first"), "first", typ, claims)
	}
	first, problem := identify(who, sign(assertionType, claims))
	if problem != nil {
		t.Fatal(problem)
	}
	c.at = start.Add(time.Minute) // a second one, after a lost answer
	if again, problem := identify(who, sign(assertionType, with(claims, "iat", c.at.Unix()))); problem != nil || !bytes.Equal(first, again) {
		t.Errorf("%s, %v", again, problem)
	}
	for name, bad := range map[string]string{
		"another kind of token":   sign("JWT", claims),
		"no kind":                 sign("", claims),
		"another plan":            sign(assertionType, with(claims, "plan", strings.Repeat("0b", 32))),
		"no plan":                 sign(assertionType, with(claims, "plan", nil)),
		"a plan that is a number": sign(assertionType, with(claims, "plan", 1)),
		"good for a day":          sign(assertionType, with(claims, "exp", start.Add(24*time.Hour).Unix())),
		"no time":                 sign(assertionType, with(claims, "iat", nil)),
		"made tomorrow":           sign(assertionType, with(with(claims, "iat", start.Add(24*time.Hour).Unix()), "exp", start.Add(24*time.Hour).Unix())),
		"another audience":        sign(assertionType, with(claims, "aud", "other.example")),
		"another issuer":          sign(assertionType, with(claims, "iss", "other.example")),
		"expired":                 sign(assertionType, with(claims, "exp", start.Unix())),
	} {
		if got, problem := identify(who, bad); got != nil || problem == nil || problem.Code != wire.Unauthenticated {
			t.Errorf("%s: %s, %v", name, got, problem)
		}
	}
}

func TestLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "links")
	codes, err := serve.AddBearers(rng.New(), path, NewLink(rng.New(), planName), NewLink(rng.New(), planName), NewLink(rng.New(), strings.Repeat("0b", 32)), "operator")
	if err != nil {
		t.Fatal(err)
	}
	bearers, err := serve.ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	who := Links(bearers)
	first, problem := identify(who, codes[0])
	if problem != nil {
		t.Fatal(problem)
	}
	if second, problem := identify(who, codes[1]); problem != nil || bytes.Equal(first, second) {
		t.Errorf("another link: %s, %v", second, problem)
	}
	for name, code := range map[string]string{"another plan's": codes[2], "a token with a name": codes[3], "none": "", "a guess": codes[0][:len(codes[0])-1] + "A"} {
		if got, problem := identify(who, code); code != codes[0] && (got != nil || problem == nil || problem.Code != wire.Unauthenticated) {
			t.Errorf("%s: %s, %v", name, got, problem)
		}
	}
}

func TestSettings(t *testing.T) {
	p := identitytest.New(t)
	write := func(set jose.JSONWebKeySet) serve.Path {
		text, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return serve.Path(path)
	}
	short := identitytest.RSA(t, 1024)
	for name, keys := range map[string]jose.JSONWebKeySet{
		"none":             {},
		"a secret":         {Keys: []jose.JSONWebKey{{Key: []byte("secret")}}},
		"a private key":    {Keys: []jose.JSONWebKey{{Key: p.Key("first")}}},
		"a short key":      {Keys: []jose.JSONWebKey{{Key: short.Public()}}},
		"a key to encrypt": {Keys: []jose.JSONWebKey{{Key: p.Key("first").Public(), Use: "enc"}}},
	} {
		if _, err := OpenAssertions(Assertions{Issuer: "a", Audience: "b", Keys: write(keys)}, time.Now); err == nil || !strings.Contains(err.Error(), "assertions.keys") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []OIDC{{}, {Issuer: "http://idp.example", Audience: "a"}, {Issuer: "https://idp.example"}, {Issuer: "https://idp.example", Audience: "a", Keys: "none"}, {Issuer: "https://idp.example", Audience: "a", Roots: "none"}, {Issuer: "https://idp.example", Audience: "a", MaxAge: -1}} {
		if _, err := OpenOIDC(bad, time.Now); err == nil || !strings.Contains(err.Error(), "oidc.") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
