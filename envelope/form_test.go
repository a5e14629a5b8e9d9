package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// formVector is a contribution that the origin script has sealed, with keys that everybody knows.
type formVector struct {
	Comment    string     `json:"comment"`
	Source     string     `json:"source"`
	Suite      Suite      `json:"suite"`
	SuiteID    hexBytes   `json:"suite_id"`
	Plan       hexBytes   `json:"plan"`
	Instance   uint16     `json:"instance"`
	Crowd      uint32     `json:"crowd"`
	PrivateKey hexBytes   `json:"private_key"`
	PublicKey  string     `json:"public_key"`
	Ephemeral  hexBytes   `json:"ephemeral"`
	Envelopes  []hexBytes `json:"envelopes"`
	Info       hexBytes   `json:"info"`
	Header     hexBytes   `json:"header"`
	Enc        hexBytes   `json:"encapsulated_key"`
	Body       hexBytes   `json:"body"`
	Bad        []struct {
		Comment  string   `json:"comment"`
		Plan     hexBytes `json:"plan"`
		Instance uint16   `json:"instance"`
		Crowd    uint32   `json:"crowd"`
		Number   int      `json:"number"`
		Size     int      `json:"size"`
		Body     hexBytes `json:"body"`
		Error    string   `json:"error"`
	} `json:"bad"`
}

func readForm(t testing.TB, suite Suite) (v formVector, f Form) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("testdata/vectors/v2/%s.json", suite))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v, Form{Plan: [32]byte(v.Plan), Instance: v.Instance, Suite: suite, Envelopes: len(v.Envelopes), Size: len(v.Envelopes[0])}
}

func TestFormVectors(t *testing.T) {
	for _, suite := range suites {
		v, f := readForm(t, suite)
		key, err := NewPrivateKey(suite, v.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		if key.Public().String() != v.PublicKey || !bytes.Equal(f.info(), v.Info) || !bytes.Equal(f.head(v.Crowd), v.Header) || f.Bytes() != len(v.Body) {
			t.Errorf("%s: key, info, header or length differ", suite)
		}
		if got, crowd, err := ParseForm(v.Body); err != nil || got != f || crowd != v.Crowd {
			t.Errorf("%s: %+v, crowd %d: %v", suite, got, crowd, err)
		}
		inner, err := f.Open(key, v.Crowd, v.Body)
		if err != nil || fmt.Sprintf("%x", inner) != fmt.Sprintf("%x", v.Envelopes) {
			t.Errorf("%s: %x: %v", suite, inner, err)
		}
		if len(v.Bad) < 25 {
			t.Fatalf("%s: %d bad vectors", suite, len(v.Bad))
		}
		for _, bad := range v.Bad {
			want := Form{[32]byte(bad.Plan), bad.Instance, suite, bad.Number, bad.Size}
			got, crowd, err := ParseForm(bad.Body)
			if err == nil && (got != want || crowd != bad.Crowd) {
				err = errors.New("other")
			}
			_, shut := want.Open(key, bad.Crowd, bad.Body)
			if err == nil {
				err = shut
			}
			if err == nil || shut == nil || !strings.Contains(err.Error(), bad.Error) {
				t.Errorf("%s: %s: %v and %v, want %q", suite, bad.Comment, err, shut, bad.Error)
			}
		}
	}
}

// sealedForm is a contribution of some envelopes.
func sealedForm(t testing.TB, suite Suite, envelopes, size int) (Form, PrivateKey, [][]byte, []byte) {
	t.Helper()
	private, public := newKeys(t, suite, 1)
	f := Form{Plan: [32]byte{1}, Instance: 2, Suite: suite, Envelopes: envelopes, Size: size}
	inner := make([][]byte, envelopes)
	for i := range inner {
		inner[i] = bytes.Repeat([]byte{byte(i + 1)}, size)
	}
	body, err := f.Seal(public[0], 3, inner)
	if err != nil {
		t.Fatal(err)
	}
	return f, private[0], inner, body
}

func TestFormsComeBack(t *testing.T) {
	for _, suite := range suites {
		f, key, inner, body := sealedForm(t, suite, 5, 70)
		got, err := f.Open(key, 3, body)
		if err != nil || !slices.EqualFunc(got, inner, bytes.Equal) {
			t.Errorf("%s: %v", suite, err)
		}
		if _, err := f.Open(key, 4, body); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: in another crowd: %v", suite, err)
		}
		again, err := f.Seal(key.Public(), 3, inner)
		if err != nil || bytes.Equal(again[commonHeader:], body[commonHeader:]) {
			t.Errorf("%s: two seals are alike: %v", suite, err)
		}
		cover, err := f.Cover(3, rapidReader{7})
		if err != nil || len(cover) != len(body) || !bytes.Equal(cover[:commonHeader], body[:commonHeader]) {
			t.Errorf("%s: cover of %d bytes beside %d: %v", suite, len(cover), len(body), err)
		}
		if parsed, crowd, err := ParseForm(cover); err != nil || parsed != f || crowd != 3 {
			t.Errorf("%s: cover: %v", suite, err)
		}
		if _, err := f.Open(key, 3, cover); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: cover opens: %v", suite, err)
		}
	}
}

type rapidReader struct{ b byte }

func (r rapidReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.b
	}
	return len(p), nil
}

// Whatever single byte is changed, the whole contribution is refused.
func TestEveryByteOfAFormCounts(t *testing.T) {
	f, key, _, body := sealedForm(t, X25519, 3, 50)
	if _, err := f.Open(key, 3, body); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	for at := range body {
		changed := bytes.Clone(body)
		changed[at] ^= 1
		if _, err := f.Open(key, 3, changed); err == nil {
			t.Errorf("byte %d does not matter", at)
		}
	}
}

func TestFormsThatAreRefused(t *testing.T) {
	private, public := newKeys(t, X25519, 1)
	good := Form{Suite: X25519, Envelopes: 2, Size: sizes.Min}
	one := make([]byte, sizes.Min)
	for want, seal := range map[string]func() error{
		"without envelopes": func() error { return Form{Suite: X25519, Size: sizes.Min}.Validate() },
		"unknown suite":     func() error { return Form{Envelopes: 1, Size: sizes.Min}.Validate() },
		"need 48 to 131072": func() error { return Form{Suite: X25519, Envelopes: 1, Size: sizes.Min - 1}.Validate() },
		"the limit: fewer":  func() error { return Form{Suite: XWing, Envelopes: 1 << 10, Size: 1 << 14}.Validate() },
		"truncated":         func() error { _, err := good.Seal(public[0], 0, [][]byte{one, one[1:]}); return err },
		"1 envelopes in":    func() error { _, err := good.Seal(public[0], 0, [][]byte{one}); return err },
		"is of suite":       func() error { _, err := good.Seal(PublicKey{}, 0, [][]byte{one, one}); return err },
		"is not of suite":   func() error { _, err := good.Open(PrivateKey{}, 0, make([]byte, good.Bytes())); return err },
		"oversized":         func() error { _, err := good.Open(private[0], 0, make([]byte, good.Bytes()+1)); return err },
	} {
		if err := seal(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// The longest contribution is refused one envelope later.
	n := (sizes.MaxContribution - commonHeader - X25519.Overhead()) / 1024
	for more, ok := range []bool{true, false} {
		if err := (Form{Suite: X25519, Envelopes: n + more, Size: 1024}).Validate(); (err == nil) != ok {
			t.Errorf("%d envelopes: %v", n+more, err)
		}
	}
}

// A form and an envelope share no context: neither opens as the other.
func TestFormsAndEnvelopesStayApart(t *testing.T) {
	f, key, inner, body := sealedForm(t, X25519, 1, 60)
	envelope, err := Seal(Route(f.Plan, f.Instance, 3, key.Public()), inner[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(key, 3, append(f.head(3), envelope...)); !errors.Is(err, ErrOpen) {
		t.Errorf("an envelope opens as a contribution: %v", err)
	}
	if _, err := mustOpener(t, key, Context{Plan: f.Plan, Instance: f.Instance}, len(envelope)).Open(3, body[commonHeader:]); !errors.Is(err, ErrOpen) {
		t.Errorf("a contribution opens as an envelope: %v", err)
	}
}

// A sealer may begin behind the entry, and says so where its layers do not follow each other.
func TestSealersFromALaterHop(t *testing.T) {
	private, public := newKeys(t, X25519, 3)
	layers := Route([32]byte{1}, 0, 2, public...)
	sealed, err := Seal(layers[1:], []byte("inside"))
	if err != nil {
		t.Fatal(err)
	}
	for h := 1; h < 3; h++ {
		if sealed, err = mustOpener(t, private[h], layers[h].Context, len(sealed)).Open(2, sealed); err != nil {
			t.Fatal(err)
		}
	}
	if string(sealed) != "inside" {
		t.Errorf("%q", sealed)
	}
	if _, err := NewSealer([]Layer{layers[1], layers[1]}, 8); err == nil || !strings.Contains(err.Error(), "is not hop 2") {
		t.Errorf("%v", err)
	}
}

func FuzzParseForm(f *testing.F) {
	for _, suite := range suites {
		v, _ := readForm(f, suite)
		f.Add([]byte(v.Body))
		for _, bad := range v.Bad {
			f.Add([]byte(bad.Body))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			form, crowd, err := ParseForm(data)
			if err == nil && (form.Bytes() != len(data) || form.Validate() != nil || !bytes.Equal(form.head(crowd), data[:commonHeader])) {
				t.Fatalf("accepted, but is of another form: %+v", form)
			}
		})
	})
}

// A parser that trusted the header would reserve what it says.
func TestFormsReserveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := Form{Envelopes: int(rapid.Uint32().Draw(t, "envelopes")), Size: int(rapid.Uint32().Draw(t, "size"))}.head(0)
		if allocated := testing.AllocsPerRun(1, func() { ParseForm(head) }); allocated > 20 {
			t.Errorf("%v allocations", allocated)
		}
	})
}
