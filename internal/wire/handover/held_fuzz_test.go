package handover

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func FuzzHeld(f *testing.F) {
	f.Add([]byte(`{"received":"0000000000000000000000000000000000000000000000000000000000000000","tokens":3}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			h, err := ParseHeld(text)
			if err == nil && len(h.Received) != 0 && len(h.Received) != 64 {
				t.Error("a digest of another length")
			}
		})
	})
}
