package envelope

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	key, err := newPrivateKey(X25519, bytes.Repeat([]byte{9}, 32))
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
			for _, v := range []any{key, &key, hidden, KeyFile{Key: key}} {
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
		if text, err := json.Marshal(KeyFile{Key: key}); err != nil || string(text) != `{"Key":{},"Purpose":""}` {
			t.Errorf("%s: the key has a JSON form", suite)
		}
	}
}

func TestKeyFile(t *testing.T) {
	for _, suite := range suites {
		path := filepath.Join(t.TempDir(), "analyzer.key")
		private, public := newKeys(t, suite, 2)
		if err := CreateKeyFile(path, KeyFile{private[0], "analyzer"}); err != nil {
			t.Fatal(err)
		}
		if status, err := os.Stat(path); err != nil || status.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, %v", status.Mode(), err)
		}
		expect := func(want PublicKey) {
			t.Helper()
			got, err := ReadKeyFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Key.Public().Equal(want) || got.Purpose != "analyzer" {
				t.Error("another key came back")
			}
		}
		expect(public[0])
		if err := CreateKeyFile(path, KeyFile{private[1], "analyzer"}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("the file was there, and: %v", err)
		}
		expect(public[0])
		if err := ReplaceKeyFile(path, KeyFile{private[1], "analyzer"}); err != nil {
			t.Fatal(err)
		}
		expect(public[1])
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(left) != 1 {
			t.Errorf("left in the folder: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
			t.Errorf("hidden files left: %v", left)
		}
		for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadKeyFile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("mode %o: %v", mode, err)
			}
		}
	}
}

func TestKeyFileRefuses(t *testing.T) {
	private, public := newKeys(t, X25519, 2)
	path := filepath.Join(t.TempDir(), "key")
	if err := CreateKeyFile(path, KeyFile{private[0], "hop 0"}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := private[0].key().Bytes()
	secret := base64.RawURLEncoding.EncodeToString(raw)
	edit := func(old, new string) string { return strings.Replace(string(good), old, new, 1) }
	for name, text := range map[string]string{
		"empty":              "",
		"cut":                string(good[:len(good)/2]),
		"something after":    string(good) + "}",
		"unknown field":      edit(`"purpose"`, `"note"`),
		"unknown format":     edit("confetti-private-key/v1", "confetti-private-key/v9"),
		"unknown suite":      edit(`"x25519"`, `"rot13"`),
		"other suite":        edit(`"x25519"`, `"x-wing"`),
		"another public key": edit(public[0].String(), public[1].String()),
		"another id":         edit(public[0].ID(), public[1].ID()),
		"cut private key":    edit(secret, secret[:20]),
		"quoted key":         edit(`"private_key": "`, `"private_key": `),
		"too long":           edit("hop 0", strings.Repeat("x", 1<<14)),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadKeyFile(path)
		if err == nil {
			t.Errorf("%s was accepted", name)
		} else if strings.Contains(err.Error(), secret[:6]) {
			t.Errorf("%s: the error holds the key", name)
		}
	}
	if err := CreateKeyFile(filepath.Join(t.TempDir(), "none"), KeyFile{}); err == nil {
		t.Error("a file without a key was written")
	}
	if _, err := ReadKeyFile(t.TempDir()); err == nil {
		t.Error("a folder was read as a key")
	}
	if err := CreateKeyFile(filepath.Join(t.TempDir(), "missing", "key"), KeyFile{private[0], ""}); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}
