package plan

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// smallKeys refuses keys of parties and of their relays that are of small order: every secret has the same product with
// such a point, so that everybody opens what is sealed to it.
func (p Plan) smallKeys() error {
	all := []Party{p.Analyzer}
	for _, way := range p.Route.Ways() {
		all = append(all, way...)
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		all = append(all, *issuer)
	}
	for _, party := range all {
		if smallOrder(party.Key) {
			return fmt.Errorf("plan: the key of %s is of small order: everybody opens what is sealed to it; ask %s for another one, made by confetti keygen", Quoted(party.Operator), Quoted(party.Operator))
		}
		if r := party.Relay; r != nil && smallOrder(r.Key) {
			return fmt.Errorf("plan: the key of the relay of %s is of small order: everybody opens what is sealed to it; ask %s for another one", Quoted(party.Operator), Quoted(party.Operator))
		}
	}
	return nil
}

// smallPoints has the u of the points of Curve25519 and of its twist whose order divides 8, and the encodings of those
// that are not below p. Secrets are multiples of 8 (RFC 7748, section 5), so that their products with these are zero.
var smallPoints = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// smallOrder reports whether a key's point is of small order. That is all of an X25519 key, and the last 32 bytes of
// an X-Wing key.
func smallOrder(text string) bool {
	_, key, _ := strings.Cut(text, ":")
	raw, err := base64url.DecodeString(key)
	if err != nil || len(raw) < 32 {
		return false
	}
	u := slices.Clone(raw[len(raw)-32:])
	u[31] &= 127 // which whoever multiplies ignores
	return slices.Contains(smallPoints, hex.EncodeToString(u))
}
