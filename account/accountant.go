package account

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/rdp"
)

// epsilon works out the smallest epsilon that is proved at delta.
func (o Options) epsilon(e Event, delta float64) (Guarantee, error) {
	g, err := statement(e)
	if err != nil {
		return Guarantee{}, err
	}
	if !(delta > 0 && delta < 1) {
		return Guarantee{}, fmt.Errorf("account: delta %v: need 0 < delta < 1", delta)
	}
	o.Neglect = delta * profile.Neglect / float64(g.Rounds)
	c, err := o.curve(e, &g)
	if err != nil {
		return Guarantee{}, err
	}
	g.Delta = delta
	if g.Epsilon, err = c.Epsilon(delta); err != nil {
		return Guarantee{}, err
	}
	if local, ok := ownLosses(e); ok && !o.Lower && local < g.Epsilon {
		g.Epsilon, g.Bound = local, Upper
		g.Method = Join(g.Method, "not above the sum of the losses of one respondent's own messages")
	}
	if !(g.Epsilon <= profile.MaxEpsilon) {
		return Guarantee{}, fmt.Errorf("account: no epsilon up to %v at delta %v: something is revealed outright more often than that", float64(profile.MaxEpsilon), delta)
	}
	return g, nil
}

// Delta returns the smallest delta that is proved at epsilon, rounded up.
func (o Options) Delta(e Event, epsilon float64) (Guarantee, error) {
	g, err := statement(e)
	if err != nil {
		return Guarantee{}, err
	}
	if !(epsilon >= 0 && epsilon <= profile.MaxEpsilon) {
		return Guarantee{}, fmt.Errorf("account: epsilon %v: need 0 <= epsilon <= %v", epsilon, float64(profile.MaxEpsilon))
	}
	// What may be neglected depends on the answer: look ever deeper until the
	// answer stands out.
	for floor := 1e-20; ; floor *= floor {
		o.Neglect = max(floor, profile.MinTail) / float64(g.Rounds)
		c, err := o.curve(e, &g)
		if err != nil {
			return Guarantee{}, err
		}
		g.Epsilon = epsilon
		if g.Delta, err = c.Delta(epsilon); err != nil {
			return Guarantee{}, err
		}
		if g.Delta*profile.Neglect >= floor || g.Delta == 0 || floor < profile.MinTail {
			break
		}
	}
	if math.IsNaN(g.Delta) {
		return Guarantee{}, fmt.Errorf("account: %T has no delta at epsilon %v", e, epsilon)
	}
	return g, nil
}

func statement(e Event) (Guarantee, error) {
	if e == nil {
		return Guarantee{}, errors.New("account: no event")
	}
	return e.Terms()
}

// use is one mechanism with the number of rounds it is used for.
type use struct {
	event  Event
	rounds int
}

// merge counts equal mechanisms together.
func merge(uses []use) []use {
	var merged []use
	for _, u := range uses {
		i := slices.IndexFunc(merged, func(m use) bool { return reflect.DeepEqual(m.event, u.event) })
		if i < 0 {
			merged = append(merged, u)
		} else {
			merged[i].rounds += u.rounds
		}
	}
	return merged
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
	case reducer:
		return flatten(e.Reduce(), rounds)
	}
	return []use{{e, rounds}}
}

// curve finds a profile of the event: a formula if one covers it, else privacy
// loss distributions, else Renyi divergences; it completes the statement g.
func (o Options) curve(e Event, g *Guarantee) (profile.Curve, error) {
	uses := merge(flatten(e, 1))
	g.Bound = Upper
	if o.Lower {
		g.Bound = Lower
	}
	g.Certified = o.Certificate(e)
	if o.Whole {
		if c, err := o.Composed(e); err == nil {
			return c, nil
		}
	}
	if len(uses) > 1 && !o.Lower {
		if c, ok := together(uses, o); ok {
			return c, nil
		}
	}
	if len(uses) == 1 {
		if p, ok := uses[0].event.(profiler); ok {
			c, bound, err := p.Profile(uses[0].rounds, o)
			if err != nil {
				return nil, err
			}
			if c != nil {
				g.Bound = bound
				return c, nil
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
		return o.Composed(e)
	case renyiless == nil && !o.Lower:
		g.Method = "Renyi divergence, best order"
		g.Source = Join(g.Source, "conversion: Canonne, Kamath, Steinke 2020, Proposition 12")
		return renyiSum(uses), nil
	}
	return nil, &Unsupported{lossless, "it has neither a formula nor a loss distribution for this composition"}
}

// Join lists distinct remarks.
func Join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "" || strings.Contains(a, b):
		return a
	}
	return a + "; " + b
}

// PointsPerSpread is the resolution of the grid: connect-the-dots inflates the
// variance of one round's loss by at most a quarter of a squared pitch, and a
// sixth on average: 1/135,000 of it, so epsilon by about 4e-6 of itself.
const PointsPerSpread = 150

// wholePitches coarsens the grid of a profile of which many points are wanted: the error is 6e-5 of epsilon, and
// each point takes a quarter of the time.
const wholePitches = 4

// pitch returns that of the grid of a composition, and how many pitches it is of the grid that its
// commonest part has by itself: what such a part has found for that one serves for this one.
// It follows from the mean variance of a round: the error of a part far narrower than the pitch is
// still of second order, and counts against the spread of the whole. Beside few narrow rounds a wide
// one has a finer grid: whether its few atoms lie on it would move what the rounds add.
func (o Options) pitch(uses []use) (pitch float64, of int) {
	variance, rounds, widest, common := 0.0, 0.0, 0.0, uses[0]
	for _, u := range uses {
		s := u.event.(plder).Spread()
		variance += float64(u.rounds) * s * s
		rounds += float64(u.rounds)
		widest = math.Max(widest, s)
		if u.rounds > common.rounds || u.rounds == common.rounds && s < common.event.(plder).Spread() {
			common = u
		}
	}
	pitch = math.Sqrt(variance/rounds) / PointsPerSpread
	if o.Whole {
		pitch *= wholePitches
	}
	alone := common.event.(plder).Spread() / PointsPerSpread
	message := slices.ContainsFunc(uses, func(u use) bool { return u.rounds == 1 }) // opened, beside the rounds of others
	l, ok := common.event.(latticed)
	if ok {
		if few := l.Lattice() / pitch; len(uses) == 1 && few < PointsPerSpread { // the largest loss matters
			return l.Lattice() / math.Ceil(few), 1
		}
		alone = l.Lattice() / math.Ceil(l.Lattice()/alone)
	}
	if len(uses) > 1 && !(ok && message) {
		return pitch, 1
	}
	if len(uses) == 1 && !o.Whole {
		return alone, 1
	}
	most := pitch / alone * (1 + 1e-9) // one that is the part's own may round below it
	if len(uses) > 1 {
		most = math.Min(most, math.Max(0.5*math.Sqrt(float64(common.rounds)), widest/alone/(1<<16)))
	}
	if pitch < alone*(1-1e-9) {
		return pitch, 1
	}
	for of = 1; float64(2*of) <= most; {
		of *= 2
	}
	return alone * float64(of), of
}

// compositions returns those of the two directions in which neighbours may change, or twice
// the same one that dominates both.
func (o Options) compositions(uses []use) (directions [2]*pld.Composition, one bool, err error) {
	if o.Step == 0 {
		o.Step, o.Pitches = o.pitch(uses)
	}
	if !(o.Step > 0) || math.IsInf(o.Step, 1) {
		return directions, false, fmt.Errorf("account: no grid of losses has pitch %v", o.Step)
	}
	if o.Neglect > 0 { // rounded down, so that askers for nearly the same find what the first one found
		_, power := math.Frexp(o.Neglect)
		o.Neglect = math.Ldexp(0.5, power)
	}
	one = true
	for i := range directions {
		directions[i] = new(pld.Composition)
	}
	for _, u := range uses {
		ds, err := u.event.(plder).Distributions(o)
		if err != nil {
			return directions, false, err
		}
		one = one && len(ds) == 1
		for i := range directions {
			if err := directions[i].Add(ds[min(i, len(ds)-1)], u.rounds); err != nil {
				return directions, false, err
			}
		}
	}
	if one {
		directions[1] = directions[0]
	}
	return directions, one, nil
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

// Deltas returns the larger at each of the epsilons, up to the first where both are at most neglect.
func (w worse) Deltas(epsilons []float64, neglect float64) ([]float64, error) {
	a, err := w[0].Deltas(epsilons, neglect)
	if err != nil {
		return nil, err
	}
	b, err := w[1].Deltas(epsilons, neglect)
	if len(a) < len(b) {
		a, b = b, a
	}
	for i := range b {
		a[i] = math.Max(a[i], b[i])
	}
	return a, err
}

// renyiSum adds up Renyi divergences order by order.
func renyiSum(uses []use) rdp.Curve {
	return func(order float64) float64 {
		sum := 0.0
		for _, u := range uses {
			sum += float64(u.rounds) * u.event.(rdper).Renyi(order)
		}
		return sum
	}
}

// Spread returns the deviation of the losses of what an event is composed of that have a
// distribution.
func Spread(e Event) float64 {
	variance := 0.0
	for _, u := range flatten(e, 1) {
		if p, ok := u.event.(plder); ok {
			s := p.Spread()
			variance += float64(u.rounds) * s * s
		}
	}
	return math.Sqrt(variance)
}

// Certificate says which data sets the numbers of an event were checked over.
func (o Options) Certificate(e Event) string {
	all := ""
	for _, u := range merge(flatten(e, 1)) {
		if c, ok := u.event.(certifier); ok {
			all = Join(all, c.Certificate(o))
		}
	}
	return all
}

// Directions returns the composed losses of an event in the two directions in which
// neighbours may change, or twice the one that dominates both. Every part must have a
// distribution. The pitch of the grid is o.Step, or its own if that is 0.
func (o Options) Directions(e Event) (directions [2]*pld.Composition, one bool, err error) {
	uses := merge(flatten(e, 1))
	for _, u := range uses {
		if _, ok := u.event.(plder); !ok {
			return directions, false, &Unsupported{u.event, "it has no loss distribution, which is needed here"}
		}
	}
	return o.compositions(uses)
}

// Composed returns the profile of an event by its loss distributions.
func (o Options) Composed(e Event) (profile.Curve, error) {
	directions, one, err := o.Directions(e)
	if err != nil {
		return nil, err
	}
	if one {
		return directions[0], nil
	}
	return worse(directions), nil
}

// together asks the first of several different events for the profile of all.
func together(uses []use, o Options) (c profile.Curve, ok bool) {
	j, ok := uses[0].event.(joiner)
	if !ok {
		return nil, false
	}
	all := make([]Repeat, len(uses))
	for i, u := range uses {
		all[i] = Repeat{u.event, u.rounds}
	}
	return j.Together(all, o)
}
