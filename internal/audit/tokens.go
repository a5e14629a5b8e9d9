package audit

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// demanding lists the places where a plan's hops demand tokens.
func demanding(p plan.Plan) (all []token.Context) {
	for i, hops := range p.Route.Ways() {
		for h, hop := range hops {
			if hop.Tokens != "" {
				all = append(all, token.Context{Plan: p.Hash(), Instance: uint16(i), Hop: uint8(h)})
			}
		}
	}
	return all
}

const (
	holders = 64 // devices that ask for tokens
	window  = 8  // bytes: so few strings of coins share no such window
)

// tokens looks at what devices ask an issuer to sign, who knows them, and at what hops see: nothing
// of a token may be found in another of the same device, nor in its request.
func (t *Route) tokens(r *rand.Rand) ([]Constant, error) {
	if len(t.tokened) == 0 {
		return nil, nil
	}
	key, err := token.GenerateKey()
	if err != nil {
		return nil, err
	}
	places := t.tokened
	if len(places) == 1 { // the next plan's, of the same device
		other := places[0]
		other.Plan[0] ^= 1
		places = append(places, other)
	}
	bits, linked := make([][]int, 8*(token.Size-token.RequestSize)), 0
	laws := make([][]float64, len(bits))
	for i := range bits {
		bits[i], laws[i] = make([]int, 2), []float64{0.5, 0.5}
	}
	for range holders {
		var seed token.Seed
		for i := 0; i < len(seed); i += 8 {
			binary.LittleEndian.PutUint64(seed[i:], r.Uint64())
		}
		var seen [][]byte // what anybody has of this device beside a token
		for _, place := range places {
			request, err := token.NewRequest(seed, key.Public(), place)
			if err != nil {
				return nil, err
			}
			answer, err := key.Sign(request.Blinded)
			if err != nil {
				return nil, err
			}
			one, err := request.Finish(answer)
			if err != nil {
				return nil, err
			}
			id := token.ID(one)
			seen = append(seen, request.Blinded, answer)
			for _, other := range seen {
				if overlap(one, other) {
					linked++
				}
			}
			seen = append(seen, id[:])
			for i := range bits {
				bits[i][id[i/8]>>(i%8)&1]++
			}
		}
	}
	n := bits[0][0] + bits[0][1]
	return []Constant{
		kept(aDevice, "a token shares nothing with its request, nor with another token of the device", n, never(linked)),
		kept(aDevice, "the number in a token is coins", n*len(bits), fitOf(laws, bits)),
	}, nil
}

// overlap says whether two texts share a window of bytes, at any places.
func overlap(a, b []byte) bool {
	for i := 0; i+window <= len(a); i++ {
		if bytes.Contains(b, a[i:i+window]) {
			return true
		}
	}
	return false
}
