package cluster

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/kernel"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

const (
	// evenly is the regularization of the directions of balanced clusters.
	evenly = 0.3
	// settling is how many rounds of k-means come before clusters are balanced.
	settling = 5
	// Offsets move by pull times the logarithm of how much too large a cluster is, in mean squared
	// lengths of an input, so many times a round.
	pull   = 0.03
	pushes = 20
)

// balanced goes on from first centres by k-means whose clusters are kept at one size by
// offsets, and gives up those below the least.
func balanced(s *cluster.State, x blas32.General, d *whiten.State, o Options, tell featuremap.Progress) (*cluster.State, error) {
	unit := meanSquare(x)
	most := o.Rounds
	if most == 0 {
		most = rounds
	}
	scores := make([]float32, x.Rows*s.Len())
	of := make([]int, x.Rows)
	s.Offsets = make([]float32, s.Len())
	for round := range most {
		tell("balanced k-means", round, most)
		times := 1
		if round >= settling {
			times = pushes
		}
		distances(s, x, scores)
		for range times {
			assign(s, scores, of)
			if times > 1 {
				push(s, unit, float64(x.Rows)/float64(s.Len()))
			}
		}
		means(s, x, of)
		if err := s.Prepare(); err != nil {
			return nil, err
		}
	}
	if err := giveUp(s, x, o.Least); err != nil {
		return nil, err
	}
	return planes(s, d)
}

// planes are centres with offsets in directions as centres with offsets of the features
// themselves: the squared distance |M(x-m) - c|^2 + 2o is |x - M'c|^2 and what does not depend on x,
// but for what is the same for all centres.
func planes(s *cluster.State, d *whiten.State) (*cluster.State, error) {
	out := &cluster.State{Centres: matrix(s.Len(), len(d.Mean)), Sizes: s.Sizes, Offsets: make([]float32, s.Len())}
	kernel.Gemm(out.Centres.Data, s.Centres.Data, d.Matrix.Data, s.Len(), d.Len(), len(d.Mean))
	for i := range s.Len() {
		c, w := row(s.Centres, i), row(out.Centres, i)
		out.Offsets[i] = kernel.Dot(c, c)/2 + s.Offsets[i] + kernel.Dot(w, d.Mean) - kernel.Dot(w, w)/2
	}
	return out, out.Prepare()
}

// distances are half the squared distance of each input (rows) from each centre, less what is
// the same for all centres.
func distances(s *cluster.State, x blas32.General, out []float32) {
	turned := make([]float32, len(s.Centres.Data))
	kernel.Transpose(turned, s.Centres.Data, s.Len(), x.Cols)
	kernel.Gemm(out, x.Data, turned, x.Rows, x.Cols, s.Len())
	halves := make([]float32, s.Len())
	for c := range halves {
		centre := row(s.Centres, c)
		halves[c] = kernel.Dot(centre, centre) / 2
	}
	for rows := out; len(rows) > 0; rows = rows[len(halves):] {
		for c, half := range halves {
			rows[c] = half - rows[c]
		}
	}
}

// assign gives each input the cluster of the least distance with its offset, and counts them.
func assign(s *cluster.State, distances []float32, of []int) {
	clear(s.Sizes)
	j, offsets := s.Len(), s.Offsets
	for i := range of {
		row, best, least := distances[i*j:][:len(offsets)], 0, float32(math.Inf(1))
		for c, o := range offsets {
			if d := row[c] + o; d < least {
				best, least = c, d
			}
		}
		of[i] = best
		s.Sizes[best]++
	}
}

// push makes clusters that are too large smaller, and the others larger.
func push(s *cluster.State, unit, wanted float64) {
	for c, n := range s.Sizes {
		s.Offsets[c] += float32(pull / 2 * unit * math.Log((float64(n)+1)/(wanted+1)))
	}
}

func meanSquare(x blas32.General) float64 {
	sum := 0.0
	for i := range x.Rows {
		r := row(x, i)
		sum += float64(kernel.Dot(r, r))
	}
	return sum / float64(x.Rows)
}
