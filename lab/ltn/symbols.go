package ltn

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/kmeans"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/plan"
)

// clusters are public ones: as a state, and in which each public record lies.
type clusters struct {
	state   []byte
	centres blas32.General // of means; none of a network's
	all     func(features blas32.General) []int
	epsilon float64 // of private records that they were made of
}

const (
	// byGraph is up to how many clusters those of the nearest neighbours' graph are purer than those
	// of centres.
	byGraph = 200
	// graphRecords are as many public records as the graph is of: its time grows with their square.
	graphRecords = 15_000
	// directionsOfLoans are the principal directions in which clusters of columns are found.
	directionsOfLoans = 12
)

// found are clusters of the features of public records.
func (t *task) found(x blas32.General, n int) (*clusters, error) {
	switch {
	case t.Central > 0:
		return t.privateMeans(x, n)
	case t.words:
		return t.means(x, n, 0)
	case t.side == 0:
		return t.means(x, n, directionsOfLoans)
	case n > byGraph:
		return t.means(x, n, 0)
	}
	r := t.stream(forClusters)
	x.Rows = min(x.Rows, graphRecords) // they are in no order
	of, err := cluster.Graph(r, x, cluster.Options{Clusters: n}, featuremap.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	e, err := cluster.Encode(r, x, of, featuremap.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	e.Width, e.Height = t.side, t.side
	state, err := e.Marshal()
	return &clusters{state: state, all: e.All}, err
}

// means are clusters by k-means in so many principal directions (0: 50).
func (t *task) means(x blas32.General, n, directions int) (*clusters, error) {
	if directions > 0 {
		directions = min(directions, x.Rows, x.Cols)
	}
	s, err := cluster.Means(t.stream(forClusters), x, cluster.Options{Clusters: n, Components: directions}, featuremap.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	s.Width, s.Height = t.side, t.side
	return &clusters{state: s.Marshal(), centres: s.Centres, all: func(x blas32.General) []int { return cluster.All(s, x) }}, s.Prepare()
}

// ask puts a plan of symbols to respondents, and gives what the analyzer learns. The smallest of
// their groups, where there are any, has so many.
func (t *task) ask(g *clusters, classes, groups []string, smallest int, who distribution.Values) (*latent.Model, plan.Plan, error) {
	p := measure.Draft(plan.Question{Kind: "latent", Latent: &plan.Latent{
		Features: t.set.Dimension(), Classes: classes, Report: plan.LatentSymbols, Clusters: t.Clusters,
	}}, plan.Budget{LocalEpsilon: t.Epsilon, Delta: delta, Adjacency: "replacement"}, smallest)
	p.Crowd.Names = groups
	m, p, err := t.put(p, g.state, who)
	if err == nil && len(m.Counts.Tables) != max(1, len(groups)) {
		err = errors.New("ltn: a crowd was withheld")
	}
	return m, p, err
}

// record returns what a training record's holder has.
func (t *task) record(i, group, class int) latent.Record {
	return latent.Record{Crowd: group, Features: t.set.Train.X.Data[i*t.set.Train.X.Stride:][:t.set.Dimension()], Class: class}
}

// collection learns classes from one symbol of each respondent.
func (t *task) collection() (Result, error) {
	public, asked := t.split()
	if t.Clusters == 0 {
		t.Clusters = kmeans.ForSymbols(len(asked), len(t.set.Classes), t.Epsilon)
		if t.Central > 0 {
			most, err := t.mostPrivate(len(public), t.Clusters)
			if err != nil {
				return Result{}, err
			}
			t.Clusters = max(min(t.Clusters, 2*len(t.set.Classes)), most)
		}
	}
	res := Result{Cell: t.Cell, Respondents: len(asked), Public: len(public)}
	x := dataset.Rows(t.train, public)
	if t.Turned != 0 {
		var err error
		if x, err = featuremap.Oriented(turned(dataset.Rows(t.set.Train.X, public), t.side, t.Turned), inputs.Size{Width: t.side, Height: t.side}, featuremap.Progress(t.tell)); err != nil {
			return res, err
		}
	}
	g, err := t.found(x, t.Clusters)
	if err != nil {
		return res, err
	}
	who := make(distribution.Values, len(asked))
	for k, i := range asked {
		who[k] = t.record(i, 0, t.set.Train.Y[i])
	}
	m, p, err := t.ask(g, t.set.Classes, nil, len(asked), who)
	if err != nil {
		return res, err
	}
	targets, err := m.Targets(m.Counts.Tables[0])
	if err != nil {
		return res, err
	}
	of := g.all(x)
	var learned *nn.Model
	if t.Central > 0 {
		learned, res.EpsilonMade, err = t.privateNet(x, of, targets)
		res.EpsilonMade, res.Claim = res.EpsilonMade+g.epsilon, device.ClaimPrivate
	} else {
		learned, err = training.FromClusters(t.stream(forNet), x, of, targets, len(t.set.Classes), featuremap.Progress(t.tell))
	}
	if err != nil {
		return res, err
	}
	res.AccuracyClean = training.Accuracy(learned, t.test, t.set.Test.Y)
	res.AccuracyClusters, res.Stated = clustered(m.Shares(), targets, g.all(t.test), t.set.Test.Y)
	if t.Central == 0 { // of private records it would be an exact number, which no epsilon covers
		res.Purity = t.purity(of, public)
	}
	return t.finish(res, p, len(t.set.Classes)), nil
}

// clustered returns the accuracy of the likeliest class of each test record's cluster, and the share of respondents who have
// that of theirs as the counts of clusters and classes say.
func clustered(shares []float64, targets [][]float64, of, right []int) (accuracy, stated float64) {
	likeliest := make([]int, len(targets))
	for c, target := range targets {
		if likeliest[c] = -1; len(target) > 0 {
			likeliest[c] = slices.Index(target, slices.Max(target))
			stated += shares[c] * slices.Max(target)
		}
	}
	for i, c := range of {
		if likeliest[c] == right[i] {
			accuracy += 1 / float64(len(of))
		}
	}
	return accuracy, stated
}

// turned returns square pictures turned about their middle by an angle in degrees, between pixels by bilinear weights. What
// comes in at the edges is black.
func turned(x blas32.General, side int, degrees float64) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	middle := float64(side-1) / 2
	for at := range x.Cols {
		down, right := float64(at/side)-middle, float64(at%side)-middle
		fromY, fromX := middle+cos*down+sin*right, middle-sin*down+cos*right
		y, xs := math.Floor(fromY), math.Floor(fromX)
		for dy := range 2 {
			for dx := range 2 {
				row, column := int(y)+dy, int(xs)+dx
				weight := float32((1 - math.Abs(fromY-float64(row))) * (1 - math.Abs(fromX-float64(column))))
				if row < 0 || row >= side || column < 0 || column >= side || weight <= 0 {
					continue
				}
				for i := range x.Rows {
					out.Data[i*x.Cols+at] += weight * x.Data[i*x.Stride+row*side+column]
				}
			}
		}
	}
	return out
}

// purity returns the share of public records whose class is the commonest of their cluster.
func (t *task) purity(of, public []int) float64 {
	k := len(t.set.Classes)
	counts := make([]int, t.Clusters*k)
	for j, c := range of {
		counts[c*k+t.set.Train.Y[public[j]]]++
	}
	right := 0
	for row := range slices.Chunk(counts, k) {
		right += slices.Max(row)
	}
	return float64(right) / float64(len(of))
}
