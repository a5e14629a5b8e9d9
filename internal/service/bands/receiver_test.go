package bands

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// receive answers for a receiver that checks what it gets by the console's public key.
func receive(key string, tell func(message []byte)) http.HandlerFunc {
	raw := func(text string) []byte {
		b, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, "ed25519:"))
		return b
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil || !ed25519.Verify(raw(key), append([]byte("confetti/band/v1\n"), body...), raw(r.Header.Get("Confetti-Signature"))) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		tell(body)
	}
}

// The receiver of the docs is this one. It takes what is signed, and nothing else.
func TestTheReceiverOfTheDocs(t *testing.T) {
	own, err := os.ReadFile("receiver_test.go")
	page, errPage := os.ReadFile("../../../docs/metrics.md")
	if err != nil || errPage != nil {
		t.Fatal(err, errPage)
	}
	_, body, _ := bytes.Cut(own, []byte("\nfunc receive("))
	body, _, _ = bytes.Cut(body, []byte("\n}\n"))
	if !bytes.Contains(page, append([]byte("```go\nfunc receive("), append(body, "\n}\n```"...)...)) {
		t.Error("docs/metrics.md has another receiver")
	}
	var got []string
	var handler http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer s.Close()
	p := set(t, s.URL)
	handler = receive(p.key.String(), func(m []byte) { got = append(got, string(m)) })
	p.step(t, p.open(t), told(t, "plan", 7000))
	if len(got) != 1 || !strings.Contains(got[0], `"metric":"theme"`) {
		t.Fatalf("it takes %q", got)
	}
	other, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, signature := range map[string][]byte{"a stranger": other.Sign([]byte("confetti/band/v1\n" + got[0])), "nobody": nil} {
		r, err := http.NewRequest(http.MethodPost, s.URL, strings.NewReader(got[0]))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(signatureHeader, keytext.Encode(relay.SignSuite, signature))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden || len(got) != 1 {
			t.Errorf("it takes what %s signed", name)
		}
	}
}
