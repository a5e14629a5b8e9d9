package relay

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// signer is a key for tests: its seed is one byte, repeated, and known to everybody.
func signer(b byte) SignKey {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
	return SignKey{func() ed25519.PrivateKey { return key }}
}

func TestReceiptsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.Custom(func(t *rapid.T) [32]byte { return [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash")) })
		n := rapid.Uint64Range(0, 1<<33)
		r := Receipt{
			Plan: hash.Draw(t, "plan"), Instance: rapid.Uint16().Draw(t, "instance"), Hop: rapid.ByteMin(1).Draw(t, "hop"), Crowd: rapid.Uint32().Draw(t, "crowd"),
			Respondents: n.Draw(t, "respondents"), Tokens: n.Draw(t, "tokens"),
			Out: n.Draw(t, "out"), Dropped: n.Draw(t, "dropped"), Duplicates: n.Draw(t, "duplicates"),
			BatchIn: hash.Draw(t, "in"), BatchOut: hash.Draw(t, "batch out"), Previous: hash.Draw(t, "previous"),
		}
		r.In = r.Out + r.Dropped + r.Duplicates
		s := r.Sign(signer(rapid.Byte().Draw(t, "key")))
		got, err := ParseReceipt(s.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, got); d != "" {
			t.Fatal(d)
		}
		r.Out++
		if _, err := ParseReceipt(r.Sign(SignKey{}).Bytes()); err == nil {
			t.Fatal("numbers that do not add up were accepted")
		}
	})
}
