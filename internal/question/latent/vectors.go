package latent

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// vectors are reports of one message each, of an encoder's vector and the class: they say nothing
// in sum, and the tally keeps them as they are.
type vectors struct {
	plan plan.Plan
	latent.Report
}

func newVectors(p plan.Plan) (*vectors, error) {
	ask := p.Question.Latent
	z, v := ask.Vector, &vectors{plan: p}
	switch z.Mechanism {
	case latent.NameCap:
		v.Vector = latent.Cap{Cap: direction.Cap{Dim: z.Dim, Clip: 1, Share: z.Share, Epsilon: z.Epsilon}}
	case latent.NameGaussian:
		v.Vector = latent.Gaussian{Dim: z.Dim, Length: z.Length, Points: z.Points, Sigma: z.Sigma, Delta: p.Budget.Delta}
	default:
		v.Vector = latent.Laplace{Dim: z.Dim, Length: z.Length, Points: z.Points, Epsilon: z.Epsilon}
	}
	if len(ask.Classes) > 0 {
		v.Class = randomize.KRR{K: len(ask.Classes), Epsilon: z.ClassEpsilon}
	}
	return v, v.Report.Validate()
}

// vector is the symbol: -1 is the class of what does not fit.
type vector struct {
	crowd int
	x     []float32
	class int
}

// encodeVector returns the encoder's vector of a record, or of one that does not fit zero with no class.
func (q *Question) encodeVector(r Record) (question.Symbol, error) {
	if q.encoder == nil {
		return nil, errStateless
	}
	if r.Crowd < 0 || r.Crowd >= q.plan.Crowds() {
		return nil, fmt.Errorf("latent: the crowd is not one of the plan's %d", q.plan.Crowds())
	}
	cause := error(nil)
	if r.Class < 0 || r.Class >= max(1, len(q.ask.Classes)) {
		cause = fmt.Errorf("the class is not one of the plan's %d", len(q.ask.Classes))
	}
	x := q.encoder.Encode(r.Features)
	for _, v := range x {
		if v-v != 0 && cause == nil {
			cause = fmt.Errorf("a number of the record is not finite, or too large")
		}
	}
	if cause == nil {
		return vector{r.Crowd, x, r.Class}, nil
	}
	clear(x)
	return vector{r.Crowd, x, -1}, &question.OutOfDomainError{Values: 1, Cause: cause}
}

// Randomize says one message.
func (v *vectors) Randomize(r *rand.Rand, s question.Symbol, _ question.Memory) (question.Report, error) {
	x := s.(vector)
	return question.Report{Crowd: x.crowd, Parts: [][][]byte{{v.Report.Randomize(r, x.x, x.class)}}}, nil
}

// NewTally keeps messages as they are.
func (v *vectors) NewTally() tally.Tally { return tally.NewRows(v.Size()) }

// Event returns that of whole reports, shuffled: by clones, or of a Gaussian of a report by itself.
func (v *vectors) Event(honest int, _ bool) account.Event { return v.Report.Event(honest) }

// Risks: who is in a group is public.
func (v *vectors) Risks() (r question.Risks) {
	if len(v.plan.Crowd.Names) > 0 {
		r.CrowdLoss = math.Inf(1)
	}
	return r
}

// Guarantees: a report is one message.
func (v *vectors) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	return terms.OneMessage(v.plan, v.Local(account.Replacement), shuffled), nil
}

// Words returns the question's.
func (v *vectors) Words() question.Words {
	w := question.Words{Crowd: "crowd", Crowds: []string{"everybody"}}
	if len(v.plan.Crowd.Names) > 0 {
		w.Crowds = nil
		for _, name := range v.plan.Crowd.Names {
			w.Crowds = append(w.Crowds, fmt.Sprintf("crowd %q", name))
		}
	}
	if v.plan.Question.Latent.Vector.Mechanism == latent.NameCap {
		w.Assumptions = append(w.Assumptions, "Every cap has its share of all seeds, as of directions drawn from the sphere.")
	}
	return w
}

const (
	// points of the grid: steps that are small beside the noise at every epsilon up to 50.
	points = 1 << 12
	// split is the vector's part of the local epsilon, and the class has the rest (LTN's lambda).
	split = 0.7
)

// designVectors fills in what is open of how a vector and a class are told.
func designVectors(p plan.Plan, ask *plan.Latent) (plan.Plan, error) {
	z := *ask.Vector
	ask.Vector = &z
	whole := p.Budget.LocalEpsilon * (1 - 1e-12) // the sum is rounded up
	if z.Epsilon == 0 && z.Sigma == 0 {
		z.Epsilon = whole
		if len(ask.Classes) > 0 {
			z.Epsilon = split * whole
		}
	}
	if len(ask.Classes) > 0 && z.ClassEpsilon == 0 && z.Sigma == 0 {
		z.ClassEpsilon = whole - z.Epsilon
	}
	switch {
	case z.Mechanism == latent.NameCap:
		z.Share = latent.BestCap(z.Dim, z.Epsilon).Share
	case z.Points == 0:
		z.Points = points
	}
	if z.Mechanism == latent.NameGaussian && z.Sigma == 0 {
		m, err := latent.NewGaussian(z.Dim, z.Length, z.Points, randomize.KRR{K: len(ask.Classes), Epsilon: z.ClassEpsilon}, p.Budget.LocalEpsilon, p.Budget.Delta)
		if err != nil {
			return p, err
		}
		z.Sigma, z.Epsilon = m.Sigma, 0
		if p.Budget.Epsilon == 0 { // no theorem hides it among others
			p.Budget.Epsilon = p.Budget.LocalEpsilon
		}
	}
	v, err := newVectors(p)
	if err != nil {
		return p, err
	}
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 1, max(p.Envelopes.PayloadBytes, fragment.Size(v.Size()))
	if p.Budget.Epsilon == 0 {
		p.Budget.Epsilon, err = terms.Implied(v.Report.Event(p.MinHonest()), p.Budget.Delta)
	}
	return p, err
}
