package relay

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costtest"
)

func FuzzHeld(f *testing.F) {
	f.Add([]byte(`{"received":"0000000000000000000000000000000000000000000000000000000000000000","tokens":3}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		costtest.Heap(t, costtest.Factor, len(text), func() {
			h, err := ParseHeld(text)
			if err == nil && len(h.Received) != 0 && len(h.Received) != 64 {
				t.Error("a digest of another length")
			}
		})
	})
}
