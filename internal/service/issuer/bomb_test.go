package issuer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A text that would be parsed to gigabytes costs the issuer no more than the hash
// of what was sent, and of a stranger not that.
func TestPlanBombs(t *testing.T) {
	w := newWorld(t)
	bomb := `{"version":2,"title":"t","question":{"kind":"x"},"route":{"kind":"mix","mix":{"instances":[{"hops":[` + strings.Repeat("{},", 2_780_000) + "{}]}]}}}}"
	copied := strings.TrimSuffix(string(w.signed.Marshal()), string(w.signed.Plan.Canonical())+"}")
	for factor, head := range map[int]string{
		4: copied,
		0: strings.Replace(copied, w.signed.Publisher, "ed25519:"+strings.Repeat("A", 43), 1),
	} {
		text := []byte(head + bomb)
		costlimit.Heap(t, factor, len(text), func() {
			_, _, p := w.do(http.MethodPut, wire.PlanPath([32]byte{}), "", wire.SignedPlanType, text)
			wants(t, p, wire.PlanRefused, "a bomb")
		})
	}
	wrong := w.signed
	wrong.Signature = make([]byte, 64)
	_, _, p := w.do(http.MethodPut, wire.PlanPath(w.plan.Hash()), "", wire.SignedPlanType, wrong.Marshal())
	wants(t, p, wire.PlanRefused, "a known plan with a wrong signature")
}
