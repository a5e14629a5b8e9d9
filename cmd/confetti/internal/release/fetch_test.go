package release

import (
	"crypto/ed25519"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// Who is asked for the plan of an address may answer with another plan, or with one that another analyzer releases: both
// are refused before anything is written.
func TestAnAddressLeadsToItsOwnPlan(t *testing.T) {
	var answer []byte
	asked := ""
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked = r.URL.Path; strings.HasPrefix(asked, "/v1/plans/") {
			w.Write(answer)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	roots, out := filepath.Join(dir, "roots.pem"), filepath.Join(dir, "out")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	signed := func(analyzer string) (string, []byte) {
		p := example.Density("rr")
		p.Analyzer.URL = analyzer
		p, err := design.Fill(p)
		if err != nil {
			t.Fatal(err)
		}
		return p.Name(), plan.Sign(p, ed25519.NewKeyFromSeed(make([]byte, 32))).Marshal()
	}
	fetch := func(name string) error {
		c := releaseFetch{Plan: s.URL + "/v1/releases/" + name, Flags: services.Flags{Roots: roots}, Out: out}
		return c.Run(terminal.Streams{Out: io.Discard, Err: io.Discard})
	}
	own, text := signed(s.URL)
	elsewhere, other := signed("https://analyzer.example:8443")
	for _, c := range []struct {
		name   string
		answer []byte
		says   string
	}{
		{strings.Repeat("0", 64), text, "answers with the plan"},
		{elsewhere, other, "answers with the plan"},
		{own, []byte("{}"), "plan"},
		{own, text, "/v1/releases/"}, // whose release is asked for, and is not there
	} {
		answer = c.answer
		if err := fetch(c.name); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name[:4], err)
		}
	}
	if !strings.HasPrefix(asked, "/v1/releases/"+own) {
		t.Errorf("of the plan that the address names, %s is asked for last", asked)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}
