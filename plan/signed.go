package plan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const (
	// signing goes before the canonical form in what is signed, so that the
	// signature says of what it is one.
	signing     = "confetti/plan/v1\n"
	ed25519Name = "ed25519:"

	// MaxSignedBytes bounds the text of a signed plan: the plan, a key and a signature.
	MaxSignedBytes = MaxBytes + 512
)

var base64url = base64.RawURLEncoding.Strict()

// Signed is a plan as its publisher hands it out. The signature is Ed25519 over
// "confetti/plan/v1\n" and the canonical form.
type Signed struct {
	Plan      Plan
	Publisher string // public key, ed25519:base64url
	Signature []byte
}

// Publisher is the text form of a publisher's public key.
func Publisher(key ed25519.PublicKey) string { return ed25519Name + base64url.EncodeToString(key) }

// Sign signs a valid plan.
func Sign(p Plan, key ed25519.PrivateKey) Signed {
	return Signed{p, Publisher(key.Public().(ed25519.PublicKey)), ed25519.Sign(key, append([]byte(signing), p.Canonical()...))}
}

// Verify reports that the signature is not the publisher's, or that the
// publisher is not one of those trusted (text forms).
func (s Signed) Verify(trusted ...string) error {
	encoded, found := strings.CutPrefix(s.Publisher, ed25519Name)
	key, err := base64url.DecodeString(encoded)
	if !found || err != nil || len(key) != ed25519.PublicKeySize || s.Publisher != Publisher(key) {
		return errors.New("plan: the publisher is not a public key in the form ed25519:base64url")
	}
	if !ed25519.Verify(key, append([]byte(signing), s.Plan.Canonical()...), s.Signature) {
		return errors.New("plan: the signature does not belong to the plan and its publisher: the plan was changed on its way, or signed wrongly")
	}
	if !slices.Contains(trusted, s.Publisher) {
		return fmt.Errorf("plan: signed by %s, whom nobody here trusts: name its key among the trusted publishers if it should be", s.Publisher)
	}
	return nil
}

// Marshal writes the one byte form: a JSON object of publisher, signature and
// the plan in its canonical form, in this order and without white space.
func (s Signed) Marshal() []byte {
	b := fmt.Appendf(nil, `{"publisher":%q,"signature":%q,"plan":`, s.Publisher, base64url.EncodeToString(s.Signature))
	return append(append(b, s.Plan.Canonical()...), '}')
}

// IsSigned says whether the text begins as a signed plan does and a plan alone, in
// whatever language, does not.
func IsSigned(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"publisher":`)) }

// ReadSigned reads a file that holds a signed plan, as confetti plan sign writes it.
// It does not Verify. Errors begin with the path.
func ReadSigned(path string) (Signed, error) {
	f, err := os.Open(path)
	if err != nil {
		return Signed{}, fmt.Errorf("plan: %w", err) // names the path
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSignedBytes+1))
	if err != nil {
		return Signed{}, fmt.Errorf("plan: %w", err)
	}
	s, err := ParseSigned(text)
	if err != nil {
		return Signed{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ParseSigned reads what Marshal writes, and the same with a line's end after it, as
// a file has one. It does not Verify.
func ParseSigned(text []byte) (Signed, error) {
	if line, ended := bytes.CutSuffix(text, []byte("\n")); ended {
		text = bytes.TrimSuffix(line, []byte("\r"))
	}
	if len(text) > MaxSignedBytes {
		return Signed{}, fmt.Errorf("plan: text is longer than %d bytes", MaxSignedBytes)
	}
	var form struct {
		Publisher string          `json:"publisher"`
		Signature string          `json:"signature"`
		Plan      json.RawMessage `json:"plan"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		return Signed{}, fmt.Errorf("plan: not a signed plan, which is a JSON object of publisher, signature and plan: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Signed{}, errors.New("plan: text goes on after the signed plan")
	}
	p, err := Parse(form.Plan)
	if err != nil {
		return Signed{}, err
	}
	signature, err := base64url.DecodeString(form.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return Signed{}, fmt.Errorf("plan: the signature is not %d bytes in base64url", ed25519.SignatureSize)
	}
	s := Signed{Plan: p, Publisher: form.Publisher, Signature: signature}
	if one := s.Marshal(); !bytes.Equal(one, text) {
		return Signed{}, fmt.Errorf("plan: a signed plan, but not in its one form: %s: have the publisher write it anew (confetti plan sign)", difference(text, one))
	}
	return s, nil
}
