package shufflerd

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// register is the PUT of a text as a signed plan.
func register(hash [32]byte, text []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPut, wire.PlanPath(hash), bytes.NewReader(text))
	r.Header.Set("Content-Type", wire.SignedPlanType)
	return r
}

// Texts of eight megabytes that would be parsed to gigabytes, three at once from
// whoever likes to send them, cost less than 64 MiB and a second: of a stranger
// nothing is read but the beginning, of who copies a publisher's name the bytes are
// hashed, one text at a time.
func TestPlanBombs(t *testing.T) {
	w := newWorld(t, 1, nil)
	const before = `"title":"t","question":{"kind":`
	const mix = `{"version":2,` + before + `"x"},"route":{"kind":"mix","mix":{"instances":[`
	const density = `{"version":2,` + before + `"density","density":{"dimension":1}},"crowd":{"names":[`
	many := func(one string) string { return strings.Repeat(one+",", 8_360_000/(len(one)+1)) + one }
	copied := strings.TrimSuffix(string(w.signed.Marshal()), string(w.signed.Plan.Canonical())+"}")
	stranger := strings.Replace(copied, w.signed.Publisher, "ed25519:"+strings.Repeat("A", 43), 1)
	for name, head := range map[string]string{
		"a stranger":                 stranger,
		"a name that is no key":      `{"publisher":"a","signature":"b","plan":`,
		"a publisher's name, copied": copied,
	} {
		for what, bomb := range map[string]string{
			"hops":      mix + `{"hops":[` + many("{}") + `]}]}}}`,
			"instances": mix + many("{}") + `]}}}`,
			"names":     density + many(`""`) + `]}}`,
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				text := []byte(head + bomb + "}")
				if len(text) > plan.MaxSignedBytes {
					t.Fatal("too long to be looked into")
				}
				codes := make([]wire.Code, 3)
				var took uint64
				costlimit.Processor(t, time.Second, func() {
					took = costlimit.Allocated(func() {
						var all sync.WaitGroup
						for i := range codes {
							all.Go(func() { _, codes[i] = w.do(0, register([32]byte{}, text)) })
						}
						all.Wait()
					})
				})
				if took > 64<<20 {
					t.Errorf("%d MiB were allocated", took>>20)
				}
				for _, code := range codes {
					if code != wire.PlanRefused && code != wire.Overloaded {
						t.Errorf("the answer is %q", code)
					}
				}
			})
		}
	}
	// After all that the service takes a plan.
	p := w.plan
	p.Title = "another"
	fine := plan.Sign(p, w.publish)
	if status, code := w.do(0, register(fine.Plan.Hash(), fine.Marshal())); status != 201 {
		t.Errorf("%d %s", status, code)
	}
}

// That a plan is here already excuses no wrong signature.
func TestAKnownPlanWithAWrongSignatureIsRefused(t *testing.T) {
	w := newWorld(t, 1, nil)
	hash := w.plan.Hash()
	if status, code := w.do(0, register(hash, w.signed.Marshal())); status != 200 {
		t.Errorf("the plan again: %d %s", status, code)
	}
	wrong := w.signed
	wrong.Signature = bytes.Clone(wrong.Signature)
	wrong.Signature[5] ^= 1
	if status, code := w.do(0, register(hash, wrong.Marshal())); status != 422 || code != wire.PlanRefused {
		t.Errorf("with a wrong signature: %d %s", status, code)
	}
	stranger := w.signed
	stranger.Publisher = "ed25519:" + strings.Repeat("A", 43)
	if status, code := w.do(0, register(hash, stranger.Marshal())); status != 422 || code != wire.PlanRefused {
		t.Errorf("of a stranger: %d %s", status, code)
	}
}
