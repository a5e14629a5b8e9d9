package ltn

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	device "github.com/confetti-dp/confetti/dp/latent"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/learn/cluster"
	"github.com/confetti-dp/confetti/learn/fit"
	learn "github.com/confetti-dp/confetti/learn/latent"
	"github.com/confetti-dp/confetti/learn/net"
	"github.com/confetti-dp/confetti/question/latent"
)

// ofFirst are the columns of the party that has the outcome: those of LTN's (appendix E.1.3) that the
// file has.
var ofFirst = []string{"open_acc", "pub_rec_bankruptcies", "credit_years", "emp_length", "rent", "mortgage"}

// joined is how a linear model of joined columns is trained.
var joined = net.Training{Epochs: 30, Batch: 128, Rate: 0.01, Decay: 0.01, Loss: nn.CrossEntropy}

// joining learns from some columns as they are, with the outcome, and others that another party tells
// with noise of its own, joined by a public key. Such rows are no collection: who tells which is known,
// there is no plan, and nothing is shuffled. Records that are classified are joined rows as well.
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
		m, err := net.Fit(t.stream(forNet), train, net.OneHot(y, 2), 2, joined, fit.Progress(t.tell))
		if err != nil {
			return 0, nil, err
		}
		return net.Accuracy(m, test, t.set.Test.Y), m, nil
	}
	var err error
	if res.AccuracyAlone, _, err = accuracy(ours, testOurs); err != nil {
		return res, err
	}
	if res.AccuracyNoPrivacy, _, err = accuracy(beside(ours, others), beside(testOurs, testOthers)); err != nil {
		return res, err
	}
	tell, err := t.second(pick(t.set.Train.X, public, second), len(asked))
	if err != nil {
		return res, err
	}
	res.Clusters = t.Clusters
	noisy, raw := tell(others)
	testNoisy, testRaw := tell(testOthers)
	var m *nn.Model
	if res.AccuracyPrivate, m, err = accuracy(beside(ours, noisy.mean), beside(testOurs, testNoisy.mean)); err != nil {
		return res, err
	}
	res.AccuracyClean = net.Accuracy(m, beside(testOurs, testNoisy.clean), t.set.Test.Y)
	if raw.Rows > 0 {
		paper, _, err := accuracy(beside(ours, raw), beside(testOurs, testRaw))
		if err != nil {
			return res, err
		}
		res.AccuracyPaper = &paper
	}
	return res, nil
}

// columns are those of the party with the outcome, and of the other.
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

// toldRows are what is known of rows: the mean of public prototypes, as likely as what was told says,
// and as they are.
type toldRows struct{ mean, clean blas32.General }

// second is how the other party tells its columns: with noise, and for LTN's own reading the noisy
// vectors as they came, where there are such.
func (t *task) second(public blas32.General, respondents int) (func(x blas32.General) (toldRows, blas32.General), error) {
	r := t.stream(forReports)
	if t.Mechanism == experiments.Symbols {
		if t.Clusters == 0 {
			t.Clusters = cluster.ForSymbols(respondents, 1, t.Epsilon)
		}
		s, err := cluster.Means(t.stream(forClusters), public, cluster.Options{Clusters: t.Clusters, Components: min(directionsOfLoans, public.Cols)}, fit.Progress(t.tell))
		if err != nil {
			return nil, err
		}
		m := randomize.SubsetSelection{K: t.Clusters, W: randomize.SubsetSize(t.Clusters, t.Epsilon), Epsilon: t.Epsilon}
		return func(x blas32.General) (toldRows, blas32.General) {
			of, told := cluster.All(s, x), make([][]bool, x.Rows)
			for i := range told {
				told[i] = make([]bool, m.K)
				m.Randomize(r, of[i], func(c uint32) { told[i][c] = true })
			}
			weights := learn.Weights(x.Rows, s.Sizes, func(i, c int) float64 {
				if told[i][c] {
					return m.LogProb(true)
				}
				return m.LogProb(false)
			})
			return toldRows{means(weights, s.Centres), dataset.Rows(s.Centres, of)}, blas32.General{}
		}, nil
	}
	e, err := t.encoder(public)
	if err != nil {
		return nil, err
	}
	var how device.Mechanism = device.BestCap(max(2, e.Dim()), t.Epsilon)
	if t.Mechanism != experiments.PrivUnit {
		how = device.Laplace{Dim: e.Dim(), Length: e.Length, Points: 1 << 12, Epsilon: t.Epsilon}
	}
	scale := 1 / scaleOf(e.Prototypes)
	return func(x blas32.General) (toldRows, blas32.General) {
		reports, raw := make([]latent.Report, x.Rows), blas32.General{Cols: e.Dim(), Stride: e.Dim()}
		for i := range reports {
			reports[i].Vector = how.Randomize(r, e.Encode(x.Data[i*x.Stride:][:x.Cols]))
			if m, ok := how.(device.Laplace); ok {
				if v, err := m.Read(reports[i].Vector); err == nil {
					raw.Rows, raw.Data = raw.Rows+1, append(raw.Data, v...)
				}
			}
		}
		weights := learn.Reported(e.Encoder, how, bodies(reports))
		out := toldRows{means(weights, e.Prototypes), learn.Codes(e.Encoder, x)}
		for _, all := range [][]float32{out.mean.Data, out.clean.Data, raw.Data} {
			for i := range all {
				all[i] *= scale
			}
		}
		return out, raw
	}, nil
}

// means are those of prototypes, by the weights that each row gives them.
func means(weights []float32, prototypes blas32.General) blas32.General {
	k := prototypes.Rows
	n := len(weights) / k
	out := blas32.General{Rows: n, Cols: prototypes.Cols, Stride: prototypes.Cols, Data: make([]float32, n*prototypes.Cols)}
	for i := range n {
		for c, w := range weights[i*k:][:k] {
			for j, v := range prototypes.Data[c*prototypes.Stride:][:prototypes.Cols] {
				out.Data[i*out.Cols+j] += w * v
			}
		}
	}
	return out
}

// scaleOf is the root of the mean square of numbers, which are public.
func scaleOf(x blas32.General) float32 {
	squares := 0.0
	for _, v := range x.Data {
		squares += float64(v) * float64(v)
	}
	return float32(math.Sqrt(max(squares/float64(len(x.Data)), 1e-30)))
}
