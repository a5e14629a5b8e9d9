package ltn

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/kmeans"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
)

// ofFirst are the columns of the party that has the outcome: those of LTN's (appendix E.1.3) that the
// file has.
var ofFirst = []string{"open_acc", "pub_rec_bankruptcies", "credit_years", "emp_length", "rent", "mortgage"}

// joined is how a linear model of joined columns is trained.
var joined = training.Training{Epochs: 30, Batch: 128, Rate: 0.01, Decay: 0.01, Loss: nn.CrossEntropy}

// joining learns from some columns as they are, with the outcome, and others that another party tells
// with noise of its own, joined by a public key: a plan of numbered records. Who tells which is known, and nothing hides
// among others. Records that are classified are joined rows as well.
func (t *task) joining() (Result, error) {
	public, asked := t.split()
	first, second := t.columns()
	res := Result{Cell: t.Cell, Respondents: len(asked), Public: len(public), Claim: device.ClaimPublic, EpsilonLocal: t.Epsilon, EpsilonCentral: t.Epsilon}
	ours, others := pick(t.set.Train.X, asked, first), pick(t.set.Train.X, asked, second)
	tests := make([]int, t.set.Test.Len())
	for i := range tests {
		tests[i] = i
	}
	testOurs, testOthers := pick(t.set.Test.X, tests, first), pick(t.set.Test.X, tests, second)
	var y []int
	for _, i := range asked {
		y = append(y, t.set.Train.Y[i])
	}
	accuracy := func(train, test blas32.General) (float64, *nn.Model, error) {
		m, err := training.Fit(t.stream(forNet), train, training.OneHot(y, 2), 2, joined, featuremap.Progress(t.tell))
		if err != nil {
			return 0, nil, err
		}
		return training.Accuracy(m, test, t.set.Test.Y), m, nil
	}
	var err error
	if res.AccuracyAlone, _, err = accuracy(ours, testOurs); err != nil {
		return res, err
	}
	if res.AccuracyNoPrivacy, _, err = accuracy(beside(ours, others), beside(testOurs, testOthers)); err != nil {
		return res, err
	}
	told, testTold, p, err := t.second(pick(t.set.Train.X, public, second), others, testOthers)
	if err != nil {
		return res, err
	}
	res.Clusters, res.Delta, res.Plan = t.Clusters, p.Budget.Delta, measure.WithoutKeys(p)
	if t.Central > 0 {
		e, err := t.encoder(pick(t.set.Train.X, public, second))
		if err != nil {
			return res, err
		}
		res.EpsilonMade, res.Claim = e.promised.Epsilon, e.promised.Claim
	}
	var m *nn.Model
	if res.AccuracyPrivate, m, err = accuracy(beside(ours, told.mean), beside(testOurs, testTold.mean)); err != nil {
		return res, err
	}
	res.AccuracyClean = training.Accuracy(m, beside(testOurs, testTold.clean), t.set.Test.Y)
	if told.raw.Rows > 0 {
		paper, _, err := accuracy(beside(ours, told.raw), beside(testOurs, testTold.raw))
		if err != nil {
			return res, err
		}
		res.AccuracyPaper = &paper
	}
	return res, nil
}

// columns returns those of the party with the outcome, and of the other.
func (t *task) columns() (first, second []int) {
	for j := range t.set.Dimension() {
		if j < len(t.set.Columns) && slices.Contains(ofFirst, t.set.Columns[j]) {
			first = append(first, j)
		} else {
			second = append(second, j)
		}
	}
	return first, second
}

// pick has some columns of some rows.
func pick(x blas32.General, rows, columns []int) blas32.General {
	out := blas32.General{Rows: len(rows), Cols: len(columns), Stride: len(columns), Data: make([]float32, 0, len(rows)*len(columns))}
	for _, i := range rows {
		for _, j := range columns {
			out.Data = append(out.Data, x.Data[i*x.Stride+j])
		}
	}
	return out
}

// beside has the columns of both.
func beside(a, b blas32.General) blas32.General {
	out := blas32.General{Rows: a.Rows, Cols: a.Cols + b.Cols, Stride: a.Cols + b.Cols, Data: make([]float32, 0, a.Rows*(a.Cols+b.Cols))}
	for i := range a.Rows {
		out.Data = append(append(out.Data, a.Data[i*a.Stride:][:a.Cols]...), b.Data[i*b.Stride:][:b.Cols]...)
	}
	return out
}

// toldRows are what is known of rows: the mean of public prototypes, as likely as what was told says; as they are;
// and for LTN's own reading the noisy vectors as they came, where there are such.
type toldRows struct{ mean, clean, raw blas32.General }

// second has the other party's rows told under a plan, each beside its number: those that are trained on and those
// of the test, with noise of their own.
func (t *task) second(public, train, test blas32.General) (told, tested toldRows, p plan.Plan, err error) {
	all := blas32.General{Rows: train.Rows + test.Rows, Cols: train.Cols, Stride: train.Cols, Data: append(slices.Clone(train.Data), test.Data...)}
	ask, state, clean, err := t.numbered(public, all, train.Rows)
	if err != nil {
		return told, tested, p, err
	}
	who := make(distribution.Values, all.Rows)
	for i := range who {
		who[i] = latent.Record{Number: i, Features: all.Data[i*all.Stride:][:all.Cols]}
	}
	ask.Features, ask.Records = all.Cols, all.Rows
	m, p, err := t.put(measure.Draft(plan.Question{Kind: "latent", Latent: &ask}, plan.Budget{LocalEpsilon: t.Epsilon, Delta: delta, Adjacency: "replacement"}, all.Rows), state, who)
	if err != nil {
		return told, tested, p, err
	}
	rows := toldRows{clean: clean}
	var back *learn.Decoder
	if t.Level == experiments.FeatureLevel {
		e, err := t.encoder(public)
		if err != nil {
			return told, tested, p, err
		}
		back = e.decoder()
	}
	if rows.mean, _, err = results.Joined(m, back); err != nil {
		return told, tested, p, err
	}
	if how, ok := m.Numbered.How.Vector.(device.Readable); ok {
		rows.raw = blas32.General{Rows: all.Rows, Cols: m.Asked.Vector.Dim, Stride: m.Asked.Vector.Dim}
		for _, r := range m.Numbered.Reports {
			x, err := how.Read(r.Body)
			if err != nil {
				return told, tested, p, err
			}
			rows.raw.Data = append(rows.raw.Data, x...)
		}
	}
	if back != nil {
		rows.clean, rows.raw = back.Records(rows.clean), back.Records(rows.raw)
	} else if m.Encoder != nil { // whose codes have any length
		by := 1 / scaleOf(m.Encoder.Prototypes)
		for _, numbers := range [][]float32{rows.mean.Data, rows.clean.Data, rows.raw.Data} {
			for i := range numbers {
				numbers[i] *= by
			}
		}
	}
	told, tested = rows.part(0, train.Rows), rows.part(train.Rows, all.Rows)
	return told, tested, p, nil
}

// part has the rows from one to before another.
func (r toldRows) part(from, to int) toldRows {
	of := func(x blas32.General) blas32.General {
		if x.Rows == 0 {
			return x
		}
		return blas32.General{Rows: to - from, Cols: x.Cols, Stride: x.Stride, Data: x.Data[from*x.Stride : to*x.Stride]}
	}
	return toldRows{of(r.mean), of(r.clean), of(r.raw)}
}

// numbered returns what is asked of so many respondents beside the numbers of their rows, with its public state, and what
// would be told of all rows without noise.
func (t *task) numbered(public, all blas32.General, respondents int) (ask plan.Latent, state []byte, clean blas32.General, err error) {
	if t.Mechanism == experiments.Symbols {
		if t.Clusters == 0 {
			t.Clusters = kmeans.ForSymbols(respondents, 1, t.Epsilon)
		}
		s, err := cluster.Means(t.stream(forClusters), public, cluster.Options{Clusters: t.Clusters, Components: min(directionsOfLoans, public.Cols)}, featuremap.Progress(t.tell))
		if err != nil {
			return ask, nil, clean, err
		}
		return plan.Latent{Report: plan.LatentSymbols, Clusters: t.Clusters}, s.Marshal(), dataset.Rows(s.Centres, cluster.All(s, all)), nil
	}
	e, err := t.encoder(public)
	if err != nil {
		return ask, nil, clean, err
	}
	state, err = e.Marshal()
	return plan.Latent{Report: plan.LatentVector, Vector: t.told(e.Encoder, false)}, state, learn.Codes(e.Encoder, all), err
}

// scaleOf returns the root of the mean square of numbers, which are public.
func scaleOf(x blas32.General) float32 {
	squares := 0.0
	for _, v := range x.Data {
		squares += float64(v) * float64(v)
	}
	return float32(math.Sqrt(max(squares/float64(len(x.Data)), 1e-30)))
}
