package handover

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// manifestOf cuts so many envelopes of 48 bytes after each so many.
func manifestOf(t testing.TB, envelopes, part int) (Manifest, []byte) {
	t.Helper()
	h := envelope.Head{Plan: [32]byte(counting(0xa0, 32)), Instance: 258, Crowd: 7, Hop: 2, Respondents: 3, Envelopes: uint64(envelopes), Size: 48}
	var all []byte
	for i := range envelopes {
		all = append(all, counting(byte(i), 48)...)
	}
	c := NewCutter(uint64(part), h.Size)
	for rest := all; len(rest) > 0; { // as it comes
		n := min(len(rest), 31)
		c.Write(rest[:n])
		rest = rest[n:]
	}
	return c.Manifest(h), all
}

func TestManifest(t *testing.T) {
	for _, part := range []int{1, 3, 4, 11, 12} {
		m, all := manifestOf(t, 11, part)
		got, err := ParseManifest(m.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Error(d)
		}
		if want := (11 + part - 1) / part; len(m.Parts) != want {
			t.Errorf("%d parts, want %d", len(m.Parts), want)
		}
		for n, p := range m.Parts {
			if sum := sha256.Sum256(all[:m.PartBytes(n)]); sum != p.SHA256 {
				t.Errorf("part %d has another digest", n)
			}
			all = all[m.PartBytes(n):]
		}
		if len(all) > 0 {
			t.Errorf("%d bytes are in no part", len(all))
		}
	}
}

// What an attacker may write into a manifest. Parts cannot overlap: they have no place.
func TestManifestsThatLie(t *testing.T) {
	good, _ := manifestOf(t, 11, 4) // 4, 4, 3
	number := func(at int, n uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint64(b[at:], n); return b }
	}
	part := func(n int) int { return manifestHead + n*manifestPart }
	for name, c := range map[string]struct {
		want   string
		change func([]byte) []byte
	}{
		"nothing":                     {"truncated", func([]byte) []byte { return nil }},
		"half of it":                  {"parts make", func(b []byte) []byte { return b[:len(b)/2] }},
		"a byte more":                 {"parts make", func(b []byte) []byte { return append(b, 0) }},
		"version 1":                   {"version 1", func(b []byte) []byte { b[0] = 1; return b }},
		"a batch":                     {"kind 2", func(b []byte) []byte { b[1] = 2; return b }},
		"a part is missing":           {"parts make", func(b []byte) []byte { return append(b[:part(1)], b[part(2):]...) }},
		"a part is missing, and told": {"are stated", func(b []byte) []byte { b = append(b[:part(1)], b[part(2):]...); b[64] = 2; return b }},
		"a part is there twice":       {"there twice", func(b []byte) []byte { copy(b[part(1):part(2)], b[part(0):part(1)]); return b }},
		"more parts than there are":   {"parts make", func(b []byte) []byte { b[64] = 4; return b }},
		"too many parts":              {"need 1 to", func(b []byte) []byte { binary.BigEndian.PutUint32(b[61:], MaxParts+1); return b }},
		"no parts":                    {"need 1 to", func(b []byte) []byte { b[64] = 0; return b[:manifestHead] }},
		"more envelopes than parts":   {"are stated", number(49, 12)},
		"fewer envelopes than parts":  {"are stated", number(49, 10)},
		"a part of nothing":           {"need 1 to", number(part(1), 0)},
		"a part that is too long":     {"need 1 to", number(part(0), MaxPartBytes)},
		"a part of 2^64 - 1":          {"need 1 to", number(part(0), math.MaxUint64)},
		"a longer part between":       {"all but the last", number(part(1), 5)},
		"a longer part at the end":    {"all but the last", number(part(2), 5)},
		"envelopes of no length":      {"envelopes of 0 bytes", func(b []byte) []byte { clear(b[57:61]); return b }},
		"envelopes that are too long": {"envelopes of", func(b []byte) []byte { b[57] = 1; return b }},
		"2^63 respondents":            {"2^56", number(41, 1<<63)},
	} {
		if _, err := ParseManifest(c.change(good.Bytes())); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Every number and digest of a manifest is under the receipt that is signed over it.
func TestReceiptsBearAManifestOut(t *testing.T) {
	h, _, keys := cascade(t, 2)
	m, _ := manifestOf(t, 10, 4)
	r := h.Receipts[1].Receipt
	r.BatchOut = m.Digest()
	h.Receipts[1] = r.Sign(relay.SignKey{})
	if err := CheckChain(h.Receipts, keys, m.Head, m.Digest()); err != nil {
		t.Fatal(err)
	}
	text := m.Bytes()
	for i := range text {
		changed := slices.Clone(text)
		changed[i] ^= 1
		got, err := ParseManifest(changed)
		if err == nil && CheckChain(h.Receipts, keys, got.Head, got.Digest()) == nil {
			t.Errorf("byte %d may be anything", i)
		}
	}
}

// A receipt has 8 bytes for a number where 4 are not enough, and only there.
func TestLongReceipts(t *testing.T) {
	r := relay.Receipt{Hop: 1, Respondents: 5e9, Tokens: 1, In: 3, Out: 1, Dropped: 1, Duplicates: 1, BatchIn: [32]byte{1}, BatchOut: [32]byte{2}, Previous: [32]byte{3}}
	key := signer(1)
	long := r.Sign(key)
	r.Respondents = math.MaxUint32
	short := r.Sign(key)
	if len(long.Bytes()) != relay.LongReceiptSize || len(short.Bytes()) != relay.ReceiptSize {
		t.Fatalf("%d and %d bytes", len(long.Bytes()), len(short.Bytes()))
	}
	both := append(long.Bytes(), short.Bytes()...)
	got, err := relay.SplitReceipts(both)
	if err != nil || len(got) != 2 || got[0] != long || got[1] != short {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, s := range got {
		if err := s.Verify(key.Public()); err != nil {
			t.Error(err)
		}
	}
	if _, err := relay.SplitReceipts(both[:len(both)-1]); err == nil {
		t.Error("half a receipt passes")
	}
	text := long.Bytes()
	binary.BigEndian.PutUint64(text[40:], 7)
	if _, err := relay.ParseReceipt(text); err == nil || !strings.Contains(err.Error(), "fit version 1") {
		t.Errorf("a short receipt in the long form: %v", err)
	}
	binary.BigEndian.PutUint64(text[40:], 1<<60)
	if _, err := relay.ParseReceipt(text); err == nil || !strings.Contains(err.Error(), "2^56") {
		t.Errorf("more than there are: %v", err)
	}
	for _, manifest := range []bool{true, false} {
		prefix := MarshalReceipts(got, manifest)
		rest := bytes.NewReader(append(prefix, 9))
		read, err := ReadReceipts(rest, manifest)
		if err != nil || len(read) != 2 || read[0] != long || rest.Len() != 1 {
			t.Errorf("%+v, %v, %d bytes left", read, err, rest.Len())
		}
		if _, err := ReadReceipts(bytes.NewReader(prefix), !manifest); err == nil || !strings.Contains(err.Error(), "kind") {
			t.Errorf("of the other kind: %v", err)
		}
		if _, err := ReadReceipts(bytes.NewReader(prefix[:len(prefix)-1]), manifest); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("cut short: %v", err)
		}
	}
	if _, _, err := CutReceipts(MarshalHandover([]relay.SignedReceipt{long}, nil)); err == nil {
		t.Error("a long receipt before a batch of version 1 passes")
	}
}

func FuzzManifest(f *testing.F) {
	m, _ := manifestOf(f, 11, 4)
	f.Add(m.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if m, err := ParseManifest(text); err == nil && !bytes.Equal(m.Bytes(), text) {
				t.Error("two manifests of one batch")
			}
		})
	})
}

func FuzzReadReceipts(f *testing.F) {
	f.Add(MarshalReceipts([]relay.SignedReceipt{relay.Receipt{In: 1, Out: 1}.Sign(relay.SignKey{}), relay.Receipt{Hop: 1, Respondents: 1 << 40}.Sign(relay.SignKey{})}, true))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			r := bytes.NewReader(text)
			if all, err := ReadReceipts(r, true); err == nil && !bytes.Equal(MarshalReceipts(all, true), text[:len(text)-r.Len()]) {
				t.Error("two forms of the same receipts")
			}
			if all, err := relay.SplitReceipts(text); err == nil {
				var again []byte
				for _, s := range all {
					again = append(again, s.Bytes()...)
				}
				if !bytes.Equal(again, text) {
					t.Error("two forms of the same receipts")
				}
			}
		})
	})
}

func FuzzMissing(f *testing.F) {
	f.Add([]byte(`{"missing":[0,2]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			m, err := ParseMissing(text, 7)
			if err == nil && (len(m.Parts) == 0 || !slices.IsSorted(m.Parts) || m.Parts[0] < 0 || m.Parts[len(m.Parts)-1] > 6) {
				t.Errorf("%v", m.Parts)
			}
		})
	})
}

func TestMissing(t *testing.T) {
	all := make([]int, MaxMissing)
	for i := range all {
		all[i] = MaxParts - MaxMissing + i
	}
	text, err := json.Marshal(Missing{all})
	if err != nil || len(text) > MaxMissingBytes {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if got, err := ParseMissing(text, MaxParts); err != nil || !slices.Equal(got.Parts, all) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "{}", `{"missing":[]}`, `{"missing":[7]}`, `{"missing":[-1]}`, `{"missing":[1,1]}`, `{"missing":[2,1]}`, `{"missing":[1.5]}`} {
		if m, err := ParseMissing([]byte(bad), 7); err == nil {
			t.Errorf("%s passes as %v", bad, m)
		}
	}
}

// The vectors were written by another program, from docs/wire-services.md alone (origin.py beside them).
func TestManifestVectors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "v2", "manifests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []messageVector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	good := 0
	for _, v := range all {
		var again []byte
		var digest [32]byte
		var err error
		if v.Kind == "manifest" {
			var m Manifest
			if m, err = ParseManifest(v.Bytes); err == nil {
				again, digest = m.Bytes(), m.Digest()
			}
		} else {
			manifest := v.Kind == "manifest receipts"
			var receipts []relay.SignedReceipt
			if receipts, err = ReadReceipts(bytes.NewReader(v.Bytes), manifest); err == nil {
				again = MarshalReceipts(receipts, manifest)
			}
		}
		if v.Error != "" {
			if err == nil || !strings.Contains(err.Error(), v.Error) {
				t.Errorf("%s, %s: %v, want %q", v.Kind, v.Comment, err, v.Error)
			}
			continue
		}
		good++
		if err != nil || !bytes.Equal(again, v.Bytes) || v.Digest != nil && !bytes.Equal(digest[:], v.Digest) {
			t.Errorf("%s, %s: does not come back (%v)", v.Kind, v.Comment, err)
		}
	}
	if good != 3 {
		t.Errorf("%d good vectors", good)
	}
}
