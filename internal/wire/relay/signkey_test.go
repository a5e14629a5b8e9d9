package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestSignKey(t *testing.T) {
	key, err := GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParseVerifyKey(key.Public().String())
	if err != nil || !public.Verify([]byte("m"), key.Sign([]byte("m"))) || public.Verify([]byte("n"), key.Sign([]byte("m"))) {
		t.Errorf("signatures do not verify as they should (%v)", err)
	}
	for _, bad := range []string{"", "ed25519:", "ed25519:AAAA", key.Public().String() + "=", "x25519" + strings.TrimPrefix(key.Public().String(), "ed25519")} {
		if _, err := ParseVerifyKey(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if s := fmt.Sprintf(verb, struct{ k SignKey }{signer(1)}); strings.Contains(s, "1 1 1 1") || strings.Contains(s, "01010101") {
			t.Errorf("%s prints the key", verb)
		}
	}
	if (VerifyKey{}).Verify(nil, make([]byte, 64)) || !(SignKey{}).Public().IsZero() || (VerifyKey{}).String() != "" || (SignKey{}).Private() != nil {
		t.Error("no key is some key")
	}
}

func FuzzParseVerifyKey(f *testing.F) {
	f.Add(signer(1).Public().String())
	f.Add("ed25519:")
	f.Fuzz(func(t *testing.T, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if k, err := ParseVerifyKey(text); err == nil && k.String() != text {
				t.Error("a key with a second text form was accepted")
			}
		})
	})
}
