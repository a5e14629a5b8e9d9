package learn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// design makes the plans of the rounds, as devices would be given them: of a study that they
// answer from end to end, or of rounds with respondents of their own.
func (m *measurement) design(l *learner) error {
	cubes := l.overlap(m.task.public, l.rounds[0].length)[0]
	groups := 1.0 // of vectors that are alike
	if l.rounds[0].sums != plan.SumsSquares {
		groups = float64(len(m.task.classes))
	}
	alike := math.Min(1, math.Cbrt(groups*math.Max(0, cubes)))
	asked := make([]plan.VectorRound, len(l.rounds))
	for i, r := range l.rounds {
		asked[i] = plan.VectorRound{Sums: r.sums, Answered: m.Bits}
		if m.Takes == takesAll {
			asked[i].Answered = max(1, int(r.share*float64(m.Bits)))
			m.shares = append(m.shares, r.share)
		}
		if i == 0 || m.task.white { // gradients in features of an earlier round have little in common
			asked[i].Alike = alike
		}
	}
	if m.proved() {
		return m.designProved(asked)
	}
	if m.Takes == takesAll {
		return m.designStudy(asked)
	}
	for i := range asked {
		p, err := m.draft(asked[i:i+1], len(m.cohorts[i]))
		if err == nil {
			p, err = vector.Design(p)
		}
		if err == nil {
			err = m.take(p)
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		if err := m.promise(m.specs[i].Event(len(m.cohorts[i]))); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) designStudy(asked []plan.VectorRound) error {
	p, err := m.draft(asked, len(m.cohorts[0]))
	if err != nil {
		return err
	}
	if p, err = vector.Study(p, m.shares, m.Epsilon); err != nil {
		return err
	}
	all, designed := account.All{}, p.Question.Vector.Rounds
	for i := range designed {
		v := *p.Question.Vector
		v.Rounds = designed[i : i+1]
		p.Question.Vector = &v
		if err := m.take(p); err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		all.Events = append(all.Events, m.specs[i].Event(len(m.cohorts[i])))
	}
	return m.promise(all)
}

// designProved designs the rounds of a study whose devices prove the length of their vectors.
func (m *measurement) designProved(asked []plan.VectorRound) error {
	for i := range asked {
		asked[i].Answered = 0
	}
	p, err := m.draft(asked, len(m.cohorts[0]))
	if err != nil {
		return err
	}
	if p, err = design.Rounds(p, len(asked)); err != nil {
		return err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return err
	}
	g, err := proto.Rounds(len(asked), m.Delta)
	if err != nil {
		return err
	}
	m.out.Epsilon, m.out.Method, m.out.Trust, m.out.NumbersProved = g.Epsilon, g.Method, string(protocol.Trust(p)), p.Route.Sum.Circuit.Length
	study := plan.Study{Version: plan.StudyVersion, Plan: p, Rounds: max(2, len(asked)), Takes: plan.TakesAll}
	for i := range asked {
		one := p
		if len(asked) > 1 {
			if one, err = study.Round(i+1, "", plan.Times{}); err != nil {
				return err
			}
		}
		m.plans = append(m.plans, one)
	}
	return nil
}

// draft returns a plan of rounds that everybody counts in, with its keys and without its noise.
func (m *measurement) draft(asked []plan.VectorRound, respondents int) (plan.Plan, error) {
	v := &plan.Vector{Features: m.task.train.x.Cols, Classes: m.task.classes, Number: m.task.asked(), Seed: measure.PublicSeed(m.Seed), Rounds: asked}
	p := measure.Draft(plan.Question{Kind: "vector", Vector: v}, plan.Budget{Epsilon: m.Epsilon, Delta: m.Delta, Adjacency: string(account.Replacement)}, respondents)
	p.Route = measure.RouteOf(m.Noise, 1, measure.Hops)
	_, err := simulate.NewKeys(&p)
	return p, err
}

// take adds the plan of a round.
func (m *measurement) take(p plan.Plan) error {
	p, err := protocol.Routed(p) // of this round alone
	if err != nil {
		return err
	}
	q, err := vector.New(p)
	if err != nil {
		return err
	}
	m.out.Trust = string(protocol.Trust(p))
	m.plans, m.specs = append(m.plans, p), append(m.specs, q.Rows().Spec())
	return nil
}

// study puts the plans to the respondents: law draws what they would send, and findings learn
// from it, as an analyzer does. It is what the last round has taught.
func (m *measurement) study(l *learner) (*vector.Model, error) {
	state := m.start(l)
	for i, p := range m.plans {
		proto, err := m.runnable(p, state)
		if err != nil {
			return nil, err
		}
		who := m.respondents(i)
		crowds, err := distribution.Draw(proto, who, func(part ...uint64) *rand.Rand {
			return seeded.New(m.Seed, append([]uint64{forBits, uint64(i)}, part...)...)
		}, func(done int) { m.tell(fmt.Sprintf("round %d", i+1), done, len(who)) })
		if _, err = question.Fits(err); err != nil { // a text without a known word is answered as the zero vector
			return nil, err
		}
		learned, err := proto.Learn(crowds)
		if err != nil {
			return nil, err
		}
		sum, q := learned.(*vector.Model), proto.Question.(*vector.Question)
		write := func(i int, v []float32) { q.Vector(who[i].(vector.Record), v) }
		exact := total(len(who), len(sum.Sum), write)
		if m.proved() {
			m.errors = append(m.errors, drawnError{distance(sum.Sum, exact), sum.Error})
		} else {
			m.compare(m.specs[i], len(who), write, sum.Sum, exact)
		}
		if i == 0 {
			m.first = exact // of baselines too
		}
		if i+1 == len(m.plans) {
			return sum, nil
		}
		if state, _, err = results.Next(proto.Question, sum); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("learn: no rounds")
}

func (m *measurement) runnable(p plan.Plan, state []byte) (*protocol.Protocol, error) {
	if state == nil {
		return protocol.New(p)
	}
	p.State = plan.StateName(state)
	return protocol.WithState(p, state)
}

// start returns the state that the first round asks with, where that is of gradients: zero, in
// features as they are.
func (m *measurement) start(l *learner) []byte {
	if l.rounds[0].sums != plan.SumsGradients {
		return nil
	}
	shape := features.Shape{Dimension: m.task.train.x.Cols, Classes: len(m.task.classes)}
	at := &features.Point{Shape: shape, Mean: make([]float32, shape.Dimension), Whiten: matrix(shape.Dimension, shape.Dimension), Weights: make([]float64, shape.GradientLen())}
	for i := range shape.Dimension {
		at.Whiten.Data[i*shape.Dimension+i] = 1
	}
	state := vector.State{Point: at}
	return state.Marshal()
}

// respondents of a round.
func (m *measurement) respondents(round int) distribution.Values {
	train := m.task.train
	who := make(distribution.Values, len(m.cohorts[round]))
	for i, at := range m.cohorts[round] {
		r := vector.Record{Features: train.row(at)}
		switch n := m.task.asked(); {
		case n != nil:
			r.Number = m.task.number.Middle + m.task.number.Unit*train.target[at]
		case train.target != nil && train.target[at] > 0:
			r.Class = 1
		case train.y != nil:
			r.Class = train.y[at]
		}
		who[i] = r
	}
	return who
}
