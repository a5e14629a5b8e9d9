package services

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// A plan is registered with the token of the analyzer alone, though tokens of all are here: to others the
// publishers' signatures are enough.
func TestRegisterShowsItsTokenToTheAnalyzerAlone(t *testing.T) {
	var mu sync.Mutex
	shown := map[string]string{}
	stand := func(role string) string {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			shown[role] = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusCreated)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	one := httptest.NewTLSServer(http.NotFoundHandler())
	defer one.Close()
	folder := t.TempDir()
	roots, file := filepath.Join(folder, "ca.crt"), filepath.Join(folder, "tokens")
	mixed := example.Density("rr")
	for i, hop := range []string{"the entry hop", "the last hop"} {
		mixed.Route.Mix.Instances[0].Hops[i].URL = stand(hop)
	}
	mixed.Route.Mix.Issuer = &plan.Party{Operator: "issuer", URL: stand("the issuer")}
	mixed.Analyzer.URL = stand("the analyzer of a mix")
	summed := example.Summed(example.Histogram(example.OneHot(example.Drinks())), plan.NoiseDevices)
	summed.Route.Sum.Leader.URL, summed.Route.Sum.Helper.URL, summed.Analyzer.URL = stand("the leader"), stand("the helper"), stand("the analyzer of a sum")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate().Raw})
	var lines []byte
	for _, p := range []plan.Plan{mixed, summed} {
		for _, party := range plans.Parties(p) {
			lines = fmt.Appendf(lines, "%s token-of-%s\n", party.URL, strings.TrimPrefix(party.URL, "https://127.0.0.1:"))
		}
	}
	for path, text := range map[string][]byte{roots: authority, file: lines} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Operator{Flags: Flags{Roots: roots}, Tokens: file}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, p := range []plan.Plan{mixed, summed} {
		if err := s.Register(t.Context(), io.Discard, plan.Sign(p, ed25519.NewKeyFromSeed(make([]byte, 32))), ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(shown) != 7 {
		t.Errorf("%d parties were asked, want 7: %v", len(shown), shown)
	}
	for role, bearer := range shown {
		want := ""
		if url := map[string]string{"the analyzer of a mix": mixed.Analyzer.URL, "the analyzer of a sum": summed.Analyzer.URL}[role]; url != "" {
			want = "Bearer token-of-" + strings.TrimPrefix(url, "https://127.0.0.1:")
		}
		if bearer != want {
			t.Errorf("%s is shown %q, want %q", role, bearer, want)
		}
	}
}
