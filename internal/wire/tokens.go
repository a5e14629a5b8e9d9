package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// TokenRequest asks an issuer to sign tokens for one plan.
type TokenRequest struct {
	Asks []TokenAsk `cbor:"1,keyasint"`
}

// TokenAsk is one blinded request for the hop whose key signs it.
type TokenAsk struct {
	Instance uint16 `cbor:"1,keyasint"`
	Hop      uint8  `cbor:"2,keyasint"`
	Blinded  []byte `cbor:"3,keyasint"` // token.RequestSize bytes
}

// TokenResponse answers each ask, in order.
type TokenResponse struct {
	Answers [][]byte `cbor:"1,keyasint"` // token.RequestSize bytes each
}

// MaxTokenAsks is the most tokens that one plan can demand of a device: of every
// hop of every instance.
const MaxTokenAsks = plan.MaxInstances * plan.MaxHops

// MaxTokenBody bounds the encoding of a request and of a response: an ask has
// its blinded bytes and at most 16 of structure.
const MaxTokenBody = MaxTokenAsks*(token.RequestSize+16) + 16

// CBOR of RFC 8949, section 4.2: one encoding for one value.
var (
	encoding = must(cbor.CoreDetEncOptions().EncMode())
	decoding = must(cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels:   4,
		MaxArrayElements:  MaxTokenAsks,
		MaxMapPairs:       16,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("wire: " + err.Error()) // the options are constants
	}
	return v
}

// Marshal encodes the request.
func (t TokenRequest) Marshal() []byte { return must(encoding.Marshal(t)) }

// Marshal encodes the response.
func (t TokenResponse) Marshal() []byte { return must(encoding.Marshal(t)) }

// ParseTokenRequest decodes exactly what Marshal writes of a valid request: at
// least one ask, no two for one hop, all of the one length.
func ParseTokenRequest(data []byte) (TokenRequest, error) {
	var t TokenRequest
	if err := unmarshal("token request", data, &t); err != nil {
		return TokenRequest{}, err
	}
	type key struct {
		instance uint16
		hop      uint8
	}
	seen := map[key]bool{}
	for i, a := range t.Asks {
		if len(a.Blinded) != token.RequestSize {
			return TokenRequest{}, fmt.Errorf("wire: token request: ask %d has %d bytes: all have %d", i, len(a.Blinded), token.RequestSize)
		}
		k := key{a.Instance, a.Hop}
		if seen[k] {
			return TokenRequest{}, fmt.Errorf("wire: token request: ask %d is for the same hop as an earlier one", i)
		}
		seen[k] = true
	}
	if len(t.Asks) == 0 || !bytes.Equal(t.Marshal(), data) {
		return TokenRequest{}, fmt.Errorf("wire: token request: empty, or not in its one encoding")
	}
	return t, nil
}

// ParseTokenResponse decodes exactly what Marshal writes of a valid response.
func ParseTokenResponse(data []byte) (TokenResponse, error) {
	var t TokenResponse
	if err := unmarshal("token response", data, &t); err != nil {
		return TokenResponse{}, err
	}
	for i, a := range t.Answers {
		if len(a) != token.RequestSize {
			return TokenResponse{}, fmt.Errorf("wire: token response: answer %d has %d bytes: all have %d", i, len(a), token.RequestSize)
		}
	}
	if len(t.Answers) == 0 || !bytes.Equal(t.Marshal(), data) {
		return TokenResponse{}, fmt.Errorf("wire: token response: empty, or not in its one encoding")
	}
	return t, nil
}

func unmarshal(what string, data []byte, v any) error {
	if len(data) > MaxTokenBody {
		return fmt.Errorf("wire: %s: more than %d bytes", what, MaxTokenBody)
	}
	if decoding.Unmarshal(data, v) != nil {
		// Not wrapped: the cause may quote what was sent.
		return fmt.Errorf("wire: %s: not the CBOR of one", what)
	}
	return nil
}

// tokenScheme is the authentication scheme of a single-use token (RFC 9577).
const tokenScheme = "PrivateToken token="

var base64url = base64.RawURLEncoding.Strict()

// TokenAuthorization is the value of the header Authorization that spends a
// token at the entry hop.
func TokenAuthorization(token []byte) string {
	return tokenScheme + `"` + base64url.EncodeToString(token) + `"`
}

// ParseTokenAuthorization reads what TokenAuthorization writes; false for any
// other header.
func ParseTokenAuthorization(header string) ([]byte, bool) {
	quoted, found := strings.CutPrefix(header, tokenScheme)
	if !found || len(quoted) != 2+base64url.EncodedLen(token.Size) || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return nil, false
	}
	b, err := base64url.DecodeString(quoted[1 : len(quoted)-1])
	return b, err == nil && len(b) == token.Size
}
