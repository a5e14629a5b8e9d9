package audit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/fragment"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/simulate"
)

// Route is the whole way of a plan's answers, with keys of its own for every party: the
// pipeline of devices, the hops, and the counter.
type Route struct {
	protocol *protocol.Protocol
	keys     simulate.Keys
	promise  protocol.Promise
	holds    records
	others   question.Symbol // of the respondents who are not attacked
	known    *learned
}

// streams of a seed, beside those of views.
const (
	forTraining = 1 << 40
	forSealed   = 2 << 40
)

// NewRoute checks the plan's promise and tries its devices, to learn what their reports look
// like. Tokens, which say nothing of a report, are not asked for.
func NewRoute(p plan.Plan, seed uint64) (*Route, error) {
	if p.State != "" || p.Round != nil {
		return nil, errors.New("audit: the plan is a round of a study: give the plan of the study, whose rounds say as much each")
	}
	if p.Route.Mix == nil {
		return nil, errors.New("audit: the plan's answers are summed, and attacks are on envelopes: give a plan whose answers are mixed")
	}
	p = untied(p)
	t := &Route{}
	var err error
	if t.keys, err = simulate.NewKeys(&p); err != nil {
		return nil, err
	}
	if t.protocol, err = protocol.New(p); err != nil {
		return nil, err
	}
	if _, counts := t.protocol.Question.NewTally().(*tally.Counts); !counts {
		return nil, fmt.Errorf("audit: no attack is known of a question of kind %q that counts no cells", p.Question.Kind)
	}
	if t.promise, err = t.protocol.Promise(); err != nil {
		return nil, err
	}
	pairs, err := apart(t.protocol)
	if err != nil {
		return nil, err
	}
	most := math.Inf(-1)
	for _, pair := range pairs {
		known, err := t.try(pair, seed)
		if err != nil {
			return nil, err
		}
		if d := known.distance(); d > most {
			most, t.holds, t.known = d, pair, known
		}
	}
	t.others, err = t.protocol.Question.Encode(t.holds[2])
	_, err = question.Fits(err)
	return t, err
}

// untied is the plan without tokens, whose keys may be exchanged.
func untied(p plan.Plan) plan.Plan {
	mix := *p.Route.Mix
	mix.Instances = slices.Clone(mix.Instances)
	for i, in := range mix.Instances {
		mix.Instances[i].Hops = slices.Clone(in.Hops)
		for h := range in.Hops {
			mix.Instances[i].Hops[h].Tokens = ""
		}
	}
	p.Route.Mix = &mix
	return p
}

// distance of the two records in a batch of two.
func (l *learned) distance() (d float64) {
	for i, w := range l.weigh {
		d += w * (l.mean[1][i] - l.mean[0][i])
	}
	return d
}

// try lets devices answer with each record, many times.
func (t *Route) try(pair records, seed uint64) (*learned, error) {
	messages := t.protocol.Plan.Envelopes.PerDevice * t.protocol.Plan.Contributions()
	tries := max(200, min(10_000, 1_000_000/messages, 50_000_000/len(t.newCounts().N)))
	d, err := t.device(replay.New(seed, forTraining))
	if err != nil {
		return nil, err
	}
	c := t.newCounts()
	l := newLearned(c, t.protocol.Plan.Crowds())
	for who, value := range pair {
		for range tries {
			clear(c.N)
			crowd, _, err := d.answer(value, c)
			if err != nil {
				return nil, err
			}
			l.add(who, c.N, crowd)
		}
	}
	l.done(tries)
	return l, nil
}

func (t *Route) newCounts() *tally.Counts { return t.protocol.Question.NewTally().(*tally.Counts) }

// device is a pipeline whose payloads are counted as they are.
type device struct {
	*client.Pipeline
	route *Route
}

func (t *Route) device(r *rand.Rand) (device, error) {
	p, err := client.New(t.protocol, r)
	return device{p, t}, err
}

// answer counts what the device hands in, but for the seals, and returns its crowd and the
// cell of its first message: payloads are permuted.
func (d device) answer(v question.Value, c *tally.Counts) (crowd, cell int, err error) {
	a, err := d.Answer(v, nil, nil)
	if err != nil {
		return 0, 0, err
	}
	cell = -1
	for part, packed := range a.Parts {
		for i, payload := range packed.Payloads {
			if err := fragment.Count(c, payload); err != nil {
				return 0, 0, err
			}
			if body, _ := fragment.Unpack(payload); part+i == 0 && body != nil {
				channel, symbol, err := tally.ParseMessage(body)
				if err != nil {
					return 0, 0, err
				}
				cell = int(channel)*c.Symbols + int(symbol)
			}
		}
	}
	return a.Crowd, cell, nil
}

// view draws what a device hands in, among what so many others do.
func (t *Route) view(others int, score func(own, all []uint64, crowd, cell int) float64) func() View {
	return func() View {
		var last *rand.Rand
		var d device
		own, all := t.newCounts(), t.newCounts()
		return func(r *rand.Rand, second bool) float64 {
			var err error
			if r != last {
				d, err = t.device(r)
				last = r
			}
			value := t.holds[0]
			if second {
				value = t.holds[1]
			}
			clear(own.N)
			clear(all.N)
			var crowd, cell int
			if err == nil {
				crowd, cell, err = d.answer(value, own)
			}
			for i := 0; i < others && err == nil; i++ {
				err = t.other(r, all)
			}
			if err != nil {
				panic("audit: " + err.Error()) // these devices have answered before
			}
			all.Merge(own)
			return score(own.N, all.N, crowd, cell)
		}
	}
}

// other counts the report of a respondent who is not attacked.
func (t *Route) other(r *rand.Rand, c *tally.Counts) error {
	report, err := t.protocol.Question.Randomize(r, t.others, nil)
	for _, part := range report.Parts {
		for _, body := range part {
			if err == nil {
				err = c.Add(body)
			}
		}
	}
	return err
}

// observers are those of a plan's statements whom an attack is known of.
func (t *Route) observers() map[string]Observed {
	honest, l := t.protocol.Plan.HonestMinimum(), t.known
	messages := t.protocol.Plan.Envelopes.PerDevice * t.protocol.Plan.Contributions()
	return map[string]Observed{
		account.EveryoneColludes: {Sees: "all that one device hands in", Work: 4 * messages, New: t.view(0, func(own, _ []uint64, crowd, _ int) float64 {
			return l.crowd(crowd) + l.own(own)
		})},
		account.OneFragmentSeen: {Sees: "one message of a device, and the counts of its batch", Work: 2 * messages * honest, New: t.view(honest-1, func(_, all []uint64, crowd, cell int) float64 {
			return l.crowd(crowd) + l.message(cell) + l.sum(all, honest)
		})},
		account.ShufflerHonest: {Sees: "the counts of a batch", Work: 2 * messages * honest, New: t.view(honest-1, func(_, all []uint64, crowd, _ int) float64 {
			return l.crowd(crowd) + l.sum(all, honest)
		})},
	}
}

// Attack attacks the route before each observer of the plan's promise whose guarantee says
// anything: each by so many collections, or for 0 by as many as take some ten seconds. What
// a removal guarantee says of two records is what follows from it.
func (t *Route) Attack(runs int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	return t.attack(func(o Observed) int { return cmp.Or(runs, o.Runs()) }, seed, progress)
}

func (t *Route) attack(runs func(Observed) int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	var findings []Finding
	known := t.observers()
	for _, s := range t.promise.Statements {
		o, ok := known[s.Observer]
		claim, err := s.Guarantee.Under(account.Replacement)
		if !ok || err != nil || !claim.Meaningful() {
			continue
		}
		f := o.Attack(claim, runs(o), seed, func(done, of int) { progress(s.Observer, done, of) })
		f.Observer = s.Observer
		findings = append(findings, f)
	}
	if len(findings) == 0 {
		return nil, errors.New("audit: the plan promises nothing to any observer that an attack is known of")
	}
	return findings, nil
}

// brief is how many collections Plan draws at most, before each observer.
const brief = 20_000

// Plan attacks the route of a plan, but for the seals, by as many collections as take some
// seconds.
func Plan(p plan.Plan, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	t, err := NewRoute(p, seed)
	if err != nil {
		return nil, err
	}
	return t.attack(func(o Observed) int { return min(brief, o.Runs()) }, seed, progress)
}
