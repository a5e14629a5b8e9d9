package plan

import (
	"encoding/base64"
	"testing"

	"github.com/transparency-dev/formats/note"
	sumdb "golang.org/x/mod/sumdb/note"
)

// Keys and cosignatures are taken if and only if the library takes them that witnesses sign with.
func TestCosignersAgreeWithALibrary(t *testing.T) {
	secret, public, err := sumdb.GenerateKey(nil, "witness.example/w")
	if err != nil {
		t.Fatal(err)
	}
	cosigner, err := note.VKeyToCosignatureV1(public)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSignerForCosignatureV1(secret)
	if err != nil {
		t.Fatal(err)
	}
	good, err := base64.StdEncoding.DecodeString(public[len(public)-44:])
	if err != nil {
		t.Fatal(err)
	}
	key := func(name, hash string, raw []byte) string {
		return name + "+" + hash + "+" + base64.StdEncoding.EncodeToString(raw)
	}
	const checkpoint = "log.example\n7\nAAAA\n"
	signature, err := signer.Sign([]byte(checkpoint))
	if err != nil {
		t.Fatal(err)
	}
	taken, verified := 0, 0
	for _, text := range []string{
		public, cosigner, "", "+", "++", "w", "w+00000000", public + "+", "w x+00000000+" + public[len(public)-44:], "w\u2003+00000000+" + public[len(public)-44:], "\xff+00000000+" + public[len(public)-44:],
		key("w", "00000000", good), key("w", "0000000", good), key("", "00000000", good), key("w", "zzzzzzzz", good),
		key("w", "00000000", good[:32]), key("w", "00000000", append(good, 0)), key("w", "00000000", append([]byte{2}, good[1:]...)), key("w", "00000000", append([]byte{4}, good[1:]...)), key("w", "00000000", nil), "w+00000000+?",
	} {
		theirs, refused := note.NewVerifierForCosignatureV1(text)
		ours, err := parseCosigner(text)
		if (err == nil) != (refused == nil) {
			t.Errorf("%q: %v, and the library %v", text, err, refused)
		}
		if err != nil || refused != nil {
			continue
		}
		taken++
		if ours.Name() != theirs.Name() || ours.KeyHash() != theirs.KeyHash() {
			t.Errorf("%q: %s %x, and the library %s %x", text, ours.Name(), ours.KeyHash(), theirs.Name(), theirs.KeyHash())
		}
		for at := -1; at < len(signature); at++ {
			changed := append([]byte{}, signature...)
			if at >= 0 {
				changed[at] ^= 1
			}
			for _, s := range [][]byte{changed, changed[:max(at, 0)], append(changed, 0)} {
				for _, msg := range []string{checkpoint, "log.example\n8\nAAAA\n", "log.example\n", ""} {
					mine := ours.Verify([]byte(msg), s)
					if mine != theirs.Verify([]byte(msg), s) {
						t.Fatalf("%q: %v of %x over %q", text, mine, s, msg)
					}
					if mine {
						verified++
					}
				}
			}
		}
	}
	if taken < 4 || verified < 2 {
		t.Errorf("%d keys were taken, %d signatures verified", taken, verified)
	}
}
