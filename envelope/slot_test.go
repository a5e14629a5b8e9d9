package envelope

import (
	"bytes"
	"testing"
)

// A slot shows to the opener of its layer and to nobody else: an envelope with
// an empty slot has the same length, and what is under the slot opens as before.
func TestSlotsAreReadByTheirOwnHopOnly(t *testing.T) {
	var keys []PublicKey
	var private []PrivateKey
	for range 3 {
		k, err := GenerateKey(X25519)
		if err != nil {
			t.Fatal(err)
		}
		private, keys = append(private, k), append(keys, k.Public())
	}
	route := Route([32]byte{7}, 1, 2, keys...)
	route[1].Slot = 5
	s, err := NewSealer(route, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range [][]byte{nil, []byte("12345")} {
		sealed, err := s.SealWith([]byte("abcd"), [][]byte{nil, token})
		if err != nil {
			t.Fatal(err)
		}
		if len(sealed) != Size(route, 4) {
			t.Fatalf("%d bytes, want %d", len(sealed), Size(route, 4))
		}
		for h, key := range private {
			o, err := NewOpener(key, route[h].Plan, 1, uint8(h), Size(route[h:], 4))
			if err != nil {
				t.Fatal(err)
			}
			inner, err := o.Open(2, sealed)
			if err != nil {
				t.Fatal(err)
			}
			slot := inner[:route[h].Slot]
			want := make([]byte, route[h].Slot)
			if h == 1 {
				copy(want, token)
			}
			if !bytes.Equal(slot, want) {
				t.Errorf("hop %d finds %q", h, slot)
			}
			sealed = inner[route[h].Slot:]
		}
		if string(sealed) != "abcd" {
			t.Errorf("payload %q", sealed)
		}
	}
	if _, err := s.SealWith([]byte("abcd"), [][]byte{nil, []byte("1234")}); err == nil {
		t.Error("a token shorter than its slot was sealed")
	}
}
