package token

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The vectors outlive the code: do not write them anew to make a test pass.
//
//	go test ./internal/token -run TestWriteVectors -write-vectors
var writeVectors = flag.Bool("write-vectors", false, "write testdata/vectors anew")

var vectorPath = filepath.Join("testdata", "vectors", "v1", "token.json")

// text is bytes in base64url, as keys are written.
type text []byte

func (b text) MarshalText() ([]byte, error) {
	return []byte(base64.RawURLEncoding.EncodeToString(b)), nil
}

func (b *text) UnmarshalText(s []byte) (err error) {
	*b, err = base64.RawURLEncoding.Strict().DecodeString(string(s))
	return err
}

// vector is one token on its whole way, and tokens that its key must refuse.
type vector struct {
	Comment    string      `json:"comment"`
	PrivateKey text        `json:"private_key"` // PKCS #8
	PublicKey  string      `json:"public_key"`
	Plan       text        `json:"plan"`
	Instance   uint16      `json:"instance"`
	Hop        uint8       `json:"hop"`
	Seed       text        `json:"seed"`
	Blinded    text        `json:"blinded"`
	Answer     text        `json:"answer"`
	Token      text        `json:"token"`
	Message    text        `json:"message"` // that the token's second part signs
	Bad        []badVector `json:"bad"`
}

type badVector struct {
	Comment  string `json:"comment"`
	Plan     text   `json:"plan"`
	Instance uint16 `json:"instance"`
	Hop      uint8  `json:"hop"`
	Token    text   `json:"token"`
}

func (v vector) context() Context { return Context{[32]byte(v.Plan), v.Instance, v.Hop} }

func readVector(t testing.TB) (vector, PrivateKey) {
	t.Helper()
	data, err := os.ReadFile(vectorPath)
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(v.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return v, wrapPrivateKey(key.(*rsa.PrivateKey))
}

func TestWriteVectors(t *testing.T) {
	if !*writeVectors {
		t.Skip("writes testdata; ask for it with -write-vectors")
	}
	key, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key.key())
	if err != nil {
		t.Fatal(err)
	}
	v := vector{
		Comment:    "one token through blinding, signing and unblinding; the bad ones must be refused under the same key",
		PrivateKey: der, PublicKey: key.Public().String(),
		Plan: counting(0xa0, 32), Instance: 258, Hop: 3, Seed: counting(1, 32),
	}
	request, err := NewRequest(Seed(v.Seed), key.Public(), v.context())
	if err != nil {
		t.Fatal(err)
	}
	v.Blinded = request.Blinded
	if v.Answer, err = key.Sign(v.Blinded); err != nil {
		t.Fatal(err)
	}
	if v.Token, err = request.Finish(v.Answer); err != nil {
		t.Fatal(err)
	}
	v.Message = v.context().message(v.Token[:nonceBytes])
	bad := func(comment string, change func(*badVector)) {
		b := badVector{comment, slices.Clone(v.Plan), v.Instance, v.Hop, slices.Clone(v.Token)}
		change(&b)
		v.Bad = append(v.Bad, b)
	}
	bad("another plan", func(b *badVector) { b.Plan[31] ^= 1 })
	bad("another instance", func(b *badVector) { b.Instance++ })
	bad("another hop", func(b *badVector) { b.Hop++ })
	bad("another nonce", func(b *badVector) { b.Token[0] ^= 1 })
	bad("a changed signature", func(b *badVector) { b.Token[Size-1] ^= 1 })
	bad("a byte short", func(b *badVector) { b.Token = b.Token[:Size-1] })
	bad("a byte long", func(b *badVector) { b.Token = append(b.Token, 0) })
	bad("empty", func(b *badVector) { b.Token = text{} })
	bad("zeros, as in an empty slot", func(b *badVector) { clear(b.Token) })
	bad("the issuer's answer without unblinding", func(b *badVector) { copy(b.Token[nonceBytes:], v.Answer) })
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(vectorPath), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorPath, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// counting returns n bytes that count up from first: easy to tell apart in a dump.
func counting(first byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

func TestVector(t *testing.T) {
	v, private := readVector(t)
	key, err := ParsePublicKey(v.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if private.Public().String() != v.PublicKey {
		t.Error("the private key has another public key")
	}
	request, err := NewRequest(Seed(v.Seed), key, v.context())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(request.Blinded, v.Blinded) {
		t.Error("the blinded request differs")
	}
	answer, err := private.Sign(request.Blinded)
	if err != nil || !bytes.Equal(answer, v.Answer) {
		t.Errorf("the answer differs (%v)", err)
	}
	token, err := request.Finish(answer)
	if err != nil || !bytes.Equal(token, v.Token) {
		t.Errorf("the token differs (%v)", err)
	}
	if !bytes.Equal(v.context().message(token[:nonceBytes]), v.Message) {
		t.Error("the signed message differs")
	}
	if err := key.Verify(v.context(), v.Token); err != nil {
		t.Error(err)
	}
	if len(v.Bad) == 0 {
		t.Fatal("no bad vectors")
	}
	for _, b := range v.Bad {
		if err := key.Verify(Context{[32]byte(b.Plan), b.Instance, b.Hop}, b.Token); !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v, want errInvalid", b.Comment, err)
		}
	}
}
