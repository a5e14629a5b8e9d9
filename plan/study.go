package plan

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// Study is a question that is asked in rounds. Its publishers sign it once, and a
// respondent agrees to it once. Each round is a plan that its coordinator signs. A round
// has the study's plan but for its number, its state and its times, so that what a
// round costs is known before the first.
type Study struct {
	Version     int    `json:"version"`
	Plan        Plan   `json:"plan"`             // of every round, without round, state and times
	Rounds      int    `json:"rounds"`           // at most so many
	Takes       string `json:"takes"`            // which rounds a respondent answers: TakesOne, TakesAll
	Withheld    string `json:"withheld"`         // what follows a round that is withheld: WithheldRepeats, WithheldEnds
	Merged      bool   `json:"merged,omitempty"` // beside each release there is one of all rounds so far
	Coordinator string `json:"coordinator"`      // public key that signs rounds, ed25519:base64url
	Times       Times  `json:"times,omitzero"`   // of all rounds
}

// Round says which round of which study a plan is.
type Round struct {
	Study  string `json:"study"`  // the study's name
	Number int    `json:"number"` // from 1
}

const (
	// TakesOne lets each respondent answer one round, which its device draws when it joins.
	// Rounds then have other respondents each, and one costs what the study costs.
	TakesOne = "one"
	// TakesAll lets each respondent answer every round. The first answer is charged for all.
	TakesAll = "all"

	// WithheldRepeats asks in the next round what the withheld one asked.
	WithheldRepeats = "repeat"
	// WithheldEnds ends the study.
	WithheldEnds = "end"

	// MaxRounds bounds the rounds of a study.
	MaxRounds = 1 << 16
	// MaxState bounds a public state, in bytes.
	MaxState = 64 << 20

	// StudyVersion is the form of studies that this package reads and writes.
	StudyVersion = 1

	studying = "confetti/study/v1\n"
	rounding = "confetti/round/v1\n"
)

// StateName returns how a plan names a public state: the SHA-256 of its bytes in hex.
func StateName(state []byte) string {
	sum := sha256.Sum256(state)
	return hex.EncodeToString(sum[:])
}

// CopyState copies a public state that a plan names, as it comes, and no more of it than
// MaxState. What has been written is good only if there is no error: a state that is longer,
// cut short or another one has that name only by a collision of SHA-256.
func CopyState(to io.Writer, from io.Reader, name string) error {
	digest := sha256.New()
	n, err := io.Copy(io.MultiWriter(digest, to), io.LimitReader(from, MaxState+1))
	switch {
	case err != nil:
		return err
	case n > MaxState:
		return fmt.Errorf("plan: a state of more than %d bytes", MaxState)
	case hex.EncodeToString(digest.Sum(nil)) != name:
		return fmt.Errorf("plan: these %d bytes are another state than the plan names, or a part of it", n)
	}
	return nil
}

// Validate checks the study's form and reports its problems together.
func (s Study) Validate() error {
	var ps Problems
	ps.Require(s.Version == StudyVersion, "study: version is %d; this build reads version %d", s.Version, StudyVersion)
	ps.Require(s.Rounds >= 1 && s.Rounds <= MaxRounds, "study: rounds must be between 1 and %d", MaxRounds)
	ps.Require(s.Takes == TakesOne || s.Takes == TakesAll, "study: takes must be %q or %q", TakesOne, TakesAll)
	ps.Require(s.Withheld == WithheldRepeats || s.Withheld == WithheldEnds, "study: withheld must be %q or %q", WithheldRepeats, WithheldEnds)
	ps.Require(!s.Merged || s.Takes == TakesOne, "study: merged needs takes %q: rounds add up whose respondents are others", TakesOne)
	if c := s.Plan.Correlated(); c != nil {
		ps.Require(s.Takes == TakesAll, "study: takes must be %q: correlated rounds are asked of the same people", TakesAll)
		ps.Require(s.Rounds == c.Rounds, "study: rounds is %d, and route.sum.correlated.rounds %d: they are the same", s.Rounds, c.Rounds)
	}
	_, ok := parsePublisher(s.Coordinator)
	ps.Require(ok, "study: coordinator must be a public key in the form ed25519:base64url")
	ps.Require(s.Coordinator != s.Plan.Analyzer.Releases, "study: coordinator signs the analyzer's releases too: each needs a key of its own")
	ps.Require(s.Plan.Round == nil && s.Plan.State == "" && s.Plan.Times == Times{}, "study: plan has a round, a state or times: each round has its own")
	ps.Require(!s.Times.Opens.IsZero() && !s.Times.Closes.IsZero() && s.Times.Opens.Before(s.Times.Closes), "study: times.opens must be before times.closes")
	if len(ps) > 0 {
		return ps
	}
	return s.Plan.Validate()
}

// Correlated returns how the plan's rounds are correlated; nil: they are not.
func (p Plan) Correlated() *Correlated {
	if p.Route.Sum == nil {
		return nil
	}
	return p.Route.Sum.Correlated
}

// Canonical returns the one byte form, as of a plan.
func (s Study) Canonical() []byte {
	s.Times.Opens, s.Times.Closes = s.Times.Opens.UTC(), s.Times.Closes.UTC()
	return canonical(s)
}

// Hash returns the SHA-256 of the canonical form: the study's name.
func (s Study) Hash() [32]byte { return sha256.Sum256(s.Canonical()) }

// Name returns the hash in hex.
func (s Study) Name() string {
	h := s.Hash()
	return hex.EncodeToString(h[:])
}

// Round returns the plan of a round. State names the public state, and is empty where there
// is none. The times lie within the study's, which has some unless it is simulated.
func (s Study) Round(number int, state string, times Times) (Plan, error) {
	switch {
	case number < 1 || number > s.Rounds:
		return Plan{}, fmt.Errorf("plan: round %d of a study with %d", number, s.Rounds)
	case times.Opens.Before(s.Times.Opens) || times.Closes.After(s.Times.Closes) || times.Closes.IsZero() && !s.Times.Closes.IsZero():
		return Plan{}, errors.New("plan: a round opens and closes within the times of its study")
	}
	p := s.Plan
	p.Round, p.State, p.Times = &Round{s.Name(), number}, state, times
	return p, p.Validate()
}

// parseStudy reads a study in its canonical form, as Parse does a plan.
func parseStudy(text []byte) (Study, error) {
	if err := bounded(text); err != nil {
		return Study{}, err
	}
	var s Study
	if err := known(text, &s); err != nil {
		return Study{}, fmt.Errorf("plan: not a study in its canonical form: %w", err)
	}
	if err := s.Validate(); err != nil {
		return Study{}, err
	}
	if canonical := s.Canonical(); !bytes.Equal(canonical, text) {
		return Study{}, fmt.Errorf("plan: a study, but not in its canonical form: %s", difference(text, canonical))
	}
	return s, nil
}

// SignedStudy is a study with its publishers' signatures: Ed25519 over
// "confetti/study/v1\n" and the canonical form.
type SignedStudy struct {
	Study      Study
	Signatures []Signature // in the order of their keys' texts
}

// SignStudy signs a valid study.
func SignStudy(s Study, key ed25519.PrivateKey) SignedStudy {
	return SignedStudy{s, []Signature{sign(studying, s.Canonical(), key)}}
}

// Marshal returns the one form of a signed study that has no round yet: as of a signed plan, with
// the study in the plan's place.
func (s SignedStudy) Marshal() []byte {
	return append(append(appendHead(nil, s.Signatures, "study"), s.Study.Canonical()...), '}')
}

// ParseSignedStudy reads what Marshal writes, and the same with a line's end after it. The
// signatures are those of the study's text; whose they are, is not asked.
func ParseSignedStudy(text []byte) (SignedStudy, error) {
	if len(text) > MaxSignedBytes {
		return SignedStudy{}, fmt.Errorf("plan: a signed study of more than %d bytes", MaxSignedBytes)
	}
	all, rest, err := readHead(bytes.TrimSuffix(text, []byte("\n")), "study", "signed study", maxSignatures)
	if err != nil {
		return SignedStudy{}, err
	}
	inside, closed := bytes.CutSuffix(rest, []byte("}"))
	if !closed {
		return SignedStudy{}, errors.New("plan: not a signed study in its one form: it does not end with the brace that closes it, and nothing after that")
	}
	if err := verify(studying, "study", all, inside); err != nil {
		return SignedStudy{}, err
	}
	s, err := parseStudy(inside)
	return SignedStudy{s, all}, err
}

// Round returns a round with its coordinator's signature: Ed25519 over "confetti/round/v1\n"
// and the canonical form of the plan.
func (s SignedStudy) Round(number int, state string, times Times, coordinator ed25519.PrivateKey) (Signed, error) {
	p, err := s.Study.Round(number, state, times)
	if err != nil {
		return Signed{}, err
	}
	one := sign(rounding, p.Canonical(), coordinator)
	if one.Publisher != s.Study.Coordinator {
		return Signed{}, errors.New("plan: the key is not that of the study's coordinator")
	}
	signed := signedBy(p, s.Signatures)
	signed.Study, signed.Coordinated = &s.Study, one.Signature
	return signed, nil
}

// InStudy returns the study that the plan is a round of, as it was signed; ok is false where
// it is none.
func (s Signed) InStudy() (study SignedStudy, ok bool) {
	if s.Study == nil {
		return SignedStudy{}, false
	}
	return SignedStudy{*s.Study, s.Signatures()}, true
}

// coordinated checks that the plan is a round of the study that it comes with, and
// signed by its coordinator.
func (s Signed) coordinated() error {
	switch {
	case s.Study == nil && s.Plan.Round != nil:
		return errors.New("plan: a round of a study, without the study")
	case s.Study == nil:
		return nil
	case s.Plan.Round == nil:
		return errors.New("plan: a plan that is no round, with a study")
	}
	due, err := s.Study.Round(s.Plan.Round.Number, s.Plan.State, s.Plan.Times)
	if err != nil {
		return err
	}
	text := s.Plan.Canonical()
	if !bytes.Equal(due.Canonical(), text) {
		return errors.New("plan: a round differs from its study in more than number, state and times")
	}
	return verify(rounding, "round", []Signature{{s.Study.Coordinator, s.Coordinated}}, text)
}

// roundForm is what stands behind a study in a signed round, in this order.
type roundForm struct {
	Number    int    `json:"number"`
	State     string `json:"state,omitempty"`
	Times     Times  `json:"times,omitzero"`
	Plan      string `json:"plan"` // the round's name
	Signature string `json:"signature"`
}

const (
	roundBegins = `,"round":{"number":`
	// maxRoundBytes bounds the text of a roundForm with its name.
	maxRoundBytes = 512
)

var errRound = errors.New("plan: not a round of a study in its one form")

// appendRound writes what stands behind the study.
func (s Signed) appendRound(b []byte) []byte {
	times := Times{s.Plan.Times.Opens.UTC(), s.Plan.Times.Closes.UTC()}
	form := roundForm{s.Plan.Round.Number, s.Plan.State, times, s.Plan.Name(), base64url.EncodeToString(s.Coordinated)}
	return append(append(b, `,"round":`...), canonical(form)...)
}

// splitRound sets the study apart from what stands behind it, which is searched for in
// the last bytes alone.
func splitRound(text []byte) (study []byte, form roundForm, err error) {
	from := max(0, len(text)-maxRoundBytes)
	at := bytes.LastIndex(text[from:], []byte(roundBegins))
	if at < 0 {
		return nil, form, errRound
	}
	study, tail := text[:from+at], text[from+at+len(`,"round":`):]
	if known(tail, &form) != nil || !bytes.Equal(canonical(form), tail) {
		return nil, form, errRound
	}
	return study, form, nil
}

// parse makes the round's plan from its study.
func (f roundForm) parse(study []byte, all []Signature) (Signed, error) {
	s, err := parseStudy(study)
	if err != nil {
		return Signed{}, err
	}
	p, err := s.Round(f.Number, f.State, f.Times)
	if err != nil {
		return Signed{}, err
	}
	signed := signedBy(p, all)
	signed.Study = &s
	if signed.Coordinated, err = base64url.DecodeString(f.Signature); err != nil || p.Name() != f.Plan {
		return Signed{}, errRound
	}
	return signed, signed.coordinated()
}

// vouched returns the last moment that the signatures are good for: a plan closes then, and
// a round's publishers vouch for the whole study.
func (s Signed) vouched() time.Time {
	if s.Study != nil {
		return s.Study.Times.Closes
	}
	return s.Plan.Times.Closes
}
