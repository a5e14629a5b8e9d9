package tokenwire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/token"
)

// messageVector is an encoded message of tokens, or bytes that are none.
type messageVector struct {
	Comment string
	Kind    string // "token request" or "token response"
	Bytes   hexBytes
	Error   string // words of the refusal; empty for good ones
}

// hexBytes is bytes written in hexadecimal.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// counting returns n bytes that count up from first: easy to tell apart in a dump.
func counting(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

// readVectors returns the messages of tokens among those that package handover writes.
func readVectors(t testing.TB) (tokens []messageVector) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "handover", "testdata", "vectors", "v1", "messages.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []messageVector
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if strings.HasPrefix(v.Kind, "token ") {
			tokens = append(tokens, v)
		}
	}
	return tokens
}

// decode reads a message of the kind and encodes what it has read.
func decode(kind string, data []byte) (again []byte, err error) {
	if kind == "token request" {
		q, err := ParseRequest(data)
		return q.Marshal(), err
	}
	a, err := ParseResponse(data)
	return a.Marshal(), err
}

func TestTokenVectors(t *testing.T) {
	good := 0
	for _, v := range readVectors(t) {
		again, err := decode(v.Kind, v.Bytes)
		if v.Error != "" {
			if err == nil || !strings.Contains(err.Error(), v.Error) {
				t.Errorf("%s, %s: %v, want %q", v.Kind, v.Comment, err, v.Error)
			}
			continue
		}
		good++
		if err != nil || !bytes.Equal(again, v.Bytes) {
			t.Errorf("%s, %s: does not come back (%v)", v.Kind, v.Comment, err)
		}
	}
	if good < 2 {
		t.Fatalf("%d good vectors", good)
	}
}

func fuzz(f *testing.F, kind string) {
	for _, v := range readVectors(f) {
		if v.Kind == kind {
			f.Add([]byte(v.Bytes))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			if again, err := decode(kind, data); err == nil && !bytes.Equal(again, data) {
				t.Error("accepted, but encodes to other bytes")
			}
		})
	})
}

func FuzzRequest(f *testing.F)  { fuzz(f, "token request") }
func FuzzResponse(f *testing.F) { fuzz(f, "token response") }

func FuzzAuthorization(f *testing.F) {
	f.Add(Authorization(counting(0, token.Size)))
	f.Add("Bearer x")
	f.Fuzz(func(t *testing.T, header string) {
		costlimit.Heap(t, costlimit.Factor, len(header), func() {
			if b, ok := ParseAuthorization(header); ok && Authorization(b) != header {
				t.Error("accepted, but encodes to another header")
			}
		})
	})
}
