package shuffle

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/recent"
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
			for _, c := range []Worlds{{Users: 50}, {Users: 49}, {Users: 50, Dropped: 1}} {
				for _, o := range []account.Options{o, fine, strict} {
					up, down := b.walk(c, o)
					for _, every := range []int{0, 1, 3} {
						wide := o
						wide.Step, wide.Pitches = o.Step*float64(max(1, every)), every
						rising, falling := b.envelopes(c, wide)
						if !slices.Equal(rising, someOf(up, every)) || !slices.Equal(falling, someOf(down, every)) {
							t.Fatalf("%v, %v, %v: not what is computed", b, c, wide)
						}
						clear(rising)
						clear(falling)
					}
				}
			}
		}
	}
}

// someOf returns a profile on a grid whose pitch is so many times as wide, computed point by point.
func someOf(h []float64, every int) (some []float64) {
	if every < 2 {
		return h
	}
	for i := range h {
		if i%every == 0 && i < len(h)-1 {
			some = append(some, h[i])
		}
	}
	return append(some, h[len(h)-1])
}

// forget lets go of what is kept.
func forget() {
	recentEnvelopes = recent.Results[asked, [2][]float64]{}
}
