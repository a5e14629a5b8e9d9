package envelope

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestPublicKeyText(t *testing.T) {
	for _, suite := range suites {
		private, public := newKeys(t, suite, 2)
		text := public[0].String()
		got, err := ParsePublicKey(text)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(public[0]) || got.Equal(public[1]) || got.ID() != private[0].Public().ID() || got.Suite() != suite {
			t.Errorf("%s: another key came back", suite)
		}
		for name, bad := range map[string]string{
			"no suite": strings.TrimPrefix(text, string(suite)+":"), "unknown suite": "rot13:" + text,
			"cut": text[:len(text)-4], "padded": text + "=", "line break": text + "\n", "standard alphabet": string(suite) + ":+/+/",
			"empty": "", "empty key": string(suite) + ":",
		} {
			if _, err := ParsePublicKey(bad); err == nil {
				t.Errorf("%s: %s was accepted", suite, name)
			}
		}
	}
}

func FuzzParsePublicKey(f *testing.F) {
	key, err := NewPrivateKey(X25519, bytes.Repeat([]byte{9}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key.Public().String())
	f.Add("x-wing:AA")
	f.Fuzz(func(t *testing.T, text string) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if k, err := ParsePublicKey(text); err == nil && k.String() != text {
				t.Fatalf("%q was accepted but is written %q", text, k)
			}
		})
	})
}

func TestPrivateKeyNeverPrintsItself(t *testing.T) {
	for _, suite := range suites {
		key, err := GenerateKey(suite)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := key.key().Bytes()
		if err != nil {
			t.Fatal(err)
		}
		hidden := struct{ key PrivateKey }{key} // fmt cannot call methods here
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			for _, v := range []any{key, &key, hidden, struct{ Key PrivateKey }{key}} {
				printed := fmt.Sprintf(verb, v)
				// Looked for as text, as hexadecimal, and as a list of numbers.
				for _, secret := range []string{
					base64.RawURLEncoding.EncodeToString(raw[:6]), hex.EncodeToString(raw[:4]),
					strings.Trim(fmt.Sprint(raw[:4]), "[]"), fmt.Sprintf("%#v", raw[:4])[len("[]byte{"):][:10], string(raw[:4]),
				} {
					if strings.Contains(strings.ToLower(printed), strings.ToLower(secret)) {
						t.Errorf("%s: %s of %T prints the key", suite, verb, v)
					}
				}
			}
		}
		if text, err := json.Marshal(struct{ Key PrivateKey }{key}); err != nil || string(text) != `{"Key":{}}` {
			t.Errorf("%s: the key has a JSON form", suite)
		}
	}
}
