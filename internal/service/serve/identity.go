package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
)

// Respondent is the sender of a request, as a service remembers it: a keyed hash
// that nobody without the service's secret can link to a person.
type Respondent [sha256.Size]byte

// Secret keys the hashes of one service. It never prints itself.
type Secret struct{ key func() []byte }

// NewSecret returns the secret with these bytes.
func NewSecret(key []byte) Secret { return Secret{func() []byte { return key }} }

// Format prints no secret, whatever the verb.
func (s Secret) Format(f fmt.State, verb rune) { fmt.Fprint(f, "a secret") }

// Respondent returns the hash of a credential of some kind.
func (s Secret) Respondent(kind string, credential []byte) Respondent {
	h := hmac.New(sha256.New, s.key())
	h.Write([]byte(kind))
	h.Write([]byte{0}) // no kind has one
	h.Write(credential)
	return Respondent(h.Sum(nil))
}

// Authenticator tells respondents by single-use tokens where a plan demands them, and by
// bearer tokens and client certificates elsewhere.
type Authenticator struct {
	Secret Secret
	// Tokens is the key of single-use tokens, which are spent at Spent: they name nobody,
	// and nothing else is taken. nil: none are demanded.
	Tokens *token.PublicKey
	Spent  token.Context

	Bearers *Bearers // nil: none are taken
	// Certificates takes certificates of the authorities that TLS was given.
	// Their subject is the respondent, so that a renewed one is the same.
	Certificates bool
}

// Respondent returns the sender of the request; the error is a *wire.Problem.
func (a Authenticator) Respondent(r *http.Request) (Respondent, error) {
	if a.Tokens != nil {
		return a.bearerOfToken(r)
	}
	if a.Bearers != nil {
		if name, ok := a.Bearers.Sender(r); ok {
			return a.Secret.Respondent("bearer", []byte(name)), nil
		}
	}
	if a.Certificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		if subject := r.TLS.VerifiedChains[0][0].RawSubject; len(subject) > 2 { // not an empty sequence
			return a.Secret.Respondent("certificate", subject), nil
		}
	}
	return Respondent{}, wire.Problemf(wire.Unauthenticated, "no credential of a kind that is taken here is known")
}

func (a Authenticator) bearerOfToken(r *http.Request) (Respondent, error) {
	presented, ok := tokenwire.ParseAuthorization(r.Header.Get("Authorization"))
	if !ok {
		return Respondent{}, wire.Problemf(wire.Unauthenticated, "the plan demands a single-use token here")
	}
	if err := a.Tokens.Verify(a.Spent, presented); err != nil {
		return Respondent{}, wire.Problemf(wire.TokenRefused, "%w", err)
	}
	id := token.ID(presented)
	return a.Secret.Respondent("token", id[:]), nil
}
