package plan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

var update = flag.Bool("update", false, "write the vectors anew")

// key is a publisher's key for tests: its seed is known to everybody.
func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(seed byte) string { return Publisher(key(seed).Public().(ed25519.PublicKey)) }

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/vectors/v2/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s changed:\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

// refused is a text that is not read, and what the error says.
type refused struct{ text, want string }

// refuseAll checks that texts are refused for their reasons, and that the short ones
// stand as bad vectors for other implementations.
func refuseAll(t *testing.T, what string, all map[string]refused, read func([]byte) error) {
	t.Helper()
	vectors := map[string]string{}
	for name, c := range all {
		if err := read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not mention %q", name, err, c.want)
		}
		if len(c.text) < 8<<10 && utf8.ValidString(c.text) {
			vectors[name] = c.text
		}
	}
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(vectors); err != nil {
		t.Fatal(err)
	}
	golden(t, "bad_"+what+".json", b.Bytes())
}

// by signs with each key in turn.
func by(t interface{ Fatal(...any) }, p Plan, seeds ...byte) Signed {
	s := Sign(p, key(seeds[0]))
	for _, seed := range seeds[1:] {
		var err error
		if s, err = s.Sign(key(seed)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestAPlanOfSeveralPublishersIsGolden(t *testing.T) {
	p := sample()
	p.Signatures = 2
	signed := by(t, p, 1, 2, 3)
	golden(t, "signed_by_three.json", append(signed.Marshal(), '\n'))
	read, err := ParseSigned(signed.Marshal())
	if err != nil || !cmp.Equal(signed, read) {
		t.Fatalf("%v\n%s", err, cmp.Diff(signed, read))
	}
	if again := by(t, p, 3, 1, 2, 1); !bytes.Equal(again.Marshal(), signed.Marshal()) {
		t.Error("the text depends on who signed first")
	}
	if signed.Plan.Hash() != Sign(p, key(9)).Plan.Hash() {
		t.Error("the plan's name depends on who signed it")
	}
	if _, err := by(t, p, 1, 2, 3, 4, 5, 6, 7, 8).Sign(key(9)); err == nil {
		t.Error("a ninth signature is taken")
	}
}

func TestSeveralSignaturesHaveOneForm(t *testing.T) {
	p := sample()
	good := string(by(t, p, 1, 2).Marshal())
	a, b := good[len(severalBegin):len(severalBegin)+entryLength], good[len(severalBegin)+entryLength+1:len(severalBegin)+2*entryLength+1]
	rest := good[len(severalBegin)+2*entryLength+1:]
	nine := strings.Repeat(a+",", 8) + a
	refuseAll(t, "signed", map[string]refused{
		"the other order":     {severalBegin + b + "," + a + rest, "in the order"},
		"one twice":           {severalBegin + a + "," + a + rest, "signs once"},
		"a list of one":       {severalBegin + a + rest, "not written as a list"},
		"a list of none":      {severalBegin + rest, "not a signed plan"},
		"an end too early":    {severalBegin + a + ",", "not a signed plan"},
		"another separator":   {severalBegin + a + ";" + b + rest, "is due"},
		"a field more":        {severalBegin + a + "," + b + strings.Replace(rest, `],"plan"`, `],"x":1,"plan"`, 1), "is due"},
		"a space":             {severalBegin + a + ", " + b + rest, "not a signed plan"},
		"more than eight":     {severalBegin + nine + rest, "in the order"},
		"an altered key":      {severalBegin + strings.Replace(a, "ed25519", "x25519x", 1) + "," + b + rest, "not a signed plan"},
		"no plan":             {severalBegin + a + "," + b + "]}", "is due"},
		"no brace at the end": {good[:len(good)-1], "canonical"},
	}, func(text []byte) error { _, err := ParseSigned(text); return err })
	if len(appendHead(nil, by(t, p, 1, 2, 3, 4, 5, 6, 7, 8).Signatures(), "plan")) != MaxHeadBytes {
		t.Error("the head of eight signatures is not the longest")
	}
}

// What counts are different keys that are known and good for the plan, with all
// signatures right: every subset of signers against every subset of those known, by
// what is right by definition.
func TestAPlanNeedsEnoughKnownKeys(t *testing.T) {
	for _, asked := range []int{0, 2, 3} {
		p := sample()
		p.Signatures = asked
		for signers := 1; signers < 8; signers++ {
			var seeds []byte
			for i := range 3 {
				if signers>>i&1 == 1 {
					seeds = append(seeds, byte(i+1))
				}
			}
			s := by(t, p, seeds...)
			for known := range 8 {
				for least := range 4 {
					trust, both := Publishers{Least: least}, 0
					for i := range 3 {
						if known>>i&1 == 1 {
							trust.Keys = append(trust.Keys, PublisherKey{Key: public(byte(i + 1))})
							both += signers >> i & 1
						}
					}
					if err, want := s.Verify(trust), both >= max(1, least, asked); (err == nil) != want {
						t.Fatalf("signed by %b, known %b, %d needed here and %d by the plan: %v", signers, known, least, asked, err)
					}
				}
			}
		}
	}
}

// A signature that is wrong spoils a plan even where the others would be enough.
func TestEverySignatureMustHold(t *testing.T) {
	s := by(t, sample(), 1, 2)
	s.Others[0].Signature = bytes.Clone(s.Others[0].Signature)
	s.Others[0].Signature[3] ^= 1
	if err := s.Verify(Trust(s.Publisher)); err == nil || !strings.Contains(err.Error(), "does not belong") {
		t.Error(err)
	}
	u, err := SplitSigned(s.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Verify(Trust(s.Publisher)); err == nil {
		t.Error("the bytes as they came are taken")
	}
}

func TestAKeyIsGoodForPlansThatCloseBeforeItsEnd(t *testing.T) {
	closes := time.Date(2027, 1, 11, 0, 0, 0, 0, time.UTC)
	before, after := closes.Add(-time.Hour), closes.Add(time.Hour)
	p := keyed(newest())
	p.Times.Opens, p.Times.Closes = time.Time{}, closes
	s := Sign(p, key(1))
	for name, c := range map[string]struct {
		ends, revoked time.Time
		stands        bool
		admit         time.Time // the last moment at which it would be taken, but for one
	}{
		"no end":                       {time.Time{}, time.Time{}, true, after.Add(1000 * time.Hour)},
		"it ends as the plan closes":   {closes, time.Time{}, true, closes},
		"it ends after the plan":       {after, time.Time{}, true, after},
		"it ends before the plan":      {before, time.Time{}, false, time.Time{}},
		"revoked while the plan runs":  {time.Time{}, before, false, time.Time{}},
		"revoked after the plan":       {time.Time{}, after, true, after},
		"revoked before it would end":  {after, before, false, time.Time{}},
		"it ended before it was found": {before, after, false, time.Time{}},
	} {
		trust := Publishers{Keys: []PublisherKey{{public(1), c.ends, c.revoked}}}
		if err := trust.Stands(s); (err == nil) != c.stands {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Verify(trust); (err == nil) != c.stands {
			t.Errorf("%s: Verify: %v", name, err)
		}
		for _, now := range []time.Time{before.Add(-time.Hour), c.admit.Add(-time.Second), c.admit, c.admit.Add(time.Second)} {
			want := c.stands && now.Before(c.admit)
			if err := trust.Admit(s, now); (err == nil) != want && !(c.ends.IsZero() && c.revoked.IsZero()) {
				t.Errorf("%s, taken up at %s: %v", name, now, err)
			}
		}
	}
	p.Times.Closes = time.Time{}
	if err := (Publishers{Keys: []PublisherKey{{Key: public(1), Ends: after}}}).Stands(Sign(p, key(1))); err == nil {
		t.Error("a key with an end vouches for a plan without one")
	}
}

func TestTheFileOfPublishersIsGolden(t *testing.T) {
	p := Publishers{Least: 2, Keys: []PublisherKey{
		{Key: public(1)},
		{Key: public(2), Ends: time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)},
		{Key: public(3), Ends: time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC), Revoked: time.Date(2026, 11, 22, 6, 30, 0, 0, time.UTC)},
	}}
	golden(t, "publishers.txt", p.Marshal())
	noted := strings.Replace(string(p.Marshal()), "\ned25519", "\n\n# North's\ned25519", 1)
	for _, text := range []string{string(p.Marshal()), noted, strings.ReplaceAll(noted, "\n", "\r\n"), strings.TrimSuffix(noted, "\n")} {
		if read, err := ParsePublishers([]byte(text)); err != nil || !cmp.Equal(p, read) {
			t.Errorf("%q: %v\n%s", text, err, cmp.Diff(p, read))
		}
	}
}

func TestParsePublishersRefuses(t *testing.T) {
	one, two := public(1), public(2)
	many := &strings.Builder{}
	for i := range maxPublishers + 1 {
		seed := make([]byte, ed25519.PublicKeySize)
		seed[0], seed[1] = byte(i), byte(i>>8)
		fmt.Fprintln(many, Publisher(seed))
	}
	refuseAll(t, "publishers", map[string]refused{
		"empty":                {"", "empty"},
		"another first line":   {"confetti-publishers/v2\n" + one, "line 1"},
		"no key":               {publishersFormat + "\n", "nobody's plan"},
		"too few keys":         {publishersFormat + "\nsignatures 2\n" + one, "nobody's plan"},
		"a key of another use": {publishersFormat + "\nx25519:" + one[8:], "line 2"},
		"a short key":          {publishersFormat + "\n" + one[:40], "line 2"},
		"a key twice":          {publishersFormat + "\n" + one + "\n" + two + "\n" + one, "line 4 has the key of an earlier one"},
		"two spaces":           {publishersFormat + "\n" + one + "  ends 2027-06-01T00:00:00Z", "line 2"},
		"a space at the end":   {publishersFormat + "\n" + one + " ", "line 2"},
		"the other order":      {publishersFormat + "\n" + one + " revoked 2027-06-01T00:00:00Z ends 2027-06-01T00:00:00Z", "line 2"},
		"a word without time":  {publishersFormat + "\n" + one + " revoked", "line 2"},
		"a day":                {publishersFormat + "\n" + one + " ends 2027-06-01", `after "ends"`},
		"another zone":         {publishersFormat + "\n" + one + " ends 2027-06-01T00:00:00+01:00", `after "ends"`},
		"parts of a second":    {publishersFormat + "\n" + one + " revoked 2027-06-01T00:00:00.5Z", `after "revoked"`},
		"an unknown word":      {publishersFormat + "\n" + one + " until 2027-06-01T00:00:00Z", "line 2"},
		"signatures twice":     {publishersFormat + "\nsignatures 1\nsignatures 1\n" + one, "line 3"},
		"signatures late":      {publishersFormat + "\n" + one + "\nsignatures 1", "line 3"},
		"no signature":         {publishersFormat + "\nsignatures 0\n" + one, "line 2"},
		"another number":       {publishersFormat + "\nsignatures 02\n" + one, "line 2"},
		"too many signatures":  {publishersFormat + "\nsignatures 9\n" + one, "line 2"},
		"too many keys":        {publishersFormat + "\n" + many.String(), "too many"},
		"too long":             {publishersFormat + "\n#" + strings.Repeat("x", maxPublishersBytes), "more than"},
	}, func(text []byte) error { _, err := ParsePublishers(text); return err })
}

// Whatever is written is read as it was.
func TestPublishersSurviveTheirFile(t *testing.T) {
	second := rapid.Map(rapid.Int64Range(-1, 1<<33), func(s int64) time.Time {
		if s < 0 {
			return time.Time{}
		}
		return time.Unix(s, 0).UTC()
	})
	rapid.Check(t, func(t *rapid.T) {
		var p Publishers
		for i := range rapid.IntRange(1, 9).Draw(t, "keys") {
			p.Keys = append(p.Keys, PublisherKey{public(byte(i)), second.Draw(t, "ends"), second.Draw(t, "revoked")})
		}
		p.Least = rapid.IntRange(0, min(len(p.Keys), maxSignatures)).Draw(t, "least")
		if read, err := ParsePublishers(p.Marshal()); err != nil || !cmp.Equal(p, read) {
			t.Fatalf("%v\n%s", err, cmp.Diff(p, read))
		}
	})
}

func FuzzParsePublishers(f *testing.F) {
	f.Add([]byte(publishersFormat + "\nsignatures 2\n# North\n" + public(1) + "\n" + public(2) + " ends 2027-06-01T00:00:00Z revoked 2026-11-22T00:00:00Z\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Publishers
		var err error
		costlimit.Heap(t, parseFactor, len(text), func() { p, err = ParsePublishers(text) })
		if err != nil {
			return
		}
		if read, err := ParsePublishers(p.Marshal()); err != nil || !cmp.Equal(p, read) {
			t.Errorf("%v\n%s", err, cmp.Diff(p, read))
		}
	})
}
