package wire

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The vectors were computed by hashlib of Python from docs/wire-http.md.
func TestSignIns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "v1", "sign_in.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Comment, Secret, Nonce string
		Plan                   string // hex
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 3 {
		t.Fatal(len(all), err)
	}
	for _, v := range all {
		plan, err := hex.DecodeString(v.Plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := SignInNonce([32]byte(plan), v.Secret); got != v.Nonce {
			t.Errorf("%s: %s, want %s", v.Comment, got, v.Nonce)
		}
		if token, secret, ok := SignedIn("a.b.c~" + v.Secret); !ok || token != "a.b.c" || secret != v.Secret {
			t.Errorf("%s: %q %q %v", v.Comment, token, secret, ok)
		}
	}
	s := all[0].Secret
	for _, bad := range []string{"", "a.b.c", "a.b.c~", s, "a.b.c~" + s[1:], "a.b.c~" + s + "A", "a.b.c~" + s + "=", "a.b.c~" + s + "~", "a.b.c~" + s[:20] + "\n" + s[20:], "a.b.c~" + strings.Repeat("/", 43)} {
		if _, _, ok := SignedIn(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}
