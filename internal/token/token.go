// Package token signs and verifies anonymous single-use tokens: the issuer signs one unseen, and a hop that sees it
// cannot tell who asked. Used by client, internal/service/issuer, internal/service/serve and party.
//
// A hop that counts distinct tokens counts respondents whom the entry hop cannot invent.
//
// It is a blind RSA signature, RSABSSA-SHA384-PSS-Deterministic of RFC 9474. The deterministic variant is the one
// for messages that are random themselves, and a token's nonce has 256 bits; its signatures are ordinary RSA-PSS
// ones.
//
// Each hop of each instance of a plan has a key of its own, and the issuer signs once for a respondent and key. That
// makes one contribution of it, without anyone knowing whose.
package token

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/third_party/circl/blindsign/blindrsa"

	"github.com/confetti-dp/confetti/internal/rng"
)

const (
	nonceBytes = 32

	// RequestSize is the length in bytes of a blinded request and of its answer.
	RequestSize = 256

	// Size is the length in bytes of a token: nonce, then signature.
	Size = nonceBytes + RequestSize
)

const variant = blindrsa.SHA384PSSDeterministic

// errInvalid is the error of a token that its key has not signed for this
// context. Why not, a signature does not say.
var errInvalid = errors.New("token: not valid here: signed with another key, for another plan, instance or hop, or damaged")

// Context is where a token is good, and nowhere else.
type Context struct {
	Plan     [32]byte
	Instance uint16
	Hop      uint8
}

// message returns what is signed: no two (context, nonce) share one.
func (c Context) message(nonce []byte) []byte {
	b := append([]byte("confetti/token/v1"), c.Plan[:]...)
	b = binary.BigEndian.AppendUint16(b, c.Instance)
	return append(append(b, c.Hop), nonce...)
}

// Seed is a device's secret for the tokens of one plan. Requests are a function
// of it: a device that keeps it asks the same again after a crash, which the
// issuer answers again.
type Seed [32]byte

// stream returns the randomness of one request: nobody who lacks the seed can tell
// it from coins, and no two requests share any.
func (s Seed) stream(key PublicKey, c Context) *rand.Rand {
	b := append([]byte("confetti/token-seed/v1"), s[:]...)
	b = append(b, c.message(nil)...)
	sum := sha256.Sum256(append(b, key.text...))
	return rng.Keyed([16]byte(sum[:16]), [16]byte(sum[16:]))
}

// Request is a token on its way to being signed.
type Request struct {
	// Blinded is what the issuer gets: RequestSize bytes that tell it nothing.
	//
	// It is m r^e mod N for the encoded message m and r uniform among the units
	// mod N, drawn for this request. Let an issuer know a request z, its answer
	// y, and a token with message m and signature s that it saw later. Whatever
	// the pair, there is exactly one r that makes them belong together, r = y/s
	// (then z = y^e = m r^e), and each r was equally likely: the request is no
	// likelier to be of one token than of another. This needs no honest key:
	// a token that Finish hands out has s^e = m and s, m prime to N under any N.
	Blinded []byte

	context Context
	key     PublicKey
	nonce   []byte
	client  blindrsa.Client
	state   blindrsa.State
}

// NewRequest prepares the token for a context whose hop demands the key's. The
// same arguments give the same request.
func NewRequest(seed Seed, key PublicKey, c Context) (*Request, error) {
	if key.key == nil {
		return nil, errors.New("token: no public key to ask under")
	}
	client, err := blindrsa.NewClient(variant, key.key)
	if err != nil {
		panic("token: " + err.Error()) // the variant is known
	}
	r := rng.Reader(seed.stream(key, c))
	nonce := make([]byte, nonceBytes)
	r.Read(nonce)
	// Fails with a key whose modulus shares a factor with the message or the
	// blinding: an honest modulus has factors of 1,024 bits, met by nobody.
	blinded, state, err := client.Blind(r, c.message(nonce))
	if err != nil {
		return nil, fmt.Errorf("token: the key %s cannot be asked: %w", key.ID(), err)
	}
	return &Request{Blinded: blinded, context: c, key: key, nonce: nonce, client: client, state: state}, nil
}

// Finish makes the token from the issuer's answer, or refuses an answer that
// does not give a valid one.
func (q *Request) Finish(answer []byte) ([]byte, error) {
	signature, err := q.client.Finalize(q.state, answer)
	if err != nil {
		return nil, fmt.Errorf("token: the issuer's answer is no signature of the request under key %s", q.key.ID())
	}
	token := append(append(make([]byte, 0, Size), q.nonce...), signature...)
	if err := q.key.Verify(q.context, token); err != nil {
		return nil, err
	}
	return token, nil
}

// ID returns what a hop remembers of a token that was spent: its nonce. A token that
// somebody got signed twice is spent once. The token must be a valid one.
func ID(token []byte) [nonceBytes]byte { return [nonceBytes]byte(token) }
