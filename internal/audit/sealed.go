package audit

import (
	"bytes"
	"errors"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/simulate"
)

// Sealed is one collection that went the whole way: what devices handed in was sealed,
// mixed by every hop, opened and counted.
type Sealed struct {
	Devices, Envelopes int
	Compared           string // what was found to be so, in a phrase
}

// What is compared at the end of the route.
const (
	whole = "what was counted is what was handed in"
	noisy = "what was summed is what was handed in, with the noise that both aggregators draw of the plan"
	fewer = "nothing was counted that was not handed in (an entry deletes some, and nobody knows which)"
)

var errRoute = errors.New("audit: what was counted at the end of the route is not what devices handed in: views without seals do not speak for it")

// Envelopes returns how many of them Seal seals.
func (t *Route) Envelopes() (int, error) {
	err := t.legs[0].ready()
	if err != nil {
		return 0, err
	}
	return t.legs[0].enough() * t.legs[0].messages(), nil
}

// Seal runs such a collection of the first round that is attacked, of as many devices as leave the shuffler, and compares the
// counts at its end with what the same devices handed in. Where they are equal, byte by
// byte, hops and counter do nothing to a multiset of messages, and a view may be drawn without
// them.
func (t *Route) Seal(seed uint64, progress func(stage string, done, of int)) (Sealed, error) {
	g := t.legs[0]
	if err := g.ready(); err != nil {
		return Sealed{}, err
	}
	values := make([]question.Value, g.enough())
	for i := range values {
		values[i] = g.holds[2]
	}
	values[0] = g.holds[1]
	streams := seed + forSealed
	c, err := simulate.Full(g.protocol, t.keys, values, streams, progress)
	if err != nil {
		return Sealed{}, err
	}
	handed, err := g.handed(values, streams)
	if err != nil {
		return Sealed{}, err
	}
	s := Sealed{c.Devices, c.Fragments, whole}
	switch {
	case g.protocol.Plan.Crowd.Deletion != nil:
		s.Compared = fewer
		return s, within(c, handed)
	case g.protocol.Plan.Route.Sum.AggregatorNoise():
		s.Compared = noisy
		if err := g.withNoise(handed, streams); err != nil {
			return s, err
		}
	}
	return s, arrived(c, handed)
}

// withNoise adds to sums the noise that two aggregators who do as the plan says draw from the streams
// of a seed.
func (g *leg) withNoise(handed []tally.Tally, seed uint64) error {
	route, err := sum.New(g.protocol.Plan)
	if err != nil {
		return err
	}
	for crowd, t := range handed {
		for aggregator := range uint64(2) {
			for i, z := range route.Noise(seeded.New(seed, distribution.ForNoise, uint64(crowd), aggregator))[:len(t.(*tally.Sums).N)] {
				t.(*tally.Sums).N[i] += z
			}
		}
	}
	return nil
}

// within says whether no count of a collection is above what devices handed in, by crowd.
func within(c simulate.Collection, handed []tally.Tally) error {
	for crowd, counted := range c.Crowds {
		switch n := counted.Tally.(type) {
		case nil: // withheld
		case *tally.Counts:
			for i, most := range handed[crowd].(*tally.Counts).N {
				if n.N[i] > most {
					return errRoute
				}
			}
		case *tally.Rows:
			if n.Len() > handed[crowd].(*tally.Rows).Len() {
				return errRoute
			}
		default:
			return errRoute
		}
	}
	return nil
}

// arrived says whether the counts of a collection are what devices handed in, by crowd.
func arrived(c simulate.Collection, handed []tally.Tally) error {
	if c.Dropped > 0 {
		return errRoute
	}
	for crowd, counted := range c.Crowds {
		if counted.Tally == nil {
			continue
		}
		a, errA := counted.Tally.MarshalBinary()
		b, errB := handed[crowd].MarshalBinary()
		if errors.Join(errA, errB) != nil || !bytes.Equal(a, b) {
			return errRoute
		}
	}
	return nil
}

// enough returns how many devices fill the largest crowd of every instance, but for one chance
// in a million or so.
func (g *leg) enough() int {
	p, largest := g.protocol.Plan, g.known.share()
	n := float64(p.Crowd.Minimum)
	if p.Contributions() == 1 {
		largest /= float64(len(p.Route.Instances()))
	}
	if largest < 1 {
		n = (n + 5*math.Sqrt(n) + 10) / largest * 1.05
	}
	return int(math.Ceil(n))
}

// handed counts, by crowd, what devices hand in that draw from the streams of a seed, in
// batches that leave the shuffler.
func (g *leg) handed(values []question.Value, seed uint64) ([]tally.Tally, error) {
	type batch struct{ instance, crowd int }
	counts, devices := map[batch]tally.Tally{}, map[batch]int{}
	for i, v := range values {
		d, err := g.device(seeded.New(seed, uint64(i)))
		if err != nil {
			return nil, err
		}
		a, err := d.Answer(v, nil, nil)
		if err != nil {
			return nil, err
		}
		for _, part := range a.Parts {
			b := batch{part.Instance, a.Crowd}
			if devices[b]++; counts[b] == nil {
				counts[b] = g.protocol.NewTally()
			}
			if part.Vector != nil {
				if err := g.split(counts[b], part.Vector); err != nil {
					return nil, err
				}
			}
			for _, payload := range part.Payloads {
				if err := fragment.Count(counts[b], payload); err != nil {
					return nil, err
				}
			}
		}
	}
	all := make([]tally.Tally, g.protocol.Plan.Crowds())
	for i := range all {
		all[i] = g.protocol.NewTally()
	}
	for b, c := range counts {
		if devices[b] < g.protocol.Plan.Crowd.Minimum {
			continue
		}
		if err := all[b.crowd].Merge(c); err != nil {
			return nil, err
		}
	}
	return all, nil
}
