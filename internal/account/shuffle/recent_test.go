package shuffle

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// Envelopes that are kept are those that are computed, of each of what they depend on, and
// a caller that writes into its own changes nobody's.
func TestRecentEnvelopesAreThoseComputed(t *testing.T) {
	o := account.Options{Step: 1e-3, Neglect: 1e-12}
	fine, strict := o, o
	fine.Step, strict.Neglect = 5e-4, 1e-6
	one := RandomizedResponse{Users: 50, Flip: 0.2}.bit()
	other := AsymmetricResponse{50, 0.5, 0.2}.bit()
	for range 2 {
		for _, b := range []bit{one, other, one} {
			for _, c := range []worlds{{50, 0}, {49, 0}, {50, 1}} {
				for _, o := range []account.Options{o, fine, strict} {
					rising, falling := b.envelopes(c, o)
					up, down := b.walk(c, o)
					if !slices.Equal(rising, up) || !slices.Equal(falling, down) {
						t.Fatalf("%v, %v, %v: not what is computed", b, c, o)
					}
					clear(rising)
					clear(falling)
				}
			}
		}
	}
}

// forget lets go of what is kept.
func forget() {
	clear(recentEnvelopes.of[:])
	clear(recentSlopes.of[:])
	clear(recentKappas.of[:])
	clear(recentThinned.of[:])
}
