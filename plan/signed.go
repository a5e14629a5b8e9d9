package plan

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
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

// Verify reports that the publisher is not one of those trusted (text forms), or
// that the signature is not the publisher's.
func (s Signed) Verify(trusted ...string) error {
	return verify(s.Publisher, s.Signature, s.Plan.Canonical(), trusted)
}

func verify(publisher string, signature, canonical []byte, trusted []string) error {
	encoded, found := strings.CutPrefix(publisher, ed25519Name)
	key, err := base64url.DecodeString(encoded)
	if !found || err != nil || len(key) != ed25519.PublicKeySize || publisher != Publisher(key) {
		return errors.New("plan: the publisher is not a public key in the form ed25519:base64url")
	}
	if err := Trusted(publisher, trusted...); err != nil {
		return err
	}
	if !ed25519.Verify(key, append([]byte(signing), canonical...), signature) {
		return errors.New("plan: the signature does not belong to the plan and its publisher: the plan was changed on its way, or signed wrongly")
	}
	return nil
}

// Trusted reports that a publisher is not one of those trusted (text forms).
func Trusted(publisher string, trusted ...string) error {
	if !slices.Contains(trusted, publisher) {
		return fmt.Errorf("plan: signed by %s, whom nobody here trusts: name its key among the trusted publishers if it should be", publisher)
	}
	return nil
}

// Marshal writes the one byte form: a JSON object of publisher, signature and
// the plan in its canonical form, in this order and without white space.
func (s Signed) Marshal() []byte {
	b := fmt.Appendf(nil, headForm, s.Publisher, base64url.EncodeToString(s.Signature))
	return append(append(b, s.Plan.Canonical()...), '}')
}

// headForm is what stands before the plan in a signed plan.
const headForm = `{"publisher":"%s","signature":"%s","plan":`

// HeadBytes is the length of what stands before the plan in every signed plan:
// publisher and signature have one length.
var HeadBytes = len(fmt.Sprintf(headForm, Publisher(make([]byte, ed25519.PublicKeySize)), base64url.EncodeToString(make([]byte, ed25519.SignatureSize))))

// Unparsed is a signed plan of which publisher and signature have been read, and
// nothing else: the plan is what somebody sent. Whoever gets it from a stranger
// calls Verify before Parse, so that only a trusted publisher's text is parsed.
type Unparsed struct {
	Publisher string // public key, ed25519:base64url
	Signature []byte
	canonical []byte
}

// ReadHead reads publisher and signature from the first HeadBytes of a signed plan.
func ReadHead(head []byte) (Unparsed, error) {
	wrong := errors.New("plan: not a signed plan, which is a JSON object of publisher, signature and plan in its one form")
	if len(head) != HeadBytes {
		return Unparsed{}, wrong
	}
	const before, between = `{"publisher":"`, `","signature":"`
	key := head[len(before) : len(before)+len(ed25519Name)+base64url.EncodedLen(ed25519.PublicKeySize)]
	encoded := head[len(before)+len(key)+len(between):]
	signature, err := base64url.AppendDecode(nil, encoded[:base64url.EncodedLen(ed25519.SignatureSize)])
	if err != nil {
		return Unparsed{}, wrong
	}
	u := Unparsed{Publisher: string(key), Signature: signature}
	raw, err := base64url.DecodeString(strings.TrimPrefix(u.Publisher, ed25519Name))
	if err != nil || Publisher(raw) != u.Publisher {
		return Unparsed{}, wrong
	}
	if one := fmt.Appendf(nil, headForm, u.Publisher, base64url.EncodeToString(signature)); !bytes.Equal(one, head) {
		return Unparsed{}, fmt.Errorf("%w: %s: have the publisher write it anew (confetti plan sign)", wrong, difference(head, one))
	}
	return u, nil
}

// SplitSigned reads publisher and signature of a signed plan. It keeps the text.
func SplitSigned(text []byte) (Unparsed, error) {
	if len(text) > MaxSignedBytes {
		return Unparsed{}, fmt.Errorf("plan: text is longer than %d bytes", MaxSignedBytes)
	}
	u, err := ReadHead(text[:min(len(text), HeadBytes)])
	if err != nil {
		return Unparsed{}, err
	}
	canonical, closed := bytes.CutSuffix(text[HeadBytes:], []byte("}"))
	if !closed {
		return Unparsed{}, errors.New("plan: not a signed plan in its one form: it does not end with the brace that closes it, and nothing after that")
	}
	u.canonical = canonical
	return u, nil
}

// Verify is Signed.Verify, of the bytes as they came.
func (u Unparsed) Verify(trusted ...string) error {
	return verify(u.Publisher, u.Signature, u.canonical, trusted)
}

// Hash is the SHA-256 of the plan's bytes as they came: its name, if Parse takes it.
func (u Unparsed) Hash() [32]byte { return sha256.Sum256(u.canonical) }

// Parse parses and validates the plan.
func (u Unparsed) Parse() (Signed, error) {
	p, err := Parse(u.canonical)
	if err != nil {
		return Signed{}, err
	}
	return Signed{Plan: p, Publisher: u.Publisher, Signature: u.Signature}, nil
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
// a file has one. It does not verify: what comes from a stranger goes through
// SplitSigned, Unparsed.Verify and Unparsed.Parse.
func ParseSigned(text []byte) (Signed, error) {
	if line, ended := bytes.CutSuffix(text, []byte("\n")); ended {
		text = bytes.TrimSuffix(line, []byte("\r"))
	}
	u, err := SplitSigned(text)
	if err != nil {
		return Signed{}, err
	}
	return u.Parse()
}
