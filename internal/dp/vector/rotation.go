package vector

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/encode/hadamard"
)

// rotation is a public random orthogonal matrix U of a power of two of rows, times a
// scale: random signs and Hadamard transforms of blocks of 64, a random permutation, random
// signs and a Hadamard transform of the whole.
//
// The blocks spread vectors of few coordinates, so that the last transform adds up many
// terms of random sign in each row whatever the vector is; the permutation puts its
// coordinates at random places among those that are padded, without which rows repeat each
// other's errors.
//
// Of vectors of few numbers (Spec.Few) the blocks have one row: each row is a sum of all numbers with signs.
type rotation struct {
	block         int
	first, second []float32 // signs; the second times scale/sqrt(block rows)
	permutation   []int32
}

// newRotation draws from the stream "rows/rotation" of the seed the first signs, the
// permutation of Fisher and Yates from the last place down (place i is exchanged with the
// upper word of the product of the next word with i+1), and the second signs. Signs are 64 to a
// word, the lowest bit first, a one for +1.
func newRotation(s Spec, scale float64) *rotation {
	r := &rotation{block: min(64, s.Rows), permutation: make([]int32, s.Rows)}
	if s.Few {
		r.block = 1
	}
	public := encode.Expand(s.Seed, "rows/rotation")
	r.first = signs(public, s.Rows, 1)
	for i := range r.permutation {
		r.permutation[i] = int32(i)
	}
	for i := s.Rows - 1; i > 0; i-- {
		j, _ := bits.Mul64(public.Uint64(), uint64(i+1))
		r.permutation[i], r.permutation[j] = r.permutation[j], r.permutation[i]
	}
	r.second = signs(public, s.Rows, scale/math.Sqrt(float64(r.block)*float64(s.Rows)))
	return r
}

func signs(r *rand.Rand, n int, scale float64) []float32 {
	out := make([]float32, n)
	var word uint64
	for i := range out {
		if i%64 == 0 {
			word = r.Uint64()
		}
		out[i] = float32(scale * float64(2*int(word&1)-1))
		word >>= 1
	}
	return out
}

// apply writes scale U v to out; v may be shorter than the rotation, held is scratch.
func (r *rotation) apply(v, held, out []float32) {
	for i, x := range v {
		held[i] = x * r.first[i]
	}
	used := (len(v) + r.block - 1) / r.block * r.block
	clear(held[len(v):])
	for at := 0; at < used; at += r.block {
		hadamard.Transform(held[at : at+r.block])
	}
	for i, from := range r.permutation {
		out[i] = held[from] * r.second[i]
	}
	hadamard.Transform(out)
}

// undo writes scale U^T z to out; z is overwritten.
func (r *rotation) undo(z, out []float32) {
	hadamard.Transform(z)
	for i, to := range r.permutation {
		out[to] = z[i] * r.second[i]
	}
	for at := 0; at < len(out); at += r.block {
		hadamard.Transform(out[at : at+r.block])
	}
	for i, s := range r.first {
		out[i] *= s
	}
}
