// Package cluster makes public clusters of inputs whose features have nothing to hide, without their labels. Used by
// lab/train/encoder, lab/cmd/confetti-lab/train and other packages of the lab.
package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/kernel"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Options are how clusters are made.
type Options struct {
	Clusters   int // before small ones are given up
	Components int // principal directions that distances are taken in; 0: 50, or as many as there are
	Rounds     int // of k-means, at most; 0: 25
	Least      int // public inputs in a cluster: what holds fewer is given up, its inputs go to their next centres
	// Balanced clusters hold about as many inputs each, by distances that count all principal
	// directions alike: where labels are counted, the largest cluster has the most noise, and the
	// smallest decides how much.
	Balanced bool
}

const (
	components = 50
	rounds     = 25
	// directionRows are as many inputs as principal directions are found from.
	directionRows = 12_000
)

// Means makes clusters by k-means from k-means++ (Arthur and Vassilvitskii 2007), in principal
// directions of the features. The same generator gives the same clusters on one machine.
func Means(r *rand.Rand, x blas32.General, o Options, tell featuremap.Progress) (*cluster.State, error) {
	if o.Clusters < 1 || o.Clusters > min(x.Rows, cluster.Most) {
		return nil, fmt.Errorf("cluster: %d clusters of %d inputs: give 1 to as many as there are, and at most %d", o.Clusters, x.Rows, cluster.Most)
	}
	if o.Least > x.Rows {
		return nil, fmt.Errorf("cluster: at least %d in each cluster of %d inputs", o.Least, x.Rows)
	}
	tell("principal directions", 0, 1)
	regular, power := 0., 0. // of length one, whatever the eigenvalue
	if o.Balanced {
		regular, power = evenly, principal.Full
	}
	directions, y, err := directionsOf(x, o.Components, regular, power)
	if err != nil {
		return nil, err
	}
	s, err := seeds(r, y, o.Clusters, tell)
	if err != nil {
		return nil, err
	}
	if o.Balanced {
		return balanced(s, y, directions, o, tell)
	}
	if err := lloyd(s, y, o, tell); err != nil {
		return nil, err
	}
	return lifted(s, directions)
}

// Directions are so many principal directions of rows (0: 50), of length one, and the rows in
// them.
func Directions(x blas32.General, dimension int) (*whiten.State, blas32.General, error) {
	return directionsOf(x, dimension, 0, 0)
}

// directionsOf are so many principal directions of rows (0: 50), as principal.Fit has them, and
// the rows in them.
func directionsOf(x blas32.General, dimension int, regular, power float64) (*whiten.State, blas32.General, error) {
	if dimension == 0 {
		dimension = min(components, x.Cols, x.Rows-1)
	}
	some, step := x, (x.Rows+directionRows-1)/directionRows
	some.Rows, some.Stride = (x.Rows+step-1)/step, x.Stride*step
	directions, err := principal.Fit(some, dimension, regular, power)
	if err != nil {
		return nil, blas32.General{}, err
	}
	copied := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, 0, x.Rows*x.Cols)}
	for i := range x.Rows {
		copied.Data = append(copied.Data, x.Data[i*x.Stride:][:x.Cols]...)
	}
	return directions, directions.Project(copied), nil
}

// seeds returns the first centres: an input drawn at random, then each with a probability that
// grows with its squared distance from those before.
func seeds(r *rand.Rand, x blas32.General, clusters int, tell featuremap.Progress) (*cluster.State, error) {
	s := &cluster.State{Centres: matrix(clusters, x.Cols), Sizes: make([]int, clusters)}
	squares, far := make([]float64, x.Rows), make([]float64, x.Rows)
	for i := range squares {
		row := row(x, i)
		squares[i] = float64(kernel.Dot(row, row))
	}
	at := r.IntN(x.Rows)
	for c := range clusters {
		tell("first centres", c, clusters)
		centre := row(s.Centres, c)
		copy(centre, row(x, at))
		total := 0.0
		for i := range far {
			d := max(0, squares[i]+squares[at]-2*float64(kernel.Dot(row(x, i), centre)))
			if c == 0 || d < far[i] {
				far[i] = d
			}
			total += far[i]
		}
		at = r.IntN(x.Rows) // where all are the same
		if total > 0 {
			at = drawn(r, far, total)
		}
	}
	return s, s.Prepare()
}

// drawn returns an index with a probability in proportion to its weight.
func drawn(r *rand.Rand, weights []float64, total float64) int {
	left := r.Float64() * total
	for i, w := range weights {
		if left -= w; left < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// lloyd moves centres to the means of their inputs until none changes its cluster.
func lloyd(s *cluster.State, x blas32.General, o Options, tell featuremap.Progress) error {
	most := o.Rounds
	if most == 0 {
		most = rounds
	}
	var of []int
	for round := range most {
		tell("k-means", round, most)
		now := All(s, x)
		if slices.Equal(now, of) {
			break
		}
		of = now
		means(s, x, of)
		if err := s.Prepare(); err != nil {
			return err
		}
	}
	return giveUp(s, x, o.Least)
}

// means moves each centre to the mean of its inputs. One without any stays.
func means(s *cluster.State, x blas32.General, of []int) {
	sums := make([]float64, s.Len()*x.Cols)
	clear(s.Sizes)
	for i, c := range of {
		s.Sizes[c]++
		sum := sums[c*x.Cols:][:x.Cols]
		for j, v := range row(x, i) {
			sum[j] += float64(v)
		}
	}
	for c, n := range s.Sizes {
		if n == 0 {
			continue
		}
		centre := row(s.Centres, c)
		for j := range centre {
			centre[j] = float32(sums[c*x.Cols+j] / float64(n))
		}
	}
}

// giveUp drops the smallest cluster until each holds so many inputs, at least one, and leaves
// their sizes.
func giveUp(s *cluster.State, x blas32.General, least int) error {
	of := All(s, x)
	for {
		clear(s.Sizes)
		for _, c := range of {
			s.Sizes[c]++
		}
		smallest := slices.Min(s.Sizes)
		if smallest >= max(1, least) {
			return nil
		}
		if err := drop(s, x, of, slices.Index(s.Sizes, smallest)); err != nil {
			return err
		}
	}
}

// drop takes a centre out, and gives its inputs to their next ones.
func drop(s *cluster.State, x blas32.General, of []int, gone int) error {
	if s.Len() == 1 {
		return errors.New("cluster: no cluster is left")
	}
	c := &s.Centres
	c.Data = slices.Delete(c.Data, gone*c.Stride, (gone+1)*c.Stride)
	c.Rows--
	s.Sizes = slices.Delete(s.Sizes, gone, gone+1)
	if s.Offsets != nil {
		s.Offsets = slices.Delete(s.Offsets, gone, gone+1)
	}
	if err := s.Prepare(); err != nil {
		return err
	}
	for i, was := range of {
		switch {
		case was == gone:
			of[i] = s.Nearest(row(x, i))
		case was > gone:
			of[i]--
		}
	}
	return nil
}

// lifted are centres in directions as centres of the features themselves. Their distances from
// an input differ by what of it no direction sees, which is the same for all.
func lifted(s *cluster.State, d *whiten.State) (*cluster.State, error) {
	out := &cluster.State{Centres: matrix(s.Len(), len(d.Mean)), Sizes: s.Sizes}
	kernel.Gemm(out.Centres.Data, s.Centres.Data, d.Matrix.Data, s.Len(), d.Len(), len(d.Mean))
	for i := range s.Len() {
		kernel.Axpy(row(out.Centres, i), d.Mean, 1)
	}
	return out, out.Prepare()
}

// All returns the clusters of rows, on all processors.
func All(s *cluster.State, x blas32.General) []int {
	out, workers := make([]int, x.Rows), runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for w := range workers {
		from, to := w*x.Rows/workers, (w+1)*x.Rows/workers
		wait.Go(func() {
			part := x
			part.Data, part.Rows = x.Data[from*x.Stride:], to-from
			copy(out[from:to], s.All(part))
		})
	}
	wait.Wait()
	return out
}

func matrix(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }
