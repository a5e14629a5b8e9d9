package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/kernel"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

const (
	neighbours  = 12 // that an input is joined to
	scaleOf     = 7  // the neighbour whose distance is an input's own scale (Zelnik-Manor and Perona 2004)
	fewVectors  = 10
	manyVectors = 60
)

// Graph gives the cluster of each input by the graph of its nearest neighbours (Ng, Jordan and
// Weiss 2001, with local scales): fewer clusters are as pure as many of Means, where groups are
// well apart. Centres do not describe them: Encode trains a network that does.
func Graph(r *rand.Rand, x blas32.General, o Options, tell featuremap.Progress) ([]int, error) {
	if o.Clusters < 2 || x.Rows < max(o.Clusters, manyVectors) {
		return nil, fmt.Errorf("cluster: %d clusters of a graph of %d inputs: give at least 2, and %d inputs or more", o.Clusters, x.Rows, max(o.Clusters, manyVectors))
	}
	tell("principal directions", 0, 1)
	_, y, err := Directions(x, o.Components)
	if err != nil {
		return nil, err
	}
	g := joined(y, tell)
	vectors, err := g.leading(r, min(manyVectors, max(fewVectors, o.Clusters)), tell)
	if err != nil {
		return nil, err
	}
	s, err := seeds(r, vectors, o.Clusters, tell)
	if err != nil {
		return nil, err
	}
	o.Least = 1
	if err := lloyd(s, vectors, o, tell); err != nil {
		return nil, err
	}
	return All(s, vectors), nil
}

// edge joins an input to another.
type edge struct {
	to     int
	weight float32 // first a squared distance
}

// graph has the edges of each input, both ways.
type graph [][]edge

// joined returns the normalized graph D^-1/2 W D^-1/2 of neighbours, whose weights are
// e^(-d^2/(s s')), s the distance of an input to its seventh neighbour.
func joined(x blas32.General, tell featuremap.Progress) graph {
	near := nearest(x, tell)
	scale := make([]float64, x.Rows)
	for i, edges := range near {
		scale[i] = math.Sqrt(max(float64(edges[min(scaleOf, len(edges))-1].weight), 1e-12))
	}
	g := make(graph, x.Rows)
	for i, edges := range near {
		for _, e := range edges {
			w := float32(math.Exp(-float64(e.weight)/(scale[i]*scale[e.to])) / 2)
			g[i], g[e.to] = append(g[i], edge{e.to, w}), append(g[e.to], edge{i, w})
		}
	}
	root := make([]float64, x.Rows)
	for i, edges := range g {
		for _, e := range edges {
			root[i] += float64(e.weight)
		}
		root[i] = math.Sqrt(max(root[i], 1e-30))
	}
	for i, edges := range g {
		for j, e := range edges {
			edges[j].weight = float32(float64(e.weight) / (root[i] * root[e.to]))
		}
	}
	return g
}

// nearest returns the nearest others of each row, first the nearest, by products of blocks.
func nearest(x blas32.General, tell featuremap.Progress) graph {
	const block = 64
	turned, squares := make([]float32, x.Rows*x.Cols), make([]float32, x.Rows)
	kernel.Transpose(turned, x.Data, x.Rows, x.Cols)
	for i := range squares {
		squares[i] = kernel.Dot(row(x, i), row(x, i))
	}
	out, workers := make(graph, x.Rows), runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			products := make([]float32, block*x.Rows)
			for from := w * block; from < x.Rows; from += workers * block {
				if w == 0 {
					tell("neighbours", from, x.Rows)
				}
				to := min(x.Rows, from+block)
				products := products[:(to-from)*x.Rows]
				kernel.Gemm(products, x.Data[from*x.Cols:to*x.Cols], turned, to-from, x.Cols, x.Rows)
				for i := from; i < to; i++ {
					out[i] = least(i, products[(i-from)*x.Rows:][:x.Rows], squares)
				}
			}
		})
	}
	wait.Wait()
	return out
}

// least returns the neighbours of row i by its products with all rows.
func least(i int, products, squares []float32) []edge {
	near := make([]edge, 0, neighbours+1)
	bound := float32(math.Inf(1))
	for j, p := range products {
		d := squares[j] - 2*p
		if d >= bound || j == i {
			continue
		}
		at, _ := slices.BinarySearchFunc(near, d, func(e edge, d float32) int { return cmp.Compare(e.weight, d) })
		near = slices.Insert(near, at, edge{j, d})
		if len(near) > neighbours {
			near = near[:neighbours]
		}
		if len(near) == neighbours {
			bound = near[neighbours-1].weight
		}
	}
	for j := range near {
		near[j].weight = max(0, near[j].weight+squares[i])
	}
	return near
}

// times sets y to the graph's matrix times x.
func (g graph) times(x, y []float32) {
	workers := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w * len(g) / workers; i < (w+1)*len(g)/workers; i++ {
				sum := float32(0)
				for _, e := range g[i] {
					sum += e.weight * x[e.to]
				}
				y[i] = sum
			}
		})
	}
	wait.Wait()
}

// together are the vectors that Lanczos begins with: as many parts of a graph that nothing joins
// are told apart for certain.
const together = 4

// leading returns the inputs in so many leading eigenvectors, rows of length one: by Lanczos from
// several vectors at once (Ruhe 1979), each made orthogonal to all before, twice.
func (g graph) leading(r *rand.Rand, vectors int, tell featuremap.Progress) (blas32.General, error) {
	n := len(g)
	steps := min(n-1, 5*vectors+50*together)
	basis, next, tri := matrix(steps, n), make([]float32, n), mat.NewSymDense(steps, nil)
	filled := 0
	add := func(length float32) {
		if length == 0 { // nothing new: from anywhere
			for i := range next {
				next[i] = float32(r.NormFloat64())
			}
			orthogonal(next, basis, filled)
			length = norm(next)
		}
		copy(row(basis, filled), next)
		kernel.Scale(row(basis, filled), 1/length)
		filled++
	}
	for range together {
		add(0)
	}
	for k := range steps {
		tell("eigenvectors", k, steps)
		g.times(row(basis, k), next)
		for j, along := range orthogonal(next, basis, filled) {
			tri.SetSym(j, k, along)
		}
		if filled == steps {
			continue
		}
		const nothing = 1e-5 // is left but for roundings
		length := norm(next)
		if length < nothing {
			length = 0
		}
		tri.SetSym(filled, k, float64(length))
		add(length)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(tri, true) {
		return blas32.General{}, errors.New("cluster: a graph without eigenvectors: are the features finite?")
	}
	var of mat.Dense
	eigen.VectorsTo(&of)
	turn := make([]float32, vectors*steps)
	for i := range vectors {
		for k := range steps {
			turn[i*steps+k] = float32(of.At(k, steps-1-i)) // eigenvalues rise
		}
	}
	across, out := make([]float32, vectors*n), matrix(n, vectors)
	kernel.Gemm(across, turn, basis.Data, vectors, steps, n)
	kernel.Transpose(out.Data, across, vectors, n)
	for i := range n {
		whiten.Normalize(row(out, i))
	}
	return out, nil
}

// orthogonal takes off v what lies along the first vectors of a basis, and says how much.
func orthogonal(v []float32, basis blas32.General, filled int) []float64 {
	along := make([]float64, filled)
	for range 2 {
		for j := range along {
			a := kernel.Dot(v, row(basis, j))
			kernel.Axpy(v, row(basis, j), -a)
			along[j] += float64(a)
		}
	}
	return along
}

func norm(v []float32) float32 { return float32(math.Sqrt(float64(kernel.Dot(v, v)))) }
