package ohttp

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"pgregory.net/rapid"
)

// drawn is a gateway's new key of a suite.
func drawn(t testing.TB, suite envelope.Suite) PrivateKey {
	t.Helper()
	key, err := envelope.GenerateKey(suite)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/key.json"
	if err := partykey.CreateOpening(path, key, "gateway"); err != nil {
		t.Fatal(err)
	}
	f, err := keyfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	private, err := NewPrivateKey(f.PublicKey, f.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// A request and its response come through of every suite, old keys beside new ones, and two of one
// identifier.
func TestThereAndBack(t *testing.T) {
	for _, suite := range []envelope.Suite{envelope.X25519, envelope.XWing} {
		old, key := drawn(t, suite), drawn(t, suite)
		old.id = key.id
		asked := Request{"PUT", "https", "north.example:8443", "/v1/plans/0", []Field{{"authorization", `PrivateToken token="AA"`}}, []byte("answer")}
		b, e, err := key.Encapsulate(asked)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("answer")) || bytes.Contains(b, []byte("plans")) {
			t.Error("the relay reads it")
		}
		got, at, err := Decapsulate([]PrivateKey{old, key}, b)
		if err != nil || cmp.Diff(asked, got) != "" {
			t.Fatal(err, cmp.Diff(asked, got))
		}
		said := Response{201, []Field{{"retry-after", "3"}}, []byte("kept")}
		sealed, err := at.Seal(said)
		if err != nil {
			t.Fatal(err)
		}
		again, err := at.Seal(said)
		if err != nil || bytes.Equal(sealed, again) {
			t.Error(err, "one salt is used twice")
		}
		if answer, err := e.Open(sealed); err != nil || cmp.Diff(said, answer) != "" {
			t.Error(err, cmp.Diff(said, answer))
		}
		// Another request's answer is none.
		_, other, err := key.Encapsulate(asked)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Open(sealed); err == nil {
			t.Error("one request opens the answer of another")
		}
		if _, _, err := Decapsulate([]PrivateKey{old}, b); !errors.Is(err, ErrKey) {
			t.Error(err)
		}
	}
}

// What goes by the relay has one length, whether it was taken or refused, and whichever the path.
func TestLengthsTellNothing(t *testing.T) {
	key := drawn(t, envelope.X25519)
	length := func(path string, content int) int {
		b, _, err := key.Encapsulate(Request{"PUT", "https", "a.example", path, nil, make([]byte, content)})
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	if a, b := length("/instances/3", 700), length("/instances/12", 700); a != b {
		t.Errorf("%d and %d bytes", a, b)
	}
	if a, b := length("/a", 700), length("/a", 700+block); a == b {
		t.Errorf("%d bytes both", a) // the test sees lengths
	}
	a, b := Response{Status: 201}.marshal(), Response{409, []Field{{"content-type", "application/problem+json"}}, make([]byte, 600)}.marshal()
	if len(a) != len(b) {
		t.Errorf("%d and %d bytes", len(a), len(b))
	}
}

func TestLongRequestsAreRefused(t *testing.T) {
	if _, _, err := drawn(t, envelope.X25519).Encapsulate(Request{Method: "PUT", Path: "/", Content: make([]byte, MaxRequest)}); err == nil {
		t.Error("it is sealed")
	}
}

func TestNoKeyIsPrinted(t *testing.T) {
	v := read[sealed](t, "ohttp.json")
	key := v.key(t)
	_, e, err := Decapsulate([]PrivateKey{key}, v.EncapsulatedRequest)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%x", "%s"} {
		text := fmt.Sprintf(verb+verb, key, e)
		for _, secret := range [][]byte{v.PrivateKey, e.secret()} {
			if bytes.Contains([]byte(text), secret) || bytes.Contains([]byte(text), fmt.Appendf(nil, "%x", secret)) {
				t.Errorf("%s prints a secret", verb)
			}
		}
	}
}

func TestKeysThatDoNotBelongTogether(t *testing.T) {
	v := read[sealed](t, "ohttp.json")
	other := drawn(t, envelope.X25519)
	public := keytext.Encode("x25519", other.public.Bytes())
	for name, c := range map[string]struct {
		public  string
		private []byte
	}{
		"two keys": {public, v.PrivateKey}, "a short one": {public, v.PrivateKey[:31]}, "no text": {"x25519:AA", v.PrivateKey}, "no suite": {"rsa2048:AA", nil},
	} {
		if _, err := NewPrivateKey(c.public, c.private); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// What is written is read, whatever it is.
func TestMessagesComeThrough(t *testing.T) {
	name, value := rapid.StringMatching(`[a-z-]{1,12}`), rapid.StringMatching(`[!-~]{0,30}`)
	rapid.Check(t, func(t *rapid.T) {
		var fields []Field
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			fields = append(fields, Field{name.Draw(t, "name"), value.Draw(t, "value")})
		}
		content := append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "content")...)
		asked := Request{"POST", "https", rapid.StringMatching(`[a-z.:0-9]{0,20}`).Draw(t, "authority"), "/" + value.Draw(t, "path"), fields, content}
		if got, err := parseRequest(asked.marshal()); err != nil || cmp.Diff(asked, got) != "" {
			t.Fatal(err, cmp.Diff(asked, got))
		}
		said := Response{rapid.IntRange(200, 599).Draw(t, "status"), fields, content}
		if got, err := parseResponse(said.marshal()); err != nil || cmp.Diff(said, got) != "" {
			t.Fatal(err, cmp.Diff(said, got))
		}
	})
}

func FuzzRequest(f *testing.F) {
	v := read[plain](f, "bhttp.json")
	for _, m := range v.Requests {
		f.Add([]byte(m.Bytes))
	}
	for _, b := range v.BadRequests {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			r, err := parseRequest(b)
			if err != nil {
				return
			}
			if again, err := parseRequest(r.marshal()); err != nil || cmp.Diff(r.Path, again.Path) != "" || !bytes.Equal(r.Content, again.Content) {
				t.Error("written again it is another")
			}
		})
	})
}

func FuzzResponse(f *testing.F) {
	v := read[plain](f, "bhttp.json")
	for _, m := range v.Responses {
		f.Add([]byte(m.Bytes))
	}
	for _, b := range v.BadResponses {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			r, err := parseResponse(b)
			if err != nil {
				return
			}
			if again, err := parseResponse(r.marshal()); err != nil || r.Status != again.Status || !bytes.Equal(r.Content, again.Content) {
				t.Error("written again it is another")
			}
		})
	})
}

// A gateway opens whatever comes, and a device whatever is answered.
func FuzzEncapsulated(f *testing.F) {
	v := read[sealed](f, "ohttp.json")
	keys := []PrivateKey{v.key(f)}
	_, e, err := Decapsulate(keys, v.EncapsulatedRequest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(v.EncapsulatedRequest), []byte(v.EncapsulatedResponse))
	f.Fuzz(func(t *testing.T, request, response []byte) {
		costlimit.Heap(t, costlimit.Factor, len(request)+len(response), func() {
			Decapsulate(keys, request)
			e.Open(response)
		})
	})
}
