package audit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// leg is a round of a plan, with the pair of records that its devices tell apart best.
type leg struct {
	protocol *protocol.Protocol
	keys     simulate.Keys
	state    []byte // public, that it asks with; nil: none
	promise  protocol.Promise
	holds    kinds.Records
	others   question.Symbol // of the respondents who are not attacked
	tries    [2]uint64       // streams of the devices that are tried beforehand
	known    eye             // nil until somebody looks (ready)
	shape    *shape          // likewise
}

// eye is what an attacker makes of what it sees: logarithms of likelihood ratios, about.
type eye interface {
	crowd(c int) float64                             // a device's crowd
	own(report tally.Tally) float64                  // all that a device handed in
	message(report tally.Tally, body []byte) float64 // of that, the first message; nil: a dummy
	sum(batch tally.Tally, respondents int) float64  // what was counted of a batch
	distance() float64                               // how far the two records are apart
	share() float64                                  // of the others, in the crowd that most of them are in
}

// newLeg returns the round of a plan at a state, the round of that number after the first.
func newLeg(p plan.Plan, keys simulate.Keys, state []byte, number int, seed uint64) (*leg, error) {
	if number > 0 {
		p.State = "" // of the round before
	}
	g := &leg{keys: keys}
	var err error
	if g.protocol, err = runnable(p, state); err != nil {
		return nil, err
	}
	g.state = state
	if g.promise, err = g.protocol.Promise(); err != nil {
		return nil, err
	}
	g.tries = [2]uint64{seed, uint64(number)}
	pairs, err := kinds.Pairs(g.protocol, seeded.New(seed, forClimbs, uint64(number)))
	if err != nil {
		return nil, err
	}
	if err := g.choose(pairs); err != nil {
		return nil, err
	}
	g.others, err = kinds.Encode(g.protocol, g.holds[2])
	return g, err
}

// choose takes the pair of records that devices tell apart best.
func (g *leg) choose(pairs []kinds.Records) error {
	if g.holds = pairs[0]; len(pairs) == 1 {
		return nil
	}
	most := math.Inf(-1)
	for i, pair := range pairs {
		known, err := g.look(pair, g.stream(i))
		if err != nil {
			return err
		}
		if d := known.distance(); d > most {
			most, g.holds, g.known = d, pair, known
		}
	}
	return nil
}

func (g *leg) stream(pair int) *rand.Rand {
	return seeded.New(g.tries[0], forTraining, g.tries[1], uint64(pair))
}

// ready has looked at what devices say.
func (g *leg) ready() (err error) {
	if g.known == nil {
		if g.known, err = g.look(g.holds, g.stream(0)); err != nil {
			return err
		}
	}
	if g.shape == nil {
		var d device
		if d, err = g.device(seeded.New(g.tries[0], forShapes, g.tries[1])); err == nil {
			g.shape, err = g.tryShape(d)
		}
	}
	return err
}

// look learns what the devices say of a pair of records.
func (g *leg) look(pair kinds.Records, r *rand.Rand) (eye, error) {
	d, err := g.device(r)
	if err != nil {
		return nil, err
	}
	switch t := g.protocol.NewTally().(type) {
	case *tally.Counts:
		return tryCounts(d, pair, t)
	case *tally.Rows:
		return g.read(d, pair)
	case *tally.Sums:
		return g.newNoised(pair)
	}
	return nil, fmt.Errorf("audit: no attack is known of a question of kind %q, which counts nothing and keeps no rows", g.protocol.Plan.Question.Kind)
}

// device is a pipeline whose payloads are counted as they are.
type device struct {
	*client.Pipeline
	leg *leg
}

func (g *leg) device(r *rand.Rand) (device, error) {
	p, err := client.New(g.protocol, r)
	return device{p, g}, err
}

// devices gives a pipeline for a stream of randomness: the last one where it is of the same.
func (g *leg) devices() func(r *rand.Rand) (device, error) {
	var last *rand.Rand
	var d device
	return func(r *rand.Rand) (_ device, err error) {
		if r != last {
			d, err = g.device(r)
			last = r
		}
		return d, err
	}
}

// held returns the record that the respondent attacked holds.
func (g *leg) held(second bool) question.Value {
	if second {
		return g.holds[1]
	}
	return g.holds[0]
}

// messages returns how many a device hands in.
func (g *leg) messages() int {
	return g.protocol.Plan.MostMessages() * g.protocol.Plan.Contributions()
}

// reply returns what the device hands in, but for the seals.
func (d device) reply(v question.Value) (client.Answer, error) { return d.Answer(v, nil, nil) }

// answer counts what the device hands in, but for the seals, and what of it goes by the first instance, where
// that is asked for.
func (d device) answer(v question.Value, t, first tally.Tally) (client.Answer, error) {
	a, err := d.reply(v)
	if err != nil {
		return a, err
	}
	for _, packed := range a.Parts {
		if packed.Vector != nil {
			return a, d.leg.split(t, packed.Vector)
		}
		for _, payload := range packed.Payloads {
			err := fragment.Count(t, payload)
			if err == nil && first != nil && packed.Instance == 0 {
				err = fragment.Count(first, payload)
			}
			if err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// opened returns the body of the first payload, nil for a dummy: payloads are permuted.
func opened(a client.Answer) []byte {
	if len(a.Parts[0].Payloads) == 0 {
		return nil
	}
	body, _ := fragment.Unpack(a.Parts[0].Payloads[0])
	return body
}

// seen is all there is to be seen of a device.
type seen struct {
	own    tally.Tally // all that it hands in
	first  tally.Tally // of that, what goes by the first instance; nil: one takes all
	batch  tally.Tally // with what the others hand in
	answer client.Answer
}

// view draws what a device hands in, among what so many others do.
func (g *leg) view(others int, score func(seen) float64) func() View {
	return func() View {
		devices := g.devices()
		return func(r *rand.Rand, second bool) float64 {
			d, err := devices(r)
			s := seen{own: g.protocol.NewTally(), batch: g.protocol.NewTally()}
			if g.protocol.Plan.Contributions() > 1 {
				s.first = g.protocol.NewTally()
			}
			if err == nil {
				s.answer, err = d.answer(g.held(second), s.own, s.first)
			}
			for i := 0; i < others && err == nil; i++ {
				err = g.other(r, s.batch)
			}
			if err == nil {
				err = s.batch.Merge(s.own)
			}
			if err != nil {
				panic("audit: " + err.Error()) // these devices have answered before
			}
			return score(s)
		}
	}
}

// other counts the report of a respondent who is not attacked.
func (g *leg) other(r *rand.Rand, t tally.Tally) error {
	if g.protocol.Plan.Route.Sum != nil {
		_, vector, err := g.protocol.Measure(r, g.others, nil)
		if err == nil {
			err = g.split(t, vector)
		}
		return err
	}
	report, err := g.protocol.Question.Randomize(r, g.others, nil)
	for _, part := range report.Parts {
		for _, body := range part {
			if err == nil {
				err = t.Add(body)
			}
		}
	}
	return err
}

// observers returns those of a plan's statements whom an attack is known of.
func (g *leg) observers() map[string][]Observed {
	if n, ok := g.known.(noised); ok {
		return n.observers()
	}
	honest, e, work := g.protocol.Plan.MinHonest(), g.known, 2*g.work()
	among := func(sees string, score func(seen) float64) []Observed {
		return []Observed{{Sees: sees, Work: work * honest, New: g.view(honest-1, func(s seen) float64 {
			return e.crowd(s.answer.Crowd) + g.shape.ofForm(formOf(s.answer)) + score(s) + e.sum(s.batch, honest)
		})}}
	}
	all := map[string][]Observed{
		account.EveryoneColludes: {{Sees: "all that one device hands in", Work: 2 * work, New: g.view(0, func(s seen) float64 {
			o, _ := orderOf(s.answer) // its payloads were counted before
			return e.crowd(s.answer.Crowd) + g.shape.ofForm(formOf(s.answer)) + g.shape.ofOrder(o) + e.own(s.own)
		})}},
		account.OneFragmentSeen: among("one message of a device, and the counts of its batch", func(s seen) float64 { return e.message(s.own, opened(s.answer)) }),
		account.ShufflerHonest:  among("the counts of a batch", func(seen) float64 { return 0 }),
	}
	if g.protocol.Plan.Contributions() > 1 {
		all[account.OneInstanceColludes] = among("what a device hands in by one instance, and the counts of its batch", func(s seen) float64 { return e.own(s.first) })
	}
	all[account.BothAggregators], all[account.OneAggregator] = all[account.EveryoneColludes], all[account.ShufflerHonest]
	if s, ok := g.newSizes(); ok {
		all[account.CrowdSizesSeen] = []Observed{s.observed()}
	}
	return all
}

// work returns about how many random numbers a device takes, and who looks at what it says.
func (g *leg) work() int {
	if r, ok := g.known.(reader); ok {
		return r.work
	}
	return g.messages()
}

// claim returns what the plan promises before an observer, of two records.
func (g *leg) claim(observer string) (account.Guarantee, error) {
	for _, s := range g.promise.Statements {
		if s.Observer == observer {
			return report.Claim(s.Guarantee)
		}
	}
	return account.Guarantee{}, fmt.Errorf("audit: the plan promises nothing to %q", observer)
}
