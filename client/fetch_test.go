package client_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

// A hostile service cannot make a device parse anything: what is not the plan that
// was asked for, or not signed by somebody whom the device trusts, is bytes.
func TestFetchOfABomb(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	bomb := `{"version":1,"title":"t","question":{"kind":"x"},"route":{"kind":"mix","mix":{"instances":[{"hops":[` + strings.Repeat("{},", 2_780_000) + "{}]}]}}}}"
	good := sign(p).Marshal()
	text := append([]byte(strings.TrimSuffix(string(good), string(p.Canonical())+"}")), bomb...)
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(text) }))
	defer service.Close()
	roots := x509.NewCertPool()
	roots.AddCert(service.Certificate())
	o := client.Options{Transport: &native.Transport{Roots: roots}, Publishers: plan.Trust(sign(p).Publisher)}
	raw, err := plan.SplitSigned(text)
	if err != nil {
		t.Fatal(err)
	}
	for want, hash := range map[string][32]byte{"another plan": p.Hash(), "does not belong": raw.Hash()} {
		// The body is read into a buffer that grows.
		costlimit.Heap(t, 8, len(text), func() {
			if _, err := client.Fetch(t.Context(), service.URL, hash, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		})
	}
	o.Publishers = plan.Trust("ed25519:" + strings.Repeat("A", 43))
	if _, err := client.Fetch(t.Context(), service.URL, raw.Hash(), o); err == nil || !strings.Contains(err.Error(), "nobody here trusts") {
		t.Error(err)
	}
}
