package ltn

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	device "github.com/confetti-dp/confetti/dp/encode/cluster"
	"github.com/confetti-dp/confetti/learn/cluster"
	"github.com/confetti-dp/confetti/learn/fit"
)

// groups are public clusters, each of some fine ones that lie side by side.
type groups struct {
	fine *device.State
	of   []int // by fine cluster
}

// all are the clusters of rows.
func (g *groups) all(x blas32.General) []int {
	out := cluster.All(g.fine, x)
	for i, c := range out {
		out[i] = g.of[c]
	}
	return out
}

// directions are the principal ones that distances are taken in.
const directions = 50

// fineClusters are as many as a graph of them takes little time.
const fineClusters = 800

// means are clusters by k-means alone, in so many principal directions.
func (t *task) means(x blas32.General, n, directions int) (*groups, error) {
	s, err := cluster.Means(t.stream(forClusters), x, cluster.Options{Clusters: n, Components: min(directions, x.Rows, x.Cols)}, fit.Progress(t.tell))
	if err != nil {
		return nil, err
	}
	g := &groups{fine: s, of: make([]int, s.Len())}
	for i := range g.of {
		g.of[i] = i
	}
	return g, nil
}

// groups are clusters of fine clusters by the graph of their nearest neighbours (Ng, Jordan, Weiss
// 2001, with the local scales of Zelnik-Manor and Perona 2004): few of them follow the shape
// of the data better than k-means does. From half as many as there are fine ones on, k-means is as good.
func (t *task) groups(x blas32.General, n int) (*groups, error) {
	fine := min(fineClusters, x.Rows/20)
	if 2*n >= fine {
		return t.means(x, n, directions)
	}
	g, err := t.means(x, fine, directions)
	if err != nil {
		return nil, err
	}
	t.tell("graph", 0, 1)
	y, err := embedded(g.fine.Centres, min(60, max(10, n)))
	if err != nil {
		return nil, err
	}
	best := math.Inf(1)
	for start := range starts {
		s, err := cluster.Means(t.stream(forGroups+uint64(start)), y, cluster.Options{Clusters: n, Components: y.Cols, Rounds: 100}, fit.Progress(t.tell))
		if err != nil {
			return nil, err
		}
		of := cluster.All(s, y)
		if far := spread(y, s.Centres, of, g.fine.Sizes); far < best {
			best, g.of = far, of
		}
	}
	return g, nil
}

// starts of k-means in the graph, of which the tightest is taken: one alone often puts two shapes
// into one group.
const starts = 30

// spread is the sum of squared distances of rows from their centres, each as often as its fine
// cluster has inputs.
func spread(y, centres blas32.General, of, sizes []int) (sum float64) {
	for i, c := range of {
		for k, a := range y.Data[i*y.Stride:][:y.Cols] {
			d := float64(a - centres.Data[c*centres.Stride+k])
			sum += d * d * float64(sizes[i])
		}
	}
	return sum
}

const (
	neighbours = 10
	scaledBy   = 7 // the distance to this neighbour
)

// embedded are the leading eigenvectors of the normalized graph of rows, as rows of unit length.
func embedded(x blas32.General, dimension int) (blas32.General, error) {
	n := x.Rows
	far := make([][]float64, n) // squared distances
	nearest := make([][]int, n)
	for i := range n {
		far[i], nearest[i] = make([]float64, n), make([]int, n)
		for j := range n {
			nearest[i][j] = j
			for k, a := range x.Data[i*x.Stride:][:x.Cols] {
				d := float64(a - x.Data[j*x.Stride+k])
				far[i][j] += d * d
			}
		}
		slices.SortFunc(nearest[i], func(a, b int) int { return cmp.Compare(far[i][a], far[i][b]) })
	}
	w, degree := mat.NewSymDense(n, nil), make([]float64, n)
	for i := range n {
		for _, j := range nearest[i][1 : neighbours+1] {
			scale := math.Sqrt(far[i][nearest[i][scaledBy]] * far[j][nearest[j][scaledBy]])
			w.SetSym(i, j, math.Exp(-far[i][j]/scale))
		}
	}
	for i := range n {
		for j := range n {
			degree[i] += w.At(i, j)
		}
	}
	for i := range n {
		for j := range i + 1 {
			w.SetSym(i, j, w.At(i, j)/math.Sqrt(degree[i]*degree[j]))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(w, true) {
		return blas32.General{}, errGraph
	}
	var v mat.Dense
	e.VectorsTo(&v)
	out := blas32.General{Rows: n, Cols: dimension, Stride: dimension, Data: make([]float32, n*dimension)}
	for i := range n {
		squares := 0.0
		for k := range dimension {
			squares += v.At(i, n-1-k) * v.At(i, n-1-k)
		}
		for k := range dimension {
			out.Data[i*dimension+k] = float32(v.At(i, n-1-k) / math.Sqrt(squares+1e-300))
		}
	}
	return out, nil
}

var errGraph = errors.New("ltn: the graph of the clusters has no eigenvectors")
