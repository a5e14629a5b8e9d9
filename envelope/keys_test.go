package envelope

import (
	"bytes"
	"slices"
	"testing"
)

// shared peels layer after layer off envelopes and returns the first layer in which two have one encapsulated key, or
// -1. Peel opens the outermost layer that is left.
func shared(envelopes [][]byte, layers, enc int, peel func(layer int, envelope []byte) []byte) int {
	envelopes = slices.Clone(envelopes)
	for layer := range layers {
		seen := map[string]bool{}
		for i, e := range envelopes {
			if key := string(e[:enc]); seen[key] {
				return layer
			} else {
				seen[key] = true
			}
			envelopes[i] = peel(layer, e)
		}
	}
	return -1
}

// Every layer of every envelope of a device has a key of its own, sealed few at a time or many: one that is known opens
// one layer of one envelope. The twins seal with one key all that lies within a layer.
func TestEveryLayerHasItsOwnKey(t *testing.T) {
	for _, suite := range suites {
		for _, number := range []int{3, worthwhile + batch + 1} {
			private, public := newKeys(t, suite, 3)
			route := Route([32]byte{7}, 1, 2, public...)
			enc := suite.Overhead() - tagSize
			var openers []*Opener
			for h, key := range private {
				openers = append(openers, mustOpener(t, key, route[h].Context, Size(route[h:], 40)))
			}
			peel := func(layer int, envelope []byte) []byte {
				inner, err := openers[layer].Open(2, envelope)
				if err != nil {
					t.Fatal(err)
				}
				return inner
			}
			sealed := func(layers []Layer, payloads [][]byte) [][]byte {
				s, err := NewSealer(layers, len(payloads[0]))
				if err != nil {
					t.Fatal(err)
				}
				all, err := s.SealAll(payloads, nil)
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			payloads := slices.Repeat([][]byte{bytes.Repeat([]byte{5}, 40)}, number)
			if layer := shared(sealed(route, payloads), len(route), enc, peel); layer >= 0 {
				t.Errorf("%s, %d envelopes: two have one key in layer %d", suite, number, layer)
			}
			for broken := 1; broken < len(route); broken++ {
				one := sealed(route[broken:], payloads[:1])
				twin := sealed(route[:broken], slices.Repeat(one, number))
				if layer := shared(twin, len(route), enc, peel); layer != broken {
					t.Errorf("%s, %d envelopes: one key for all of layer %d goes unseen: %d", suite, number, broken, layer)
				}
			}
		}
	}
}
