package rng

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestReaderGivesTheStream(t *testing.T) {
	key, iv := [16]byte{1}, [16]byte{2}
	for _, n := range []int{0, 1, 7, 8, 9, 64, 3001} {
		got := make([]byte, n)
		if m, err := Reader(Keyed(key, iv)).Read(got); m != n || err != nil {
			t.Fatalf("%d bytes asked: %d read, %v", n, m, err)
		}
		var want []byte
		for r := Keyed(key, iv); len(want) < n; {
			want = binary.LittleEndian.AppendUint64(want, r.Uint64())
		}
		if !bytes.Equal(got, want[:n]) {
			t.Errorf("%d bytes differ from the generator's outputs", n)
		}
	}
}
