package partykey

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

func newKeys(t *testing.T, suite envelope.Suite, n int) (private []envelope.PrivateKey, public []envelope.PublicKey) {
	t.Helper()
	for range n {
		key, err := envelope.GenerateKey(suite)
		if err != nil {
			t.Fatal(err)
		}
		private, public = append(private, key), append(public, key.Public())
	}
	return private, public
}

func TestKeysThatOpen(t *testing.T) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		path := filepath.Join(t.TempDir(), "analyzer.key")
		private, public := newKeys(t, suite, 2)
		if err := CreateOpening(path, private[0], "analyzer"); err != nil {
			t.Fatal(err)
		}
		if status, err := os.Stat(path); err != nil || status.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, %v", status.Mode(), err)
		}
		expect := func(want envelope.PublicKey) {
			t.Helper()
			got, purpose, err := ReadOpening(path)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Public().Equal(want) || purpose != "analyzer" {
				t.Error("another key came back")
			}
		}
		expect(public[0])
		if err := CreateOpening(path, private[1], "analyzer"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("the file was there, and: %v", err)
		}
		expect(public[0])
		if err := ReplaceOpening(path, private[1], "analyzer"); err != nil {
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
			if _, _, err := ReadOpening(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
				t.Errorf("mode %o: %v", mode, err)
			}
		}
	}
}

func TestKeysThatDoNotOpen(t *testing.T) {
	private, public := newKeys(t, envelope.X25519, 2)
	path := filepath.Join(t.TempDir(), "key")
	if err := CreateOpening(path, private[0], "hop 0"); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := private[0].Bytes()
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
		_, _, err := ReadOpening(path)
		if err == nil {
			t.Errorf("%s was accepted", name)
		} else if strings.Contains(err.Error(), secret[:6]) {
			t.Errorf("%s: the error holds the key", name)
		}
	}
	if err := CreateOpening(filepath.Join(t.TempDir(), "none"), envelope.PrivateKey{}, ""); err == nil {
		t.Error("a file without a key was written")
	}
	if _, _, err := ReadOpening(t.TempDir()); err == nil {
		t.Error("a folder was read as a key")
	}
	if err := CreateOpening(filepath.Join(t.TempDir(), "missing", "key"), private[0], ""); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}

func TestKeysThatSign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipts.json")
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := CreateSigning(path, key, "hop 0"); err != nil {
		t.Fatal(err)
	}
	got, purpose, err := ReadSigning(path)
	if err != nil || purpose != "hop 0" || got.Public().String() != key.Public().String() {
		t.Errorf("read %v for %q: %v", got, purpose, err)
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
		if _, _, err := ReadSigning(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := CreateSigning(filepath.Join(t.TempDir(), "none"), relay.SignKey{}, ""); err == nil {
		t.Error("a file without a key was written")
	}
}

func TestKeysOfTokens(t *testing.T) {
	key, err := token.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens.json")
	if err := CreateTokens(path, key, "hop 1"); err != nil {
		t.Fatal(err)
	}
	if err := CreateTokens(path, key, "hop 1"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	read, purpose, err := ReadTokens(path)
	if err != nil || purpose != "hop 1" || read.Public().String() != key.Public().String() {
		t.Fatalf("read %v for %q: %v", read, purpose, err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"another suite":     {`"rsa2048"`, `"x25519"`},
		"a damaged key":     {`"private_key": "MII`, `"private_key": "MIJ`},
		"no DER":            {`"private_key": "MII`, `"private_key": "AAA`},
		"another's id":      {key.Public().ID(), "0000000000000000"},
		"an unknown field":  {`"purpose"`, `"purposes"`},
		"something after":   {"}\n", "}{}"},
		"another format":    {"/v1", "/v2"},
		"a padded key":      {`"private_key": "MII`, `"private_key": "=`},
		"a shortened field": {`"public_key": "rsa2048:`, `"public_key": "rsa2048:A`},
	} {
		bad := filepath.Join(t.TempDir(), "bad.json")
		text := strings.Replace(string(good), change[0], change[1], 1)
		if text == string(good) {
			t.Fatalf("%s: nothing changed", name)
		}
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadTokens(bad)
		if err == nil {
			t.Errorf("%s was accepted", name)
		} else if strings.Contains(err.Error(), "MII") {
			t.Errorf("%s: the error shows the key", name)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadTokens(path); err == nil {
		t.Error("a file open to others was accepted")
	}
}
