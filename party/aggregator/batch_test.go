package aggregator

import (
	"bytes"
	"testing"

	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// What an aggregator has added up is read back, and written again as the same bytes; no other
// bytes cost more than their length.
func FuzzBatch(f *testing.F) {
	var sum prio3.Vector
	if err := sum.UnmarshalBinary(make([]byte, 3*16)); err != nil {
		f.Fatal(err)
	}
	for _, b := range []Batch{{}, {Reports: 7, Refused: 1, Checksum: [32]byte{1, 2}, Sum: sum}} {
		text, err := b.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var b Batch
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { err = b.UnmarshalBinary(text) })
		if err != nil || len(text) == 0 {
			return
		}
		if again, err := b.MarshalBinary(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%x comes back as %x, %v", text, again, err)
		}
	})
}
