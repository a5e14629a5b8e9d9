package store

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/costtest"
)

func TestAPartReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOf(rapid.Uint64()).Draw(t, "counts")
		into := make([]uint64, len(n))
		if err := decodePart(encodePart(nil, n), into); err != nil || !slices.Equal(n, into) {
			t.Fatal(into, err)
		}
	})
}

// What is read as a tally is what would be written for it: nothing else is one.
func FuzzDecodePart(f *testing.F) {
	f.Add([]byte{}, 0)
	f.Add([]byte{0}, 1)
	f.Add([]byte{0x80, 0}, 1)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 1)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 1)
	f.Add([]byte{1, 2, 3}, 2)
	f.Fuzz(func(t *testing.T, body []byte, length int) {
		costtest.Heap(t, costtest.Factor, len(body), func() {
			if length < 0 || length > 1000 {
				return
			}
			into := make([]uint64, length)
			if decodePart(body, into) == nil && !bytes.Equal(encodePart(nil, into), body) {
				t.Errorf("%x reads as %v", body, into)
			}
		})
	})
}
