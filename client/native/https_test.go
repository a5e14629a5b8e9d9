package native

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// seen is what a service saw of a request.
type seen struct {
	method, path, body string
	header             http.Header
	certificates       int
	version            uint16
}

// service answers what it is asked, and is trusted by its transport, which has a certificate.
func service(t *testing.T, most uint16, answer http.HandlerFunc) (*Transport, *[]seen, string) {
	t.Helper()
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(cert, key []byte, err error) tls.Certificate {
		if err != nil {
			t.Fatal(err)
		}
		c, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var all []seen
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all = append(all, seen{r.Method, r.URL.Path, string(body), r.Header, len(r.TLS.PeerCertificates), r.TLS.Version})
		answer(w, r)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair(authority.Server("127.0.0.1"))}, ClientAuth: tls.RequestClientCert, MaxVersion: most}
	s.StartTLS()
	t.Cleanup(s.Close)
	shown := pair(authority.Client("bea"))
	through := &Transport{Certificate: &shown, Roots: authority.Pool()}
	t.Cleanup(through.CloseIdleConnections)
	return through, &all, s.URL
}

func said(t *testing.T, answer client.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A request has what it is given and what all devices send alike, and who the respondent is
// where that may be known alone.
func TestARequestTellsNoMoreThanItHas(t *testing.T) {
	through, all, at := service(t, 0, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "a/b")
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Set-Cookie", "who=bea")
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "no")
	})
	for range 2 {
		answer, err := through.Do(t.Context(), client.Request{Method: http.MethodPut, URL: at + "/x", Type: "c/d", Authorization: "Bearer t", Body: []byte("sealed")})
		if body := said(t, answer, err); body != "no" || answer.Status != http.StatusTeapot || answer.Type != "a/b" || answer.RetryAfter != "7" {
			t.Errorf("%+v %q", answer, body)
		}
	}
	answer, err := through.Do(t.Context(), client.Request{Method: http.MethodGet, URL: at + "/y", Known: true})
	said(t, answer, err)
	for i, s := range *all {
		known := i == 2
		if s.version != tls.VersionTLS13 || (s.certificates == 1) != known {
			t.Errorf("request %d: %+v", i, s)
		}
		for name := range s.header {
			if !slices.Contains([]string{"Content-Type", "Content-Length", "Authorization", "User-Agent"}, name) || known && (name == "Authorization" || name == "Content-Type") {
				t.Errorf("request %d has the header %s: %q", i, name, s.header[name])
			}
		}
		if s.header.Get("User-Agent") != "confetti" || !known && (s.body != "sealed" || s.method != http.MethodPut || s.header.Get("Content-Type") != "c/d" || s.header.Get("Authorization") != "Bearer t") {
			t.Errorf("request %d: %+v", i, s)
		}
	}
	if len(*all) != 3 {
		t.Errorf("%d requests", len(*all))
	}
}

// What is meant for one party is carried to no other.
func TestARedirectIsNotFollowed(t *testing.T) {
	through, all, at := service(t, 0, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	answer, err := through.Do(t.Context(), client.Request{Method: http.MethodPost, URL: at + "/x", Body: []byte("sealed")})
	if said(t, answer, err); answer.Status != http.StatusTemporaryRedirect || len(*all) != 1 {
		t.Errorf("%+v after %d requests", answer, len(*all))
	}
}

func TestAServiceThatIsNotReachedIsAnError(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/slow") {
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // or the answer may come as the client goes
		}
		if strings.HasSuffix(r.URL.Path, "/broken") {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
		}
	}
	trusting, _, at := service(t, 0, answer)
	if _, err := (&Transport{}).Do(t.Context(), client.Request{Method: http.MethodGet, URL: at}); err == nil {
		t.Error("an authority that nobody trusts")
	}
	old, _, before := service(t, tls.VersionTLS12, answer)
	if _, err := old.Do(t.Context(), client.Request{Method: http.MethodGet, URL: before}); err == nil {
		t.Error("TLS 1.2")
	}
	for _, bad := range []string{"", ":", "https://127.0.0.1:1/", "x://y"} {
		if _, err := trusting.Do(t.Context(), client.Request{Method: http.MethodGet, URL: bad}); err == nil {
			t.Errorf("%q is reached", bad)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := trusting.Do(ctx, client.Request{Method: http.MethodGet, URL: at + "/slow"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a service that does not answer: %v", err)
	}
	broken, err := trusting.Do(t.Context(), client.Request{Method: http.MethodGet, URL: at + "/broken"})
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Body.Close()
	if text, err := io.ReadAll(broken.Body); err == nil {
		t.Errorf("an answer that is cut off is whole: %q", text)
	}
}
