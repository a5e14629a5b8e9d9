// Package tokenwire reads and writes what a device and an issuer of single-use tokens tell each other. Used by client,
// internal/service/issuer, and internal/service/serve, which reads the token of a contribution.
package tokenwire

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// Request asks an issuer to sign tokens for one plan.
type Request struct {
	Asks []Ask
}

// Ask is one blinded request for the hop whose key signs it.
type Ask struct {
	Instance uint16
	Hop      uint8
	Blinded  []byte // token.RequestSize bytes
}

// Response answers each ask, in order.
type Response struct {
	Answers [][]byte // token.RequestSize bytes each
}

// maxAsks is the most tokens that one plan can demand of a device: of every
// hop of every instance.
const maxAsks = plan.MaxInstances * plan.MaxHops

// MaxBody bounds the encoding of a request and of a response: an ask has
// its blinded bytes and at most 16 of structure.
const MaxBody = maxAsks*(token.RequestSize+16) + 16

// Marshal encodes the request.
func (t Request) Marshal() []byte {
	b := cborList(len(t.Asks))
	for _, a := range t.Asks {
		b = cborHead(b, cborMap, 3)
		b = cborHead(cborHead(b, cborNumber, 1), cborNumber, uint64(a.Instance))
		b = cborHead(cborHead(b, cborNumber, 2), cborNumber, uint64(a.Hop))
		b = cborHead(cborHead(b, cborNumber, 3), cborBytes, uint64(len(a.Blinded)))
		b = append(b, a.Blinded...)
	}
	return b
}

// Marshal encodes the response.
func (t Response) Marshal() []byte {
	b := cborList(len(t.Answers))
	for _, a := range t.Answers {
		b = append(cborHead(b, cborBytes, uint64(len(a))), a...)
	}
	return b
}

// ParseRequest decodes exactly what Marshal writes of a valid request: at
// least one ask, no two for one hop, all of the one length.
func ParseRequest(data []byte) (Request, error) {
	const what = "token request"
	var t Request
	type key struct {
		instance uint16
		hop      uint8
	}
	seen := map[key]bool{}
	err := readList(what, data, func(i int, r *cborReader) error {
		r.expect(cborMap, 3)
		r.expect(cborNumber, 1)
		k := key{instance: uint16(r.head(cborNumber, math.MaxUint16))}
		r.expect(cborNumber, 2)
		k.hop = uint8(r.head(cborNumber, math.MaxUint8))
		r.expect(cborNumber, 3)
		blinded, err := r.sized(what, "ask", i)
		if err == nil && seen[k] {
			err = fmt.Errorf("wire: %s: ask %d is for the same hop as an earlier one", what, i)
		}
		seen[k] = true
		t.Asks = append(t.Asks, Ask{k.instance, k.hop, blinded})
		return err
	})
	if err != nil {
		return Request{}, err
	}
	return t, nil
}

// ParseResponse decodes exactly what Marshal writes of a valid response.
func ParseResponse(data []byte) (Response, error) {
	const what = "token response"
	var t Response
	err := readList(what, data, func(i int, r *cborReader) error {
		answer, err := r.sized(what, "answer", i)
		t.Answers = append(t.Answers, answer)
		return err
	})
	if err != nil {
		return Response{}, err
	}
	return t, nil
}

// tokenScheme is the authentication scheme of a single-use token (RFC 9577).
const tokenScheme = "PrivateToken token="

var base64url = base64.RawURLEncoding.Strict()

// Authorization returns the value of the header Authorization that spends a
// token at the entry hop.
func Authorization(token []byte) string {
	return tokenScheme + `"` + base64url.EncodeToString(token) + `"`
}

// ParseAuthorization reads what Authorization writes; false for any
// other header.
func ParseAuthorization(header string) ([]byte, bool) {
	quoted, found := strings.CutPrefix(header, tokenScheme)
	if !found || len(quoted) != 2+base64url.EncodedLen(token.Size) || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return nil, false
	}
	b, err := base64url.DecodeString(quoted[1 : len(quoted)-1])
	return b, err == nil && len(b) == token.Size
}
