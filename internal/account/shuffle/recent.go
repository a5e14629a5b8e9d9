package shuffle

import (
	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/recent"
)

// asked is all that envelopes depend on.
type asked struct {
	bit           bit
	worlds        Worlds
	step, neglect float64
}

// An envelope has some thousand points: all of them are a few MB.
var recentEnvelopes recent.Results[asked, [2][]float64]

// envelopes returns those of either direction: of a one told from a zero, and of a zero
// told from a one. On a grid of several pitches they are those of the finer grid, at every so many of its points.
func (b bit) envelopes(c Worlds, o account.Options) (rising, falling []float64) {
	every := max(1, o.Pitches)
	o.Step, o.Pitches = o.Step/float64(every), 1
	both := recentEnvelopes.Find(asked{b, c, o.Step, o.Neglect}, func() [2][]float64 {
		rising, falling := b.walk(c, o)
		return [2][]float64{rising, falling}
	})
	return thin(both[0], every), thin(both[1], every)
}

// thin returns every so many points of a profile, of which the last holds from there on.
func thin(h []float64, every int) (some []float64) {
	for i := 0; i < len(h)-1; i += every {
		some = append(some, h[i])
	}
	return append(some, h[len(h)-1])
}
