package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account/pld"
	"github.com/confetti-dp/confetti/dp/account/rdp"
)

// use is one event with the number of rounds it is used for.
type use struct {
	event  Event
	rounds int
}

// flatten lists the mechanisms of a composition, with multiplicity.
func flatten(e Event, rounds int) []use {
	switch e := e.(type) {
	case Repeat:
		return flatten(e.Event, rounds*e.Rounds)
	case All:
		var uses []use
		for _, x := range e.Events {
			uses = append(uses, flatten(x, rounds)...)
		}
		return uses
	}
	return []use{{e, rounds}}
}

// curve finds a profile of the event: a formula if one covers it, else privacy
// loss distributions, else Renyi divergences. how holds what that method
// changes in the statement of the guarantee.
func (o options) curve(e Event) (c curve, how Guarantee, err error) {
	uses := flatten(e, 1)
	if len(uses) == 1 {
		if p, has := uses[0].event.(profiler); has {
			c, ok, err := p.profile(uses[0].rounds, o)
			if err != nil {
				return nil, how, err
			}
			if ok {
				return c, how, nil
			}
		}
	}
	var lossless, renyiless Event
	for _, u := range uses {
		if _, ok := u.event.(plder); !ok {
			lossless = u.event
		}
		if _, ok := u.event.(rdper); !ok {
			renyiless = u.event
		}
	}
	switch {
	case lossless == nil:
		c, err := o.losses(uses)
		how.Bound = Upper
		if o.Lower {
			how.Bound = Lower
		}
		return c, how, err
	case renyiless == nil && !o.Lower:
		how = Guarantee{Bound: Upper, Method: "Renyi divergence, best order", Source: "Canonne, Kamath and Steinke 2020, Proposition 12"}
		return renyiSum(uses), how, nil
	}
	return nil, how, &Unsupported{lossless, "it has neither a formula nor a loss distribution for this composition"}
}

// pointsPerSpread is the resolution of the grid: connect-the-dots inflates the
// variance of one round's loss by at most a quarter of a squared pitch, that is
// 1/40,000 of it, so epsilon by about 1e-5 of itself.
const pointsPerSpread = 100

// losses composes privacy loss distributions. The pitch follows from the mean
// variance of a round: the error of a part far narrower than the pitch is still
// of second order, and counts against the spread of the whole.
func (o options) losses(uses []use) (curve, error) {
	variance, rounds := 0.0, 0.0
	for _, u := range uses {
		s := u.event.(plder).spread()
		variance += float64(u.rounds) * s * s
		rounds += float64(u.rounds)
	}
	if o.Step == 0 {
		o.Step = math.Sqrt(variance/rounds) / pointsPerSpread
	}
	if !(o.Step > 0) || math.IsInf(o.Step, 1) {
		return nil, fmt.Errorf("account: no grid of losses has pitch %v", o.Step)
	}
	var directions [2]*pld.Composition
	one := true
	for i := range directions {
		directions[i] = new(pld.Composition)
	}
	for _, u := range uses {
		ds, err := u.event.(plder).distributions(o)
		if err != nil {
			return nil, err
		}
		one = one && len(ds) == 1
		for i := range directions {
			if err := directions[i].Add(ds[min(i, len(ds)-1)], u.rounds); err != nil {
				return nil, err
			}
		}
	}
	if one {
		return directions[0], nil
	}
	return worse(directions), nil
}

// worse is the larger of two profiles: the neighbours' direction is the adversary's.
type worse [2]*pld.Composition

func (w worse) Delta(epsilon float64) (float64, error) {
	a, err := w[0].Delta(epsilon)
	if err != nil {
		return 0, err
	}
	b, err := w[1].Delta(epsilon)
	return math.Max(a, b), err
}

func (w worse) Epsilon(delta float64) (float64, error) {
	a, err := w[0].Epsilon(delta)
	if err != nil {
		return 0, err
	}
	b, err := w[1].Epsilon(delta)
	return math.Max(a, b), err
}

// renyiSum adds up Renyi divergences order by order.
func renyiSum(uses []use) rdp.Curve {
	return func(order float64) float64 {
		sum := 0.0
		for _, u := range uses {
			sum += float64(u.rounds) * u.event.(rdper).renyi(order)
		}
		return sum
	}
}
