package relay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestSignKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.json")
	key, err := GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := CreateSignKeyFile(path, key, "hop 0"); err != nil {
		t.Fatal(err)
	}
	got, purpose, err := ReadSignKeyFile(path)
	if err != nil || purpose != "hop 0" || got.Public().String() != key.Public().String() {
		t.Errorf("read %v for %q: %v", got, purpose, err)
	}
	public, err := ParseVerifyKey(key.Public().String())
	if err != nil || !public.Verify([]byte("m"), got.Sign([]byte("m"))) || public.Verify([]byte("n"), got.Sign([]byte("m"))) {
		t.Errorf("signatures do not verify as they should (%v)", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{"another suite": {`"ed25519"`, `"x25519"`}, "another key": {`"private_key": "`, `"private_key": "AAAA`}} {
		bad := filepath.Join(t.TempDir(), "bad")
		changed := bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
		if err := os.WriteFile(bad, changed, 0o600); err != nil || slices.Equal(changed, text) {
			t.Fatal(err)
		}
		if _, _, err := ReadSignKeyFile(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
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
