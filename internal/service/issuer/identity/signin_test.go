package identity

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

const back = "https://console.example/login/oidc/callback"

func newSignIn(t *testing.T, p *identitytest.Provider) *SignIn {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(identitytest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSignIn(Operators{Issuer: p.URL, Client: "console", Secret: serve.Path(secret), Roots: serve.Path(p.Roots), Back: back, Names: map[string]string{subject: "ada"}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// goes follows a browser to the provider, and is what it comes back with.
func goes(t *testing.T, p *identitytest.Provider, to string) url.Values {
	t.Helper()
	client := p.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	at, err := res.Location()
	if err != nil || !strings.HasPrefix(at.String(), back+"?") {
		t.Fatalf("%d %v %v", res.StatusCode, at, err)
	}
	return at.Query()
}

func TestOperatorsSignIn(t *testing.T) {
	p := identitytest.New(t)
	s := newSignIn(t, p)
	begin := func() (kept string, came url.Values) {
		to, kept, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(to, strings.Split(kept, ".")[2]) {
			t.Fatal("the verifier is in the address")
		}
		return kept, goes(t, p, to)
	}
	finish := func(kept string, came url.Values) (string, error) {
		return s.Finish(context.Background(), kept, came.Get("state"), came.Get("code"))
	}
	p.SignedIn(subject, nil)
	kept, came := begin()
	if name, err := finish(kept, came); err != nil || name != "ada" {
		t.Fatalf("%q, %v", name, err)
	}
	if _, err := finish(kept, came); err == nil {
		t.Error("a code serves twice")
	}

	// What another browser has begun is not finished here, whatever is mixed.
	kept, came = begin()
	other, others := begin()
	for name, bad := range map[string]struct {
		kept string
		came url.Values
	}{
		"another browser's":  {other, came},
		"nothing kept":       {"", came},
		"two dots":           {"..", url.Values{"code": came["code"], "state": {""}}},
		"no state":           {kept, url.Values{"code": came["code"]}},
		"another's code":     {kept, url.Values{"code": others["code"], "state": came["state"]}},
		"no code":            {kept, url.Values{"state": came["state"]}},
		"its state, alone":   {strings.Split(kept, ".")[0], came},
		"no code of theirs":  {kept, url.Values{"code": {"x"}, "state": came["state"]}},
		"a verifier of none": {strings.Join(append(strings.Split(kept, ".")[:2], "x"), "."), came},
	} {
		if name2, err := finish(bad.kept, bad.came); err == nil || name2 != "" || errors.Is(err, errNobody) {
			t.Errorf("%s: %q, %v", name, name2, err)
		} else if strings.Contains(err.Error(), subject) || bad.kept != "" && bad.kept != ".." && strings.Contains(err.Error(), bad.kept) {
			t.Errorf("%s: the error says too much: %v", name, err)
		}
	}

	// The provider's token must be of this sign-in, and of this client.
	for name, c := range map[string]struct {
		change func(map[string]any)
		says   string
	}{
		"another nonce":    {func(c map[string]any) { c["nonce"] = "n" }, "nonce"},
		"no nonce":         {func(c map[string]any) { delete(c, "nonce") }, "nonce"},
		"another audience": {func(c map[string]any) { c["aud"] = "app" }, "audience"},
		"another party":    {func(c map[string]any) { c["aud"] = []string{"console", "app"}; c["azp"] = "app" }, "another app"},
		"an old one":       {func(c map[string]any) { c["iat"] = time.Now().Add(-time.Hour).Unix() }, "within"},
		"expired":          {func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, "expired"},
		"another issuer":   {func(c map[string]any) { c["iss"] = "https://evil.example" }, "issuer"},
		"somebody else":    {func(c map[string]any) { c["sub"] = "another" }, errNobody.Error()},
		"nobody":           {func(c map[string]any) { c["sub"] = "" }, errNobody.Error()},
	} {
		p.SignedIn(subject, c.change)
		name2, err := finish(begin())
		if name2 != "" || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v, want %q", name, name2, err, c.says)
		}
	}
}

func TestSignInSettings(t *testing.T) {
	p := identitytest.New(t)
	names := map[string]string{"1": "ada"}
	for want, o := range map[string]Operators{
		"issuer":     {Issuer: "http://idp.example", Client: "a", Names: names},
		"client":     {Issuer: p.URL, Names: names},
		"operators":  {Issuer: p.URL, Client: "a"},
		"no subject": {Issuer: p.URL, Client: "a", Names: map[string]string{"": "ada"}},
		"roots":      {Issuer: p.URL, Client: "a", Names: names, Roots: "none"},
		"secret":     {Issuer: p.URL, Client: "a", Names: names, Secret: "none"},
	} {
		if _, err := OpenSignIn(o, time.Now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
