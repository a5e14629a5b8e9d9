package analyzerd_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// A release carries what an attack on its plan found, and its receipts are of that; on a
// promise that is proved false nothing is published.
func TestReleaseCarriesTheAuditOfItsPlan(t *testing.T) {
	for name, proved := range map[string]error{"kept": nil, "false": errors.New("the claim is false")} {
		t.Run(name, func(t *testing.T) {
			c := collect(t, nil)
			found := string(report.New(c.signed.Plan).Marshal())
			r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
			r.audit = func(p plan.Plan, state []byte) ([]byte, error) {
				if p.Name() != c.name || state != nil {
					t.Errorf("plan %s with a state of %d bytes was attacked", p.Name(), len(state))
				}
				return report.New(p).Marshal(), proved
			}
			r.restart()
			r.wants(r.register(c), created, "")
			for _, h := range c.handovers {
				r.wants(r.put(h), created, "")
			}
			r.wants(r.do("POST", wire.ClosePath(c.signed.Plan.Hash()), "", nil), ok, "")
			if proved != nil {
				r.wants(r.get("/v1/releases/"+c.name+".json"), 410, wire.Withheld)
				return
			}
			page := r.get("/v1/releases/" + c.name + ".html")
			if r.wants(page, ok, ""); !strings.Contains(page.Body.String(), "What an attacker finds") {
				t.Error("the page does not say what an attacker finds")
			}
			file := r.get("/v1/releases/" + c.name + "." + release.AuditFile)
			if r.wants(file, ok, ""); file.Body.String() != found {
				t.Errorf("audit %q", file.Body)
			}
			receipts, err := relay.ParseReceipts(r.get("/v1/releases/" + c.name + "." + relay.ReceiptsFile).Body.Bytes())
			if err != nil || receipts.Files[release.AuditFile] != relay.FileDigest([]byte(found)) {
				t.Errorf("receipts %v: %v", receipts.Files, err)
			}
			status := r.get("/v1/plans/" + c.name + "/status")
			if !strings.Contains(status.Body.String(), release.AuditFile) {
				t.Errorf("status %s", status.Body)
			}
		})
	}
}
