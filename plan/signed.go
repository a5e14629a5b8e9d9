package plan

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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

	// MaxSignedBytes bounds the text of a signed plan: the plan, keys, signatures and evidence.
	MaxSignedBytes = MaxBytes + 4096 + MaxEvidenceBytes
)

var base64url = base64.RawURLEncoding.Strict()

// Signed is a plan as its publishers hand it out. A signature is Ed25519 over
// "confetti/plan/v1\n" and the canonical form. The plan's name does not depend on who
// has signed it.
type Signed struct {
	Plan      Plan
	Publisher string // public key, ed25519:base64url
	Signature []byte
	Others    []Signature // of further publishers; all are in the order of their keys' texts

	// Of a round, the study that the publishers have signed in the place of the plan,
	// and its coordinator's signature of the plan.
	Study       *Study
	Coordinated []byte

	Evidence *Evidence // that it stands in a log; nil: none was given
}

// Signature is one publisher's.
type Signature struct {
	Publisher string // public key, ed25519:base64url
	Signature []byte
}

// Publisher returns the text form of a publisher's public key.
func Publisher(key ed25519.PublicKey) string { return ed25519Name + base64url.EncodeToString(key) }

// Sign signs a valid plan.
func Sign(p Plan, key ed25519.PrivateKey) Signed {
	one := sign(signing, p.Canonical(), key)
	return Signed{Plan: p, Publisher: one.Publisher, Signature: one.Signature}
}

func sign(what string, text []byte, key ed25519.PrivateKey) Signature {
	return Signature{Publisher(key.Public().(ed25519.PublicKey)), ed25519.Sign(key, append([]byte(what), text...))}
}

// Sign adds another publisher's signature. One of the same publisher is replaced.
func (s Signed) Sign(key ed25519.PrivateKey) (Signed, error) {
	one := sign(signing, s.Plan.Canonical(), key)
	if s.Study != nil {
		one = sign(studying, s.Study.Canonical(), key)
	}
	all := slices.DeleteFunc(s.Signatures(), func(o Signature) bool { return o.Publisher == one.Publisher })
	if len(all) == maxSignatures {
		return Signed{}, fmt.Errorf("plan: it has %d signatures, the most that it may have", maxSignatures)
	}
	all = append(all, one)
	slices.SortFunc(all, func(a, b Signature) int { return strings.Compare(a.Publisher, b.Publisher) })
	signed := signedBy(s.Plan, all)
	signed.Study, signed.Coordinated = s.Study, s.Coordinated
	return signed, nil
}

func signedBy(p Plan, all []Signature) Signed {
	s := Signed{Plan: p, Publisher: all[0].Publisher, Signature: all[0].Signature}
	if len(all) > 1 {
		s.Others = all[1:]
	}
	return s
}

// Signatures returns all of them.
func (s Signed) Signatures() []Signature {
	return append([]Signature{{s.Publisher, s.Signature}}, s.Others...)
}

// Signers returns the public keys of those who have signed, in their order.
func (s Signed) Signers() []string { return signers(s.Signatures()) }

func signers(all []Signature) []string {
	keys := make([]string, len(all))
	for i, one := range all {
		keys[i] = one.Publisher
	}
	return keys
}

// Verify reports that the plan does not stand before those publishers (see
// Publishers.Stands), that a signature is not its publisher's, or that it does not stand
// in the log that they ask for (a *NotLoggedError).
func (s Signed) Verify(p Publishers) error {
	if err := p.Stands(s); err != nil {
		return err
	}
	if err := s.signed(); err != nil {
		return err
	}
	if p.Log.Key == "" {
		return nil
	}
	return p.Log.Verify(s.Entry(), s.Evidence)
}

// signed reports that a signature is not its publisher's or coordinator's.
func (s Signed) signed() error {
	if s.Study == nil {
		return cmp.Or(s.coordinated(), verify(signing, "plan", s.Signatures(), s.Plan.Canonical()))
	}
	return cmp.Or(verify(studying, "study", s.Signatures(), s.Study.Canonical()), s.coordinated())
}

// verify checks every signature of a text, of whomever.
func verify(what, name string, all []Signature, text []byte) error {
	message := append([]byte(what), text...)
	for _, one := range all {
		key, ok := parsePublisher(one.Publisher)
		if !ok {
			return errors.New("plan: the publisher is not a public key in the form ed25519:base64url")
		}
		if !ed25519.Verify(key, message, one.Signature) {
			return fmt.Errorf("plan: the signature does not belong to the %s and its publisher: the %s was changed on its way, or signed wrongly", name, name)
		}
	}
	return nil
}

func parsePublisher(text string) (ed25519.PublicKey, bool) {
	encoded, found := strings.CutPrefix(text, ed25519Name)
	key, err := base64url.DecodeString(encoded)
	return key, found && err == nil && len(key) == ed25519.PublicKeySize && text == Publisher(key)
}

// Marshal writes the one byte form: a JSON object of signatures and plan in this order
// and without white space. One signature is written as publisher and signature,
// several as a list of such objects. A round is written as its study, signed in this way,
// with the round's number, state, times, name and coordinator's signature behind it.
// Evidence comes last.
func (s Signed) Marshal() []byte {
	if s.Study != nil {
		b := append(appendHead(nil, s.Signatures(), "study"), s.Study.Canonical()...)
		return append(appendEvidence(s.appendRound(b), s.Evidence), '}')
	}
	b := appendHead(nil, s.Signatures(), "plan")
	return append(appendEvidence(append(b, s.Plan.Canonical()...), s.Evidence), '}')
}

// Unparsed is a signed plan of which the signatures have been read, and nothing else:
// the plan is what somebody sent. Whoever gets it from a stranger calls Verify before
// Parse, so that only a trusted publisher's text is parsed.
type Unparsed struct {
	Signatures []Signature
	canonical  []byte     // of the plan, or of the round's study
	round      *roundForm // nil: a plan by itself
	entry      []byte     // all of it without evidence, and without the brace that closes it
	evidence   *Evidence  // nil: none was given
}

// ReadHead reads the signatures from the beginning of a signed plan, which need not be
// longer than MaxHeadBytes.
func ReadHead(text []byte) (Unparsed, error) {
	all, _, _, err := planHead(text)
	return Unparsed{Signatures: all}, err
}

// SplitSigned reads the signatures of a signed plan. It keeps the text.
func SplitSigned(text []byte) (Unparsed, error) {
	if len(text) > MaxSignedBytes {
		return Unparsed{}, fmt.Errorf("plan: text is longer than %d bytes", MaxSignedBytes)
	}
	all, rest, study, err := planHead(text)
	if err != nil {
		return Unparsed{}, err
	}
	inside, closed := bytes.CutSuffix(rest, []byte("}"))
	if !closed {
		return Unparsed{}, errors.New("plan: not a signed plan in its one form: it does not end with the brace that closes it, and nothing after that")
	}
	canonical, evidence, err := splitEvidence(inside)
	if err != nil {
		return Unparsed{}, err
	}
	u := Unparsed{Signatures: all, canonical: canonical, entry: text[:len(text)-len(rest)+len(canonical)], evidence: evidence}
	if study {
		u.round = new(roundForm)
		u.canonical, *u.round, err = splitRound(canonical)
	}
	return u, err
}

// planHead reads the signatures before a plan or before a study.
func planHead(text []byte) (all []Signature, rest []byte, study bool, err error) {
	if all, rest, err = readHead(text, "plan", "signed plan", maxSignatures); err == nil {
		return all, rest, false, nil
	}
	if all, rest, of := readHead(text, "study", "signed round", maxSignatures); of == nil {
		return all, rest, true, nil
	}
	return nil, nil, false, err
}

// Signers returns the public keys of those who have signed, in their order.
func (u Unparsed) Signers() []string { return signers(u.Signatures) }

// Verify checks the signatures over the bytes as they came, after enough of them are
// of publishers who are known. What depends on the plan, Publishers.Stands asks later.
func (u Unparsed) Verify(p Publishers) error {
	if err := p.Know(u.Signers()); err != nil {
		return err
	}
	what, name := signing, "plan"
	if u.round != nil {
		what, name = studying, "study"
	}
	if err := verify(what, name, u.Signatures, u.canonical); err != nil || p.Log.Key == "" {
		return err
	}
	return p.Log.Verify(entry(u.Hash(), append(bytes.Clone(u.entry), '}')), u.evidence)
}

// Hash returns the SHA-256 of the plan's bytes as they came, or what a round says that it is:
// the plan's name, if Parse takes it.
func (u Unparsed) Hash() (hash [32]byte) {
	if u.round == nil {
		return sha256.Sum256(u.canonical)
	}
	hex.Decode(hash[:], []byte(u.round.Plan[:min(len(u.round.Plan), 64)])) // a bad one is nobody's name
	return hash
}

// Parse parses and validates the plan.
func (u Unparsed) Parse() (Signed, error) {
	if u.round != nil {
		signed, err := u.round.parse(u.canonical, u.Signatures)
		signed.Evidence = u.evidence
		return signed, err
	}
	p, err := Parse(u.canonical)
	if err != nil {
		return Signed{}, err
	}
	if p.Route.Table != nil {
		return Signed{}, errTable
	}
	signed := signedBy(p, u.Signatures)
	signed.Evidence = u.evidence
	return signed, signed.coordinated()
}

// IsSigned says whether the text begins as a signed plan does and a plan alone, in
// whatever language, does not.
func IsSigned(text []byte) bool {
	return bytes.HasPrefix(text, []byte(oneBegins)) || bytes.HasPrefix(text, []byte(severalBegin))
}

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
