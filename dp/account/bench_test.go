package account

import (
	"fmt"
	"testing"
)

// A device's work: the envelope, the grid, the composition.
func BenchmarkDevice(b *testing.B) {
	for _, c := range []struct {
		users, rounds int
		flip          float64
	}{{10_000, 768, 0.27}, {40_000, 768, 0.176}, {1_000_000, 768, 0.01}, {1_000_000, 10_000, 0.3}} {
		b.Run(fmt.Sprintf("n=%d/rounds=%d", c.users, c.rounds), func(b *testing.B) {
			for b.Loop() {
				if _, err := Epsilon(Repeat{RandomizedResponse{c.users, c.flip}, c.rounds}, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCertify40000(b *testing.B) {
	for b.Loop() {
		if _, err := Certify(Repeat{RandomizedResponse{40_000, 0.17569867093921618}, 768}, 1e-6); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkThreeNB(b *testing.B) {
	for _, e := range []ThreeNB{{Noise: 0.0085, FloodShape: 8, FloodProb: 0.9984}, {Noise: 0.0085, FloodShape: 8, FloodProb: 0.99993}} {
		b.Run(fmt.Sprintf("p=%v", e.FloodProb), func(b *testing.B) {
			for b.Loop() {
				if _, err := Epsilon(Repeat{e, 768}, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCalibrateRR(b *testing.B) {
	for _, users := range []int{40_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", users), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := CalibrateRR(Target{users, 768, 1, 1e-6}, ExactAccounting); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
