package ltn

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// vectors learns classes from a noisy vector and a class of each respondent.
func (t *task) vectors() (Result, error) {
	public, asked := t.split()
	res := Result{Cell: t.Cell, Respondents: len(asked), Public: len(public)}
	e, err := t.encoder(dataset.Rows(t.set.Train.X, public))
	if err != nil {
		return res, err
	}
	res.EpsilonMade, res.Claim = e.Trained.Epsilon, e.Trained.Claim
	values, y := make(distribution.Values, len(asked)), make([]int, len(asked))
	for k, i := range asked {
		y[k] = t.set.Train.Y[i]
		values[k] = t.record(i, 0, y[k])
	}
	v, p, err := t.askVectors(e.Encoder, t.set.Classes, nil, len(asked), values)
	if err != nil {
		return res, err
	}
	told := make([]int, len(v.Reports))
	for i, r := range v.Reports {
		told[i] = r.Class
	}
	classes := len(t.set.Classes)
	if err := t.learned(&res, e, v, told, v.How.Class.Epsilon, asked, y); err != nil {
		return res, err
	}
	return t.finish(res, p, classes), nil
}

// learned adds what is learned from vectors, and from the class or the group that was told beside each at that local
// epsilon; and from those of the respondents as they are.
func (t *task) learned(res *Result, e *encoding, v *latent.Vectors, told []int, epsilon float64, asked, y []int) (err error) {
	kinds := 1 + slices.Max(y)
	if t.Level == experiments.FeatureLevel {
		res.AccuracyClean, res.AccuracyLatent, err = t.decoded(e, v, told, epsilon, kinds)
		return err
	}
	weights := learn.Reported(e.Encoder, v.How.Vector, bodies(v.Reports))
	c, err := learn.ByPrototypes(t.stream(forNet), e.Prototypes, weights, told, epsilon, kinds, featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	codes := learn.Codes(e.Encoder, t.set.Test.X)
	res.AccuracyClean = t.accuracy(c.Classes(codes))
	alone, reports := t.alone(e.Encoder, v.How)
	res.AccuracyLatent = t.accuracy(c.OfReports(e.Prototypes, learn.Reported(e.Encoder, alone, bodies(reports))))
	paper, err := learn.ByNoisy(t.stream(forNet), v.How.Vector, bodies(v.Reports), told, epsilon, kinds, featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	if paper != nil { // a cap's reports are no vectors
		of := t.accuracy(paper.Classes(codes))
		res.AccuracyPaper = &of
	}
	own := learn.Codes(e.Encoder, dataset.Rows(t.set.Train.X, asked))
	scale := training.NewScale(own)
	known, err := training.Known(t.stream(forNet), scale.Examples(own), y, kinds, featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	res.AccuracyNoPrivacy = t.accuracy(classified(known, scale.Examples(codes)))
	return nil
}

// accuracy returns how often it is right what is said of test records: of a novel class and all others both alike.
func (t *task) accuracy(said []int) float64 {
	if t.Application == experiments.Novel {
		return t.balanced(said)
	}
	return right(said, t.set.Test.Y)
}

// classified returns the class that a network finds in each row.
func classified(m *nn.Model, x blas32.General) []int {
	return nn.Classify(m, func(i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }, x.Rows)
}

// novelVectors tells a novel class from the vectors of two groups.
func (t *task) novelVectors() (Result, error) {
	public, group := t.groups()
	size := len(group[0])
	res := Result{Cell: t.Cell, Respondents: 2 * size, Public: len(public)}
	e, err := t.encoder(dataset.Rows(t.set.Train.X, public))
	if err != nil {
		return res, err
	}
	res.EpsilonMade, res.Claim = e.Trained.Epsilon, e.Trained.Claim
	v, p, err := t.askVectors(e.Encoder, nil, groupNames, size, t.members(group))
	if err != nil {
		return res, err
	}
	of := make([]int, len(v.Reports))
	for i, r := range v.Reports {
		of[i] = r.Crowd
	}
	const certain = 30 // an epsilon: groups are told as they are
	asked, y := slices.Concat(group[0], group[1]), make([]int, 2*size)
	for i := size; i < len(y); i++ {
		y[i] = 1
	}
	if err := t.learned(&res, e, v, of, certain, asked, y); err != nil {
		return res, err
	}
	return t.finish(res, p, 2), nil
}

// decoded learns from records that noisy codes stand for, as LTN does at the level of features: the
// accuracy on test records as they are, and on those whose vector alone was told.
func (t *task) decoded(e *encoding, v *latent.Vectors, told []int, epsilon float64, kinds int) (clean, private float64, err error) {
	seen, err := e.records(v.How.Vector, v.Reports)
	if err != nil {
		return 0, 0, err
	}
	m, err := training.Through(t.stream(forNet), seen, told, epsilon, kinds, featuremap.Progress(t.tell))
	if err != nil {
		return 0, 0, err
	}
	alone, reports := t.alone(e.Encoder, v.How)
	if seen, err = e.records(alone, reports); err != nil {
		return 0, 0, err
	}
	return t.accuracy(classified(m, t.set.Test.X)), t.accuracy(classified(m, seen)), nil
}

// askVectors puts a plan of vectors, with classes or of groups of which the smallest has so many, to
// respondents.
func (t *task) askVectors(e *device.Encoder, classes, groups []string, smallest int, who distribution.Values) (*latent.Vectors, plan.Plan, error) {
	state, err := e.Marshal()
	if err != nil {
		return nil, plan.Plan{}, err
	}
	z := t.told(e, len(classes) > 0)
	p := measure.Draft(plan.Question{Kind: "latent", Latent: &plan.Latent{
		Features: e.Inputs(), Classes: classes, Report: plan.LatentVector, Vector: z,
	}}, plan.Budget{LocalEpsilon: t.Epsilon, Delta: delta, Adjacency: "replacement"}, smallest)
	p.Crowd.Names = groups
	m, p, err := t.put(p, state, who)
	if err != nil {
		return nil, p, err
	}
	return m.Vectors, p, nil
}

// told returns how a vector of an encoder is told, beside a class or alone.
func (t *task) told(e *device.Encoder, classes bool) *plan.Latents {
	mechanism := device.NameLaplace
	switch {
	case t.Mechanism == experiments.PrivUnit:
		mechanism = device.NameCap
	case t.Gaussian:
		mechanism = device.NameGaussian
	}
	z := plan.Latents{Mechanism: mechanism, Dim: e.Dim(), Length: e.Ball(mechanism)}
	if classes && t.Split > 0 {
		z.Epsilon = t.Split * t.Epsilon * (1 - 1e-12) // the sum is rounded up
	}
	return &z
}

// bodies returns the vectors of reports.
func bodies(reports []latent.Report) [][]byte {
	out := make([][]byte, len(reports))
	for i, r := range reports {
		out[i] = r.Vector
	}
	return out
}

// alone are reports of test records of which a device tells the vector alone, at the whole epsilon.
func (t *task) alone(e *device.Encoder, how device.Report) (device.Mechanism, []latent.Report) {
	alone := atEpsilon(how.Vector, t.Epsilon)
	r, reports := t.stream(forTest), make([]latent.Report, t.set.Test.Len())
	for i := range reports {
		reports[i].Vector = alone.Randomize(r, e.Encode(t.set.Test.X.Data[i*t.set.Test.X.Stride:][:t.set.Test.X.Cols]))
	}
	return alone, reports
}

// atEpsilon returns a mechanism at another local epsilon, of a vector alone.
func atEpsilon(m device.Mechanism, epsilon float64) device.Mechanism {
	switch m := m.(type) {
	case device.Gaussian:
		alone, err := device.NewGaussian(m.Dim, m.Length, m.Points, randomize.KRR{}, epsilon, m.Delta)
		if err != nil {
			panic("ltn: a Gaussian has no noise for an epsilon at which it had some: " + err.Error())
		}
		return alone
	case device.Laplace:
		m.Epsilon = epsilon
		return m
	case device.Cap:
		return device.BestCap(m.Dim, epsilon)
	}
	return m
}

func right(said, want []int) float64 {
	n := 0
	for i, y := range said {
		if y == want[i] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(want)))
}

// put puts a designed plan with its state to respondents, each report drawn by law, and gives what
// the analyzer learns.
func (t *task) put(p plan.Plan, state []byte, who distribution.Values) (*latent.Model, plan.Plan, error) {
	p.State = plan.StateName(state)
	p, _, err := measure.Designed(p)
	if err != nil {
		return nil, p, err
	}
	proto, err := protocol.WithState(p, state)
	if err != nil {
		return nil, p, err
	}
	crowds, err := distribution.Draw(proto, who, func(part ...uint64) *rand.Rand {
		return seeded.New(t.Seed, append([]uint64{forReports}, part...)...)
	}, func(done int) { t.tell("reports", done, who.Respondents()) })
	if _, err := question.Fits(err); err != nil {
		return nil, p, err
	}
	m, err := proto.Learn(crowds)
	if err != nil {
		return nil, p, err
	}
	return m.(*latent.Model), p, nil
}
