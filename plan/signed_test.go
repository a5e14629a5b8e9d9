package plan

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// publisher is a key for tests: its seed is all ones and known to everybody.
func publisher() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
}

func TestSignedPlanIsGolden(t *testing.T) {
	signed := Sign(sample(), publisher())
	want, err := os.ReadFile("testdata/vectors/v1/signed.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(signed.Marshal()) + "\n"; got != string(want) {
		t.Errorf("the signed form changed:\n%s", cmp.Diff(string(want), got))
	}
	read, err := ParseSigned(signed.Marshal())
	if err != nil || !cmp.Equal(signed, read) {
		t.Fatalf("%v\n%s", err, cmp.Diff(signed, read))
	}
	if err := read.Verify("ed25519:other", signed.Publisher); err != nil {
		t.Error(err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	good := Sign(sample(), publisher())
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	for name, c := range map[string]struct {
		spoil func(*Signed)
		want  string
	}{
		"another plan":          {func(s *Signed) { s.Plan.Title += "?" }, "does not belong"},
		"another signature":     {func(s *Signed) { s.Signature = Sign(s.Plan, other).Signature }, "does not belong"},
		"another publisher":     {func(s *Signed) { s.Publisher = Publisher(other.Public().(ed25519.PublicKey)) }, "does not belong"},
		"nobody's own plan":     {func(s *Signed) { *s = Sign(s.Plan, other) }, "nobody here trusts"},
		"no signature":          {func(s *Signed) { s.Signature = nil }, "does not belong"},
		"no publisher":          {func(s *Signed) { s.Publisher = "" }, "ed25519:base64url"},
		"a key of another kind": {func(s *Signed) { s.Publisher = strings.Replace(s.Publisher, "ed25519", "x25519", 1) }, "ed25519:base64url"},
		"a short key":           {func(s *Signed) { s.Publisher = s.Publisher[:20] }, "ed25519:base64url"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			c.spoil(&s)
			if err := s.Verify(good.Publisher); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
	if err := good.Verify(); err == nil {
		t.Error("trusted without a trusted publisher")
	}
}

func TestParseSignedRefusesEveryOtherForm(t *testing.T) {
	good := string(Sign(sample(), publisher()).Marshal())
	for name, c := range map[string]struct{ text, want string }{
		"empty":                {"", "not a signed plan"},
		"plan alone":           {string(sample().Canonical()), "unknown field"},
		"white space":          {strings.Replace(good, `,"plan"`, `, "plan"`, 1), "one form"},
		"plan in another form": {strings.Replace(good, `"epsilon":4,`, `"epsilon":4.0,`, 1), "canonical"},
		"repeated key":         {`{"publisher":"x",` + good[1:], "one form"},
		"short signature":      {strings.Replace(good, `"signature":"`, `"signature":"AA","signature":"`, 1), "one form"},
		"no signature":         {`{"publisher":"x","plan":` + string(sample().Canonical()) + "}", "64 bytes"},
		"trailing text":        {good + "\n{}", "goes on"},
		"no plan":              {`{"publisher":"x","signature":""}`, "canonical"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseSigned([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
}

func FuzzParseSigned(f *testing.F) {
	f.Add(Sign(sample(), publisher()).Marshal())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSigned(text)
		if err != nil {
			return
		}
		if !bytes.Equal(s.Marshal(), text) {
			t.Error("two texts of one signed plan were read")
		}
	})
}
