package plan

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// releases signs releases in tests: its seed is known to everybody.
func releases() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{3}, ed25519.SeedSize))
}

// newest is the sample as this version writes it.
func newest() Plan {
	p := sample()
	p.Version, p.Analyzer.Releases = Version, Publisher(releases().Public().(ed25519.PublicKey))
	return p
}

// third is the sample as version 3 wrote it.
func third() Plan {
	p := newest()
	p.Version = 3
	return p
}

// releaseVectors are a plan of version 3 with a release of it: what another implementation
// checks itself with. The receipts' text is only what is digested.
type releaseVectors struct {
	Plan      string            `json:"plan"` // canonical
	Name      string            `json:"name"`
	Signed    string            `json:"signed"`
	Receipts  string            `json:"receipts"`
	Entry     string            `json:"entry"`
	Signature string            `json:"signature"` // the text of the file beside the release
	Bad       map[string]string `json:"bad"`       // signatures of the same release that are not taken
	BadPlans  map[string]string `json:"bad_plans"` // canonical but for what is wrong
}

func makeReleaseVectors() releaseVectors {
	p, receipts := third(), []byte(`{"format":"confetti-receipts/v1"}`)
	e := Entry{ReleaseEntry, p.Hash(), sha256.Sum256(receipts)}
	good := e.Sign(releases())
	other, ofPlan, stranger := e, e, e
	other.Digest[0] ^= 1
	ofPlan.Kind = ""
	raw := func(message []byte, key ed25519.PrivateKey) string {
		return releasing + base64url.EncodeToString(ed25519.Sign(key, message)) + "\n"
	}
	edit := func(old, new string) string { return strings.Replace(string(p.Canonical()), old, new, 1) }
	return releaseVectors{
		Plan: string(p.Canonical()), Name: p.Name(), Signed: string(Sign(p, publisher()).Marshal()), Receipts: string(receipts), Entry: string(e.Marshal()), Signature: string(good),
		Bad: map[string]string{
			"of other receipts":    string(other.Sign(releases())),
			"of the plan's entry":  string(ofPlan.Sign(releases())),
			"by another key":       string(stranger.Sign(publisher())),
			"without the prefix":   raw(e.Marshal(), releases()),
			"with another prefix":  raw(append([]byte("confetti/plan/v1\n"), e.Marshal()...), releases()),
			"without its line end": strings.TrimSuffix(string(good), "\n"),
			"with more behind it":  string(good) + "\n",
			"with a return":        strings.TrimSuffix(string(good), "\n") + "\r\n",
			"in another version":   strings.Replace(string(good), "/v1", "/v2", 1),
			"empty":                "",
		},
		BadPlans: map[string]string{
			"version 3 without the key":   edit(`,"releases":"`+p.Analyzer.Releases+`"`, ""),
			"version 2 with the key":      edit(`"version":3`, `"version":2`),
			"a key that is none":          edit(p.Analyzer.Releases, "ed25519:AAAA"),
			"a key that opens":            edit(p.Analyzer.Releases, p.Analyzer.Key),
			"a hop's":                     edit(`{"operator":"North"`, `{"operator":"North","releases":"`+p.Analyzer.Releases+`"`),
			"the key before the operator": edit(`{"operator":"Research","key":"`+p.Analyzer.Key+`","releases":"`+p.Analyzer.Releases+`"}`, `{"releases":"`+p.Analyzer.Releases+`","operator":"Research","key":"`+p.Analyzer.Key+`"}`),
		},
	}
}

// The vectors outlive the code: later versions of plans get files of their own.
func TestReleaseVectors(t *testing.T) {
	const file = "testdata/vectors/v3/release.json"
	if *update {
		text, err := json.MarshalIndent(makeReleaseVectors(), "", " ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v releaseVectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, makeReleaseVectors()); diff != "" {
		t.Errorf("the vectors changed:\n%s", diff)
	}
	p, err := Parse([]byte(v.Plan))
	if err != nil || p.Name() != v.Name {
		t.Fatal(err)
	}
	e := Entry{ReleaseEntry, p.Hash(), sha256.Sum256([]byte(v.Receipts))}
	if string(e.Marshal()) != v.Entry {
		t.Errorf("the entry is %q", e.Marshal())
	}
	if err := e.Verify(p.Analyzer.Releases, []byte(v.Signature)); err != nil {
		t.Error(err)
	}
	for name, signature := range v.Bad {
		if e.Verify(p.Analyzer.Releases, []byte(signature)) == nil {
			t.Errorf("a signature %s is taken", name)
		}
	}
	for name, text := range v.BadPlans {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("a plan is read: %s", name)
		}
	}
}

// A plan of version 2 is read, and stands where it stood; nothing new is collected under
// it, and nobody can sign its releases.
func TestVersion2IsReadForEver(t *testing.T) {
	p := sample()
	q, err := Parse(p.Canonical())
	if err != nil || !cmp.Equal(p, q) {
		t.Fatal(err)
	}
	trust, now := Trust(public(1)), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	s := Sign(p, key(1))
	if err := errors.Join(trust.Stands(s), s.Verify(trust)); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{"admitted": trust.Admit(s, now), "collected": p.Collected()} {
		if err == nil || !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "confetti plan new") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(keyed(newest()).Collected(), trust.Admit(Sign(keyed(newest()), key(1)), now)); err != nil {
		t.Error(err)
	}
	e := Entry{Kind: ReleaseEntry, Plan: p.Hash()}
	if err := e.Verify(p.Analyzer.Releases, e.Sign(releases())); err == nil || !strings.Contains(err.Error(), "names nobody") {
		t.Error(err)
	}
}

// A plan of version 3, which seals every envelope for the entry by itself, is read, and its releases verify;
// nothing new is collected under it.
func TestVersion3IsReadForEver(t *testing.T) {
	p := third()
	q, err := Parse(p.Canonical())
	if err != nil || !cmp.Equal(p, q) || p.SealedOnce() || !newest().SealedOnce() {
		t.Fatal(err)
	}
	trust, now := Trust(public(1)), time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	if err := trust.Stands(Sign(p, key(1))); err != nil {
		t.Error(err)
	}
	if err := trust.Admit(Sign(p, key(1)), now); err == nil || !strings.Contains(err.Error(), "version 3 seals every envelope") || !strings.Contains(err.Error(), "confetti plan new") {
		t.Error(err)
	}
	e := Entry{Kind: ReleaseEntry, Plan: p.Hash()}
	if err := e.Verify(p.Analyzer.Releases, e.Sign(releases())); err != nil {
		t.Error(err)
	}
}

// Each use has a key of its own: whoever holds one cannot speak for another.
func TestTheKeyOfReleasesIsForNothingElse(t *testing.T) {
	p := newest()
	p.Route.Mix.Instances[0].Hops[1].Receipts = p.Analyzer.Releases
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "a key of its own") {
		t.Errorf("it signs receipts too: %v", err)
	}
	s := study()
	s.Plan.Version, s.Plan.Analyzer.Releases = Version, s.Coordinator
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "a key of its own") {
		t.Errorf("it signs rounds too: %v", err)
	}
}

func TestEntriesReadBack(t *testing.T) {
	for _, kind := range []string{"", ReleaseEntry, WithdrawalEntry} {
		e := Entry{kind, newest().Hash(), sha256.Sum256([]byte(kind))}
		if got, err := ParseEntry(e.Marshal()); err != nil || got != e {
			t.Errorf("%q: %+v, %v", kind, got, err)
		}
	}
	bad := Entry{Plan: newest().Hash()}.Marshal()
	for _, text := range []string{strings.Replace(string(bad), "plan", "round", 1), string(bad) + "\n", strings.ToUpper(string(bad)), hex.EncodeToString(bad), ""} {
		if _, err := ParseEntry([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func FuzzParseReleaseSignature(f *testing.F) {
	f.Add(Entry{Kind: ReleaseEntry}.Sign(releases()))
	f.Add([]byte(releasing))
	broken := Entry{Kind: ReleaseEntry}.Sign(releases())
	broken[len(releasing)+2] = '\n'
	f.Add(broken)
	f.Fuzz(func(t *testing.T, text []byte) {
		var signature []byte
		var err error
		costlimit.Heap(t, 2, len(text), func() { signature, err = parseReleaseSignature(text) })
		if err == nil && releasing+base64url.EncodeToString(signature)+"\n" != string(text) {
			t.Error("two texts of one signature were read")
		}
	})
}
