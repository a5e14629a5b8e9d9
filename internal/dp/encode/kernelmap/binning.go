package kernelmap

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// binning is a grid of its own for each repetition, of a random pitch and shift in each
// coordinate. A grid of pitch p separates two points at distance t with probability
// min(1, t/p). With the pitch of density p e^-p, Gamma(2, 1), in bandwidths, they share
// an interval with probability
//
//	integral from t of (1 - t/p) p e^-p = e^-t,
//
// and a cell with the product of these, exp(-|x-y|_1/h) (Rahimi and Recht 2007).
type binning struct {
	dimension int
	rate      []float32 // 1/(h p), repetition by repetition
	shift     []float32 // uniform on [0, 1), in pitches
	keys      []uint64  // d+1 a repetition, k_0 first
}

// newBinning reads, for each coordinate, two uniforms u, v of the pitch p = -ln(1-u)
// - ln(1-v) and one of the shift, from the stream "<kernel>/grids".
func newBinning(s Spec) cells {
	n := s.Repetitions * s.Dimension
	b := &binning{dimension: s.Dimension, rate: make([]float32, n), shift: make([]float32, n), keys: make([]uint64, n+s.Repetitions)}
	grids := newStream(s.Seed, string(s.Kernel)+"/grids")
	for i := range n {
		pitch := -math.Log1p(-grids.uniform())
		pitch -= math.Log1p(-grids.uniform())
		b.rate[i] = float32(1 / (s.Bandwidth * math.Max(pitch, minPitch)))
		b.shift[i] = float32(grids.uniform())
	}
	newStream(s.Seed, string(s.Kernel)+"/keys").words(b.keys)
	return b
}

// minPitch keeps the number of an interval in float64's integers; finer pitches have
// probability 5e-19.
const minPitch = 1e-9

func (b *binning) repetitions() int { return len(b.keys) - len(b.rate) }

func (b *binning) words(x blas32.General, scale []float32, out []uint64) {
	d, n := b.dimension, b.repetitions()
	for i := range n { // outside, so that a grid stays in the cache for all rows
		rate, shift, keys := b.rate[i*d:][:d], b.shift[i*d:][:d], b.keys[i*(d+1):][:d+1]
		for r := range x.Rows {
			w := keys[0]
			for j, v := range row(x, r) {
				at := math.Floor(float64(v*scale[r])*float64(rate[j]) + float64(shift[j]))
				w += keys[j+1] * uint64(uint32(int64(at)))
			}
			out[r*n+i] = w
		}
	}
}
