package console

import (
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity/identitytest"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/webtest"
)

// signingIn is a console on this machine whose operator ada signs in at a provider.
func signingIn(t *testing.T) (p *identitytest.Provider, url string, folder string) {
	t.Helper()
	p = identitytest.New(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(identitytest.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	served := httptest.NewUnstartedServer(nil)
	url = "http://" + served.Listener.Addr().String()
	s, err := identity.OpenSignIn(identity.Operators{
		Issuer: p.URL, Client: "console", Secret: serve.Path(secret), Roots: serve.Path(p.Roots), Back: url + "/login/oidc/callback", Names: map[string]string{"248289": "ada"},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	served.Config.Handler = remembering(t, folder, func(o *Options) { o.SignIn, o.Hosts = s, []string{served.Listener.Addr().String()} })
	served.Start()
	t.Cleanup(served.Close)
	return p, url, folder
}

// goes has a browser sign in, until the console's page asks it to go on.
func goes(b *webtest.Tab, at string) {
	b.Do(chromedp.Navigate(at+"/login"), chromedp.Click(`a[href="/login/oidc"]`), webtest.Until(`location.pathname === "/login/oidc/callback" && document.readyState === "complete"`))
}

// ends has it go on, and is where that leads and what the page there says.
func ends(b *webtest.Tab) (path, text string) {
	b.Do(chromedp.Click("main form button"), webtest.Until(`location.pathname !== "/login/oidc/callback" && document.readyState === "complete"`))
	return webtest.Ask(b, chromedp.Evaluate[string](`location.pathname`)), webtest.Ask(b, chromedp.Evaluate[string](`document.body.innerText`))
}

// An operator signs in with a browser that goes to the provider and back, over its redirects and
// with its cookies: it is let in, stays so, and logs out. What another has begun, what is of another
// sign-in, old, or of somebody else lets nobody in.
func TestAnOperatorSignsInWithABrowser(t *testing.T) {
	ctx := webtest.Browser(t)
	p, at, folder := signingIn(t)
	b := webtest.Open(t, ctx, webtest.Screens[0], chromedp.WithNewBrowserContext())
	b.TrustAnybody()
	p.SignedIn("248289", nil)
	goes(b, at)
	b.Look(t, "back from a provider")
	if path, text := ends(b); path != "/operator" || !strings.Contains(text, "ada logged in at the provider") {
		t.Fatalf("ada is at %s:\n%s", path, text)
	}
	if kept := webtest.Ask(b, chromedp.Evaluate[string](`document.cookie + JSON.stringify({...localStorage, ...sessionStorage})`)); kept != "{}" {
		t.Errorf("a script sees %q", kept)
	}
	if text, err := os.ReadFile(filepath.Join(folder, deedsFile)); err != nil || strings.Contains(string(text), "248289") {
		t.Errorf("the deeds name the subject, or are not there: %v", err)
	}
	b.Do(chromedp.Reload(), webtest.Until(`location.pathname === "/operator" && document.readyState === "complete"`))
	b.Do(chromedp.Click(`form[action="/logout"] button`), webtest.Until(`location.pathname === "/" && document.readyState === "complete"`))
	b.Do(chromedp.Navigate(at+"/operator"), webtest.Until(`location.pathname === "/login" && document.readyState === "complete"`))
	b.Found() // of refusals the browser tells in its console, below

	now := time.Now().Unix()
	for name, change := range map[string]func(map[string]any){
		"another nonce":       func(c map[string]any) { c["nonce"] = "x" },
		"no nonce":            func(c map[string]any) { delete(c, "nonce") },
		"expired":             func(c map[string]any) { c["iat"], c["exp"] = now-120, now-60 },
		"given out long ago":  func(c map[string]any) { c["iat"] = now - 3600 },
		"of another provider": func(c map[string]any) { c["iss"] = "https://127.0.0.1:1" },
		"for another app":     func(c map[string]any) { c["aud"] = "another" },
		"of no operator":      func(c map[string]any) { c["sub"] = "7-stranger" },
	} {
		p.SignedIn("248289", change)
		goes(b, at)
		if path, text := ends(b); path != "/login/oidc" || !strings.Contains(text, "You are not logged in.") || strings.Contains(text, "7-stranger") {
			t.Errorf("a token that is %s: at %s:\n%s", name, path, text)
		}
	}

	p.SignedIn("248289", nil)
	goes(b, at)
	back, err := url.Parse(webtest.Ask(b, chromedp.Evaluate[string](`location.href`)))
	if err != nil {
		t.Fatal(err)
	}
	// Another browser is led to the page that this one was sent back to.
	other := webtest.Open(t, ctx, webtest.Screens[0], chromedp.WithNewBrowserContext())
	other.Do(chromedp.Navigate(back.String()))
	if path, text := ends(other); path != "/login/oidc" || !strings.Contains(text, "has not begun to sign in") {
		t.Errorf("another browser: at %s:\n%s", path, text)
	}
	other.TrustAnybody()
	goes(other, at) // it has begun a sign-in of its own, and is led to this one's
	other.Do(chromedp.Navigate(back.String()))
	if path, text := ends(other); path != "/login/oidc" || !strings.Contains(text, "You are not logged in.") {
		t.Errorf("another browser that has begun: at %s:\n%s", path, text)
	}
	// This one, with another state and the right code; it serves once, whatever comes of it.
	wrong := *back
	wrong.RawQuery = url.Values{"state": {"x"}, "code": {back.Query().Get("code")}}.Encode()
	b.Do(chromedp.Navigate(wrong.String()))
	if path, text := ends(b); path != "/login/oidc" || !strings.Contains(text, "You are not logged in.") {
		t.Errorf("another state: at %s:\n%s", path, text)
	}
	b.Do(chromedp.Navigate(back.String()))
	if path, text := ends(b); path != "/login/oidc" || !strings.Contains(text, "has not begun to sign in") {
		t.Errorf("after a wrong state: at %s:\n%s", path, text)
	}
	goes(b, at)
	used := webtest.Ask(b, chromedp.Evaluate[string](`location.href`))
	if path, _ := ends(b); path != "/operator" {
		t.Errorf("ada is not let in again: %s", path)
	}
	b.Do(chromedp.Navigate(used))
	if path, text := ends(b); path != "/login/oidc" || !strings.Contains(text, "has not begun to sign in") {
		t.Errorf("a code serves twice: at %s:\n%s", path, text)
	}
}
