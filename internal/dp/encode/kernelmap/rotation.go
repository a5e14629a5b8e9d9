package kernelmap

import (
	"math"
	"math/bits"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/encode/hadamard"
)

// rotation is a public random orthogonal matrix U of any size d that is applied in
// O(d log d): two sweeps with a random permutation between them. A sweep is
// random signs and a normalized Hadamard transform of the first h coordinates, h the
// largest power of two up to d, then the same of the last h, if those are others.
//
// Padding to a power of two instead would send up to twice as many bits: a vector spread
// over d' coordinates has the same signal in each bit after scaling by sqrt d', but d'
// bits of noise and d'/C^2 for d/C^2 in the privacy loss. Two windows of exactly d
// coordinates lose neither, since every step is orthogonal.
//
// The first sweep spreads any vector, were it a single coordinate, over a window; the
// permutation gives each window its share of that; the second sweep adds up h terms
// of random sign in each coordinate, which makes it near normal (TestRotationIsNormal).
type rotation struct {
	window      int          // h
	signs       [4][]float32 // +-1/sqrt h, before each transform; nil in 1 and 3 where h = d
	permutation []int32
	scratch     *sync.Pool // *[]float32 of length d
}

// newRotation reads the signs of a sweep window by window, then the permutation, then
// the signs of the second sweep. The permutation is that of Fisher and Yates, from the
// last place down: place i is exchanged with place j, the upper word of the product of
// the next word with i+1.
func newRotation(d int, s *stream) *rotation {
	r := &rotation{window: 1 << (bits.Len(uint(d)) - 1), permutation: make([]int32, d)}
	r.scratch = &sync.Pool{New: func() any { v := make([]float32, d); return &v }}
	z := make([]float64, r.window)
	for i := range r.signs {
		if i == 2 {
			for j := range r.permutation {
				r.permutation[j] = int32(j)
			}
			for j := d - 1; j > 0; j-- {
				k, _ := bits.Mul64(s.Uint64(), uint64(j+1))
				r.permutation[j], r.permutation[k] = r.permutation[k], r.permutation[j]
			}
		}
		if i%2 == 1 && r.window == d {
			continue
		}
		s.signs(z)
		r.signs[i] = make([]float32, r.window)
		for j, sign := range z {
			r.signs[i][j] = float32(sign / math.Sqrt(float64(r.window)))
		}
	}
	return r
}

// rotate writes U x to out. Both have length d and are not the same.
func (r *rotation) rotate(x, out []float32) {
	held := r.scratch.Get().(*[]float32)
	first := *held
	copy(first, x)
	r.sweep(first, r.signs[0], r.signs[1])
	for i, from := range r.permutation {
		out[i] = first[from]
	}
	r.scratch.Put(held)
	r.sweep(out, r.signs[2], r.signs[3])
}

func (r *rotation) sweep(v []float32, head, tail []float32) {
	mix(v[:r.window], head)
	if tail != nil {
		mix(v[len(v)-r.window:], tail)
	}
}

// mix is an orthogonal transform of v, given its signs.
func mix(v, signs []float32) {
	for i, s := range signs {
		v[i] *= s
	}
	hadamard.Transform(v)
}
