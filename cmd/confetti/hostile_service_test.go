package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// A service that fills every text it sends with what commands a terminal, or turns
// text round, commands nothing, whatever the command that asks it.
func TestServicesDoNotWriteToTheTerminal(t *testing.T) {
	const escapes = "\x1b]0;owned\x07\x1b]52;c;eA==\x07\x1b[2J\r\u009b31m\u202e"
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	hostile := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := escapes
		switch r.URL.Path {
		case "/status.json":
			json.NewEncoder(w).Encode(serve.Status{
				Service: e, Alarms: []string{e}, Facts: []serve.Fact{{Name: e, Value: e}}, Gauges: []serve.Gauge{{Name: e, Text: e}},
				Tables: []serve.Table{{Title: e, Columns: []string{e}, Rows: [][]string{{e}}}},
			})
		case "/metrics":
		default:
			p := wire.Problemf(wire.BadRequest, "%s", e)
			p.Title, p.Code, p.Remedy = e, wire.Code(e), e
			web.WriteProblem(w, p)
		}
	}))
	hostile.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	hostile.StartTLS()
	defer hostile.Close()

	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	roots, tokens := file("roots.pem", authority.PEM()), file("tokens", []byte(hostile.URL+" cft_x\n"))
	p := hostilePlan(hostile.URL)
	sign, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	signed := file("plan.signed.json", plan.Sign(p, sign.Private()).Marshal())
	for _, command := range [][]string{
		{"top", hostile.URL}, {"plan", "register", signed}, {"plan", "close", signed}, {"budget", "show", "all", "--url", hostile.URL},
		{"release", "fetch", signed, "--out", filepath.Join(dir, "release")},
	} {
		var out, errs bytes.Buffer
		if command[0] != "release" {
			command = append(command, "--tokens", tokens)
		}
		code := run(append(command, "--roots", roots), terminal.Streams{Out: &out, Err: &errs})
		said := out.String() + errs.String()
		if code == 0 || !strings.Contains(said, `\x1b]0;owned\x07`) {
			t.Errorf("%v ends with %d and does not show what came: %q", command[:2], code, said)
		}
		if strings.ContainsAny(said, "\x1b\x07\r\u009b\u202e") {
			t.Errorf("%v: %q", command[:2], said)
		}
	}
}

// hostilePlan is a plan all of whose services are at one address.
func hostilePlan(url string) plan.Plan {
	key := "x25519:" + strings.Repeat("B", 42) + "A"
	return plan.Plan{
		Version: plan.Version, Title: "What do people read?",
		Question: plan.Question{Kind: "density", Unfit: plan.UnfitReference, Density: &plan.Density{
			Dimension: 2, Repetitions: 4, Kernel: plan.Kernel{Name: "ip-signs", Seed: strings.Repeat("0", 64)},
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget: plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected}, Crowd: plan.Crowd{Names: []string{"a", "b"}, Minimum: 4},
		Envelopes: plan.Envelopes{PerDevice: 4, PayloadBytes: 8, Suite: "x25519"},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "North", Key: key, URL: url}}}}}},
		Analyzer:  plan.Party{Operator: "Research", Key: key, URL: url, Releases: example.Releaser},
	}
}
