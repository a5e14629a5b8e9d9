package ldc

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/labeldp"
)

// methods give the accuracy of a run, and state what they promise.
var methods = map[string]func(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error){
	experiments.ClusterRR:    clusterRR,
	experiments.UniformRR:    uniformRR,
	experiments.LikelihoodRR: likelihoodRR,
	experiments.TwoStages:    twoStages,
	experiments.DPSGD:        dpSGD,
	experiments.PeerToPeer:   peerToPeer,
	experiments.NoPrivacy: func(t *task, _ experiments.Labels, run int, _ *experiments.Result) (float64, error) {
		_, accuracy, err := t.learn(training.OneHot(t.labels, t.classes), entropy, run)
		return accuracy, err
	},
}

const forNoise = 0xd1ce

// clusterRR is LDC, Algorithm 1 with the parameters of Corollary 2.
func clusterRR(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error) {
	by := labeldp.Sound
	if l.Constants == string(labeldp.Paper) {
		by = labeldp.Paper
	}
	c := labeldp.Clustered(t.classes, l.Epsilon, l.Heterogeneity, by)
	g, err := c.Guarantee(len(t.labels), by)
	if err != nil {
		return 0, &inadmissible{err}
	}
	of, err := t.in(l.Clusters, run)
	if err != nil {
		return 0, err
	}
	res.Promised = measure.PromisedBy(g)
	if printed, err := c.Guarantee(len(t.labels), labeldp.Paper); err == nil {
		res.Learned.EpsilonPrinted = measure.Finite(printed.Epsilon)
	}
	if run == 0 {
		res.Learned.Clusters = t.measured(c, of)
	}
	targets := c.Relabel(seeded.New(t.seed, forNoise, uint64(run)), t.labels, of)
	_, accuracy, err := t.learn(targets, entropy, run)
	return accuracy, err
}

// measured returns how alike the labels of clusters are.
func (t *task) measured(c labeldp.Curator, of []int) *experiments.LabelClusters {
	const forMeasure, epsilon, draws = 0x3ea, 0.1, 200
	counts, sizes := make([][]int, slices.Max(of)+1), make([]int, slices.Max(of)+1)
	for i := range counts {
		counts[i] = make([]int, t.classes)
	}
	for i, cluster := range of {
		counts[cluster][t.labels[i]]++
		sizes[cluster]++
	}
	r, e := seeded.New(t.seed, forMeasure), labeldp.Estimator{Epsilon: epsilon}
	noisy, smallest := e.Counts(r, counts), slices.Min(sizes)
	return &experiments.LabelClusters{
		Number: len(sizes), Smallest: smallest, Phi: labeldp.Heterogeneity(counts...),
		PhiPrivate: e.Heterogeneity(noisy, sizes), PrivateEpsilon: e.Guarantee(len(of)).Epsilon,
		Psi: c.Distortion(r, noisy, draws), PsiAtMost: c.DistortionBound(smallest),
	}
}

// uniformRR is LDC, Corollary 1: Algorithm 1 in one cluster whose counts nobody looks at.
func uniformRR(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error) {
	c := labeldp.Uniform(t.classes, l.Epsilon)
	g, err := c.Guarantee(len(t.labels), labeldp.Sound)
	if err != nil {
		return 0, &inadmissible{err}
	}
	promiseLocal(res, g)
	targets := c.Relabel(seeded.New(t.seed, forNoise, uint64(run)), t.labels, make([]int, len(t.labels)))
	_, accuracy, err := t.learn(targets, modified, run)
	return accuracy, err
}

// promiseLocal states a guarantee that holds though everyone colludes.
func promiseLocal(res *experiments.Result, g account.Guarantee) {
	res.Promised = measure.PromisedBy(g)
	res.EpsilonLocal = res.Epsilon
}

// response is k-ary randomized response of labels, whose guarantee it states.
func (t *task) response(l experiments.Labels, res *experiments.Result, method, source string) (randomize.KRR, error) {
	m := randomize.KRR{K: t.classes, Epsilon: l.Epsilon}
	if err := m.Validate(); err != nil {
		return m, &inadmissible{err}
	}
	promiseLocal(res, account.Guarantee{Epsilon: l.Epsilon, Adjacency: account.Label, Trust: account.Local, Users: len(t.labels), Rounds: 1, Bound: account.Upper, Method: method, Source: source})
	return m, nil
}

// likelihoodRR are UniformRR's reports, and a loss that says how likely each is.
func likelihoodRR(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error) {
	m, err := t.response(l, res, "randomized response on every device", "Warner 1965")
	if err != nil {
		return 0, err
	}
	r := seeded.New(t.seed, forNoise, uint64(run))
	likely := make([]float32, 0, len(t.labels)*t.classes)
	for _, y := range t.labels {
		likely = append(likely, likelihoods(m.Prob, t.classes, m.Randomize(r, y))...)
	}
	_, accuracy, err := t.learn(likely, likelihood, run)
	return accuracy, err
}

// likelihoods returns how likely a report is for each label.
func likelihoods(law func(y, report int) float64, classes, report int) []float32 {
	p := make([]float32, classes)
	for y := range p {
		p[y] = float32(law(y, report))
	}
	return p
}

// twoStages is LP-2ST (Ghazi et al. 2021, Algorithm 3 with two stages): a model of half of the
// labels says which to expect of the others. Everybody answers once.
func twoStages(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error) {
	m, err := t.response(l, res, "randomized response, of half of the devices among the labels that a public model expects", "Ghazi et al. 2021, Theorem 3")
	if err != nil {
		return 0, err
	}
	r := seeded.New(t.seed, forNoise, uint64(run))
	order := r.Perm(len(t.labels))
	first := order[:len(order)/2]
	half, likely := *t, make([][]float32, len(t.labels))
	half.train = dataset.Rows(t.train, first)
	var early []float32
	for _, i := range first {
		likely[i] = likelihoods(m.Prob, t.classes, m.Randomize(r, t.labels[i]))
		early = append(early, likely[i]...)
	}
	model, _, err := half.learn(early, likelihood, run)
	if err != nil {
		return 0, err
	}
	expected := scores(model, t.train)
	for _, i := range order[len(first):] {
		p, err := labeldp.Expect(expected[i*t.classes:][:t.classes], l.Epsilon)
		if err != nil {
			return 0, err
		}
		// Where one label is kept, the report says nothing, and neither does its likelihood.
		likely[i] = likelihoods(p.Law, t.classes, p.Randomize(r, t.labels[i]))
	}
	_, accuracy, err := t.learn(slices.Concat(likely...), likelihood, run)
	return accuracy, err
}

// scores returns a model's probabilities of rows.
func scores(m *nn.Model, x blas32.General) []float32 {
	const block = 500
	out, pass := make([]float32, 0, x.Rows*m.Outputs()), nn.NewPass(m)
	for from := 0; from < x.Rows; from += block {
		part := x
		part.Rows, part.Data = min(block, x.Rows-from), x.Data[from*x.Stride:]
		out = append(out, pass.Forward(dataset.Copied(part).Data, part.Rows)...)
	}
	nn.Softmax(out, m.Outputs())
	return out
}

// scale divides by the root of a mean square.
func scale(x blas32.General, square float64) {
	for i := range x.Data {
		x.Data[i] /= float32(math.Sqrt(square))
	}
}
