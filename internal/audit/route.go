package audit

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// Route is the whole way of a plan's answers, with keys of its own for every party: the
// pipeline of devices, the hops, and the counter. It has a leg for each round.
type Route struct {
	keys simulate.Keys
	legs []*leg
	all  account.Statement // of all rounds together; empty where there is one

	tokened []token.Context // where the plan demands tokens
}

// streams of a seed, beside those of views.
const (
	forTraining  = 1 << 40
	forSealed    = 2 << 40
	forRounds    = 3 << 40
	forShapes    = 4 << 40
	forClimbs    = 5 << 40
	forConstants = 6 << 40
)

// Rounds says which rounds of a plan are attacked.
type Rounds struct {
	State []byte // the public state that the plan names; nil: none is named, and the first round's is made
	Count int    // how many rounds from the plan's on, each respondent answering all; 0 is 1
}

// maxRounds bounds how many rounds are attacked together: each takes devices of its own.
const maxRounds = 1000

// NewRoute checks the plan's promise and tries its devices, to learn what their reports look
// like. Tokens, which say nothing of a report, are looked at by themselves (Constants). The state of a later round
// is the one that a collection of the round before gives.
func NewRoute(p plan.Plan, rounds Rounds, seed uint64) (*Route, error) {
	if rounds.Count < 0 || rounds.Count > maxRounds {
		return nil, fmt.Errorf("audit: %d rounds: give 1 to %d", rounds.Count, maxRounds)
	}
	if p.State != "" && rounds.State == nil {
		return nil, errors.New("audit: the plan names a public state: give it too")
	}
	if p.Route.Table != nil {
		return nil, errors.New("audit: the plan is of a table: no device answers, and no party is attacked")
	}
	if p.Correlated() != nil {
		return nil, errors.New("audit: the rounds of the plan are correlated, and each tells of all before it: no attack on that is known here")
	}
	t := &Route{tokened: demanding(p)}
	p = untied(p)
	var err error
	signs := p.Analyzer.Releases
	if t.keys, err = simulate.NewKeys(&p); err != nil {
		return nil, err
	}
	if signs != "" {
		p.Analyzer.Releases = signs // nothing is signed here
	}
	p.Version = plan.Version // an earlier plan promises the same, and no entry takes its contributions any more
	count, state := max(1, rounds.Count), rounds.State
	if count > 1 && p.Round == nil {
		p.Round = &plan.Round{Study: p.Name(), Number: 1}
	}
	for i := range count {
		one, err := newLeg(p, t.keys, state, i, seed)
		if err != nil {
			return nil, err
		}
		if t.legs = append(t.legs, one); i+1 == count {
			break
		}
		p.Round = &plan.Round{Study: p.Round.Study, Number: p.Round.Number + 1}
		if state, err = one.next(seeded.New(seed, forRounds, uint64(i))); err != nil {
			return nil, err
		}
	}
	return t, t.compose()
}

// compose finds the claim of all rounds together.
func (t *Route) compose() error {
	first := t.legs[0]
	all, err := first.protocol.Composed(first.promise, plan.Study{Rounds: len(t.legs), Takes: plan.TakesAll})
	if err == nil && len(all) > 0 {
		t.all = all[0]
	}
	return err
}

// untied returns the plan without tokens, whose keys may be exchanged.
func untied(p plan.Plan) plan.Plan {
	if p.Route.Sum != nil {
		p.Route.Sum = untiedSum(*p.Route.Sum)
		return p
	}
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

// runnable returns the plan with a public state: the given one, or the first round's where there
// is one.
func runnable(p plan.Plan, state []byte) (*protocol.Protocol, error) {
	if state == nil {
		p.State = ""
		bare, err := protocol.New(p)
		if err != nil {
			return nil, err
		}
		if state, _, err = results.Next(bare.Question, nil); err != nil || state == nil {
			return bare, err
		}
	}
	name := plan.StateName(state)
	if p.State == "" {
		p.State = name
	}
	return protocol.WithState(p, state)
}

// next returns the state of the round after this one, whose respondents hold the three records
// that there are: nil where there is none.
func (g *leg) next(r *rand.Rand) ([]byte, error) {
	crowds := make([]tally.Crowd, g.protocol.Plan.Crowds())
	d, err := g.device(r)
	if err != nil {
		return nil, err
	}
	for i := range 3 * g.protocol.Plan.Crowd.Minimum {
		t := g.protocol.NewTally()
		a, err := d.answer(g.holds[i%3], t, nil)
		if err == nil {
			err = crowds[a.Crowd].Merge(tally.Crowd{Tally: t, Respondents: 1, Smallest: 1})
		}
		if err != nil {
			return nil, err
		}
	}
	if _, ok := g.protocol.Question.(question.Stateful); !ok {
		return nil, nil
	}
	model, err := g.protocol.Learn(crowds)
	if err != nil {
		return nil, err
	}
	state, _, err := results.Next(g.protocol.Question, model)
	if state == nil {
		state = g.state
	}
	return state, err
}

// Attack attacks the route before each observer of the plan's promise whose guarantee says
// anything: each by so many collections, or for 0 by as many as take some ten seconds. What
// a removal guarantee says of two records is what follows from it.
func (t *Route) Attack(runs int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	return t.attack(func(o Observed) int { return cmp.Or(runs, o.Runs()) }, seed, progress)
}

func (t *Route) attack(runs func(Observed) int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	for _, g := range t.legs {
		if err := g.ready(); err != nil {
			return nil, err
		}
	}
	var all []Finding
	meet := func(s account.Statement, o Observed) {
		claim, err := report.Claim(s.Guarantee)
		if err != nil || !claim.Meaningful() {
			return
		}
		n := runs(o)
		if n == 0 {
			return
		}
		f := o.Attack(claim, n, seed, func(done, of int) { progress(s.Observer, done, of) })
		f.Observer = s.Observer
		all = append(all, f)
	}
	seen := t.legs[0].observers()
	for _, s := range promisedLast(t.legs[0].promise.Statements, relied(t.legs[0].protocol.Plan)) {
		for _, o := range seen[s.Observer] {
			meet(s, o)
		}
	}
	if len(t.legs) > 1 {
		for _, o := range t.every() {
			meet(t.all, o)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("audit: the plan promises nothing to any observer that an attack is known of")
	}
	return all, nil
}

// promisedLast are statements, that of the observer whom the plan's own promise speaks of after all others.
func promisedLast(all []account.Statement, own string) []account.Statement {
	others := slices.DeleteFunc(slices.Clone(all), func(s account.Statement) bool { return s.Observer == own })
	return append(others, slices.DeleteFunc(slices.Clone(all), func(s account.Statement) bool { return s.Observer != own })...)
}

// every returns those who see the batch of every round.
func (t *Route) every() (all []Observed) {
	var legs [][]Observed
	for _, g := range t.legs {
		legs = append(legs, g.observers()[relied(g.protocol.Plan)])
	}
	for i := range legs[0] {
		o := Observed{Sees: fmt.Sprintf("the batches of %d rounds, of each %s", len(legs), legs[0][i].Sees)}
		for _, one := range legs {
			o.Work += one[i].Work
		}
		o.New = func() View {
			views := make([]View, len(legs))
			for round, one := range legs {
				views[round] = one[i].New()
			}
			return func(r *rand.Rand, second bool) (score float64) {
				for _, view := range views {
					score += view(r, second)
				}
				return score
			}
		}
		all = append(all, o)
	}
	return all
}

// most is how many collections a brief attack draws at most, before each observer, and
// longest how many random numbers it may take for the fewest that say anything.
const (
	most    = 20_000
	longest = 10 * budget
)

// brief attacks the route, but for the seals, before each observer, by as many collections as take some
// ten seconds. Left are those whose views take longer, or for whom no attack is known.
func (t *Route) brief(seed uint64, progress func(stage string, done, of int)) (all []Finding, left []string, err error) {
	for _, g := range t.legs {
		if err := g.ready(); err != nil {
			return nil, nil, err
		}
	}
	seen := t.legs[0].observers()
	for _, s := range t.legs[0].promise.Statements {
		all := seen[s.Observer]
		claim, err := report.Claim(s.Guarantee)
		switch {
		case err != nil || !claim.Meaningful(): // there is nothing to attack
		case len(all) == 0:
			left = append(left, s.Observer+", for whom no attack is known")
		case all[0].Work > longest/fewest:
			left = append(left, s.Observer+", whose view takes too long to be drawn again and again")
		}
	}
	all, err = t.attack(func(o Observed) int {
		if o.Work > longest/fewest {
			return 0
		}
		return min(most, o.Runs())
	}, seed, progress)
	if len(all) == 0 && len(left) > 0 {
		err = nil // left says why
	}
	return all, left, err
}
