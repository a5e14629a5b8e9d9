package density

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Tell returns how many bits of features were said (question.Describer).
func (d *Question) Tell(bodies [][]byte) string {
	bits := 0
	for _, body := range bodies {
		if channel, _, err := tally.ParseMessage(body); err == nil && int(channel) < d.Features.Channels() {
			bits++
		}
	}
	if bits == 0 {
		return terms.Nothing
	}
	return fmt.Sprintf("%s of your features; at least %s", terms.Count(bits, "bit"), terms.Coin(coin(d.Bits), "bit"))
}

// coin returns the share of a device's messages that are not its bits: what it flips, or of the messages in a
// channel all but at most one.
func coin(m summer) float64 {
	if f, ok := m.(flipping); ok {
		return f.flipped()
	}
	all := m.MessagesPerUser()
	return max(0, all-1) / all
}
