package plan

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// publisher is a key for tests: its seed is all ones and known to everybody.
func publisher() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
}

func TestSignedPlanIsGolden(t *testing.T) {
	signed := Sign(sample(), publisher())
	golden(t, "signed.json", append(signed.Marshal(), '\n'))
	read, err := ParseSigned(signed.Marshal())
	if err != nil || !cmp.Equal(signed, read) {
		t.Fatalf("%v\n%s", err, cmp.Diff(signed, read))
	}
	if err := read.Verify(Trust("ed25519:other", signed.Publisher)); err != nil {
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
		"another publisher":     {func(s *Signed) { s.Publisher = Publisher(other.Public().(ed25519.PublicKey)) }, "nobody here trusts"},
		"nobody's own plan":     {func(s *Signed) { *s = Sign(s.Plan, other) }, "nobody here trusts"},
		"no signature":          {func(s *Signed) { s.Signature = nil }, "does not belong"},
		"no publisher":          {func(s *Signed) { s.Publisher = "" }, "nobody here trusts"},
		"a key of another kind": {func(s *Signed) { s.Publisher = strings.Replace(s.Publisher, "ed25519", "x25519", 1) }, "nobody here trusts"},
		"a short key":           {func(s *Signed) { s.Publisher = s.Publisher[:20] }, "nobody here trusts"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			c.spoil(&s)
			if err := s.Verify(Trust(good.Publisher)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
	if err := good.Verify(Trust()); err == nil {
		t.Error("trusted without a trusted publisher")
	}
}

func TestParseSignedRefusesEveryOtherForm(t *testing.T) {
	good := string(Sign(sample(), publisher()).Marshal())
	for name, c := range map[string]struct{ text, want string }{
		"empty":                {"", "not a signed plan"},
		"plan alone":           {string(sample().Canonical()), "not a signed plan"},
		"white space":          {strings.Replace(good, `,"plan"`, `, "plan"`, 1), `byte 169 begins " \"plan\"" where "\"plan\":" is due`},
		"number not shortest":  {strings.Replace(good, `"epsilon":4,`, `"epsilon":4.0,`, 1), `begins ".0,`},
		"plan in another form": {strings.Replace(good, `"epsilon":4,`, `"epsilon":4.0,`, 1), "canonical"},
		"repeated key":         {`{"publisher":"x",` + good[1:], "one form"},
		"short signature":      {strings.Replace(good, `"signature":"`, `"signature":"AA","signature":"`, 1), "one form"},
		"another base64":       {strings.Replace(good, `","plan"`, `=","plan"`, 1), "one form"},
		"no signature":         {`{"publisher":"x","plan":` + string(sample().Canonical()) + "}", "one form"},
		"no closing brace":     {good[:len(good)-1] + "]", "brace"},
		"too long":             {good + strings.Repeat(" ", MaxSignedBytes), "longer than"},
		"trailing text":        {good + "\n{}", "goes on"},
		"no plan":              {good[:headBytes] + "}", "canonical"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseSigned([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
}

// A file ends with a line's end, which is no part of the form, and goes no further.
func TestReadSignedTakesTheFileThatASignerWrites(t *testing.T) {
	signed := Sign(sample(), publisher())
	path := filepath.Join(t.TempDir(), "plan.signed.json")
	for _, end := range []string{"", "\n", "\r\n"} {
		text := append(signed.Marshal(), end...)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := ReadSigned(path)
		if err != nil || !cmp.Equal(signed, read) || !bytes.Equal(read.Marshal(), signed.Marshal()) {
			t.Errorf("end %q: %v\n%s", end, err, cmp.Diff(signed, read))
		}
		if !IsSigned(text) {
			t.Error("not told from a plan alone")
		}
	}
	if IsSigned(signed.Plan.Canonical()) {
		t.Error("a plan alone is taken for a signed one")
	}
	for name, text := range map[string]string{"two line ends": string(signed.Marshal()) + "\n\n", "cut short": string(signed.Marshal()[:100])} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSigned(path); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: error %v does not begin with the path", name, err)
		}
	}
	if _, err := ReadSigned(path + "x"); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("error %v does not name the path", err)
	}
}

func FuzzParseSigned(f *testing.F) {
	f.Add(Sign(sample(), publisher()).Marshal())
	f.Add(by(f, sample(), 1, 2, 3).Marshal())
	f.Add(second(f, SignStudy(study(), publisher())).Marshal())
	f.Add(SignStudy(study(), publisher()).Marshal())
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, parseFactor, len(text), func() {
			if s, err := ParseSignedStudy(text); err == nil && !bytes.Equal(s.Marshal(), bytes.TrimSuffix(text, []byte("\n"))) {
				t.Error("two texts of one signed study were read")
			}
		})
		var s Signed
		var err error
		costlimit.Heap(t, parseFactor, len(text), func() { s, err = ParseSigned(text) })
		if err != nil {
			return
		}
		if one := s.Marshal(); !bytes.Equal(one, text) && string(text) != string(one)+"\n" && string(text) != string(one)+"\r\n" {
			t.Error("two texts of one signed plan were read")
		}
	})
}
