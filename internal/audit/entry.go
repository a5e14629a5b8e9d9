package audit

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/audit/drawn"
	"github.com/confetti-dp/confetti/internal/prob"
)

// entry looks at the order in which the entry hands on what lies together in contributions.
func (t *Route) entry(r *rand.Rand) ([]Constant, error) {
	p := t.legs[0].protocol.Plan
	if p.Route.Mix == nil {
		return nil, nil
	}
	o, err := drawn.OrderOf(r, p, t.keys.Hops[0][0])
	return ordered(o), err
}

func ordered(o drawn.Order) []Constant {
	above := math.Exp(prob.LogBinomialCDF(o.Mixings-o.Together, o.Mixings, 1-drawn.Chance))
	below := math.Exp(prob.LogBinomialCDF(o.Together, o.Mixings, drawn.Chance))
	all := []Constant{
		kept("an entry", "envelopes of one contribution leave side by side as often as any two", o.Mixings, math.Min(1, 2*math.Min(above, below))),
		kept("an entry", "who came first leaves first as often as who came later", o.First+o.Last, sign{o.First, o.Last}.fit()),
	}
	for i := range all {
		all[i].Fresh = true // envelopes are ordered by what is sealed
	}
	return all
}
