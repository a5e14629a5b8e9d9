package randomize

import (
	"testing"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/internal/rng"
)

// The device of ESA's heavy-hitter table before it seals: 2,795,520 cells at epsilon 13.
func BenchmarkOneHotDevice(b *testing.B) {
	r, sender, sent := rng.New(), Symmetric(2_795_520, 13, account.Removal).Sender(), 0
	set := []uint32{123_456}
	for b.Loop() {
		sender.Randomize(r, set, func(uint32) { sent++ })
	}
	b.ReportMetric(float64(sent)/float64(b.N), "messages/op")
}
