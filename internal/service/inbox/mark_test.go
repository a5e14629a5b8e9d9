package inbox

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// A mark is read or refused, and no epoch is empty before it is over.
func FuzzMark(f *testing.F) {
	f.Add([]byte(`{"closed":true,"purged":true,"lost":3}`))
	f.Add([]byte(`{"closed":false,"purged":true}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		costlimit.Heap(t, costlimit.Factor, len(value), func() {
			if m, err := parseMark(value); err == nil && m.Purged && !m.Closed {
				t.Error("emptied and open")
			}
		})
	})
}
