package kernelmap

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
)

// stream draws from public randomness what families are made of.
type stream struct{ *encode.Stream }

func newStream(seed [32]byte, label string) *stream { return &stream{encode.NewStream(seed, label)} }

// uniform returns the top 53 bits of the next word times 2^-53: in [0, 1).
func (s *stream) uniform() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// normals fills z with independent standard normal deviates by Box and Muller:
// from uniforms u, v in this order come sqrt(-2 ln(1-u)) cos(2 pi v) and, next,
// the same with sin. An odd z drops its last sine. 1-u is in (0, 1], so the
// logarithm is finite and no deviate exceeds sqrt(106 ln 2) = 8.6, beyond which
// a normal has mass 1e-17.
func (s *stream) normals(z []float64) {
	for i := 0; i < len(z); i += 2 {
		radius := math.Sqrt(-2 * math.Log1p(-s.uniform()))
		sin, cos := math.Sincos(2 * math.Pi * s.uniform())
		z[i] = radius * cos
		if i+1 < len(z) {
			z[i+1] = radius * sin
		}
	}
}

// chi returns the length of a normal vector of d dimensions: the root of the sum of squares, of
// which two at a time have the law of -2 ln(1-u). An odd d takes one normals deviate last.
func (s *stream) chi(d int) float64 {
	var squares float64
	for range d / 2 {
		squares -= 2 * math.Log1p(-s.uniform())
	}
	if d%2 == 1 {
		var z [1]float64
		s.normals(z[:])
		squares += z[0] * z[0]
	}
	return math.Sqrt(squares)
}

// words fills out with the next words.
func (s *stream) words(out []uint64) {
	for i := range out {
		out[i] = s.Uint64()
	}
}

// signs fills z with independent +1 and -1, 64 from each word, lowest bit
// first, a one for +1. It starts on a fresh word.
func (s *stream) signs(z []float64) {
	var word uint64
	for i := range z {
		if i%64 == 0 {
			word = s.Uint64()
		}
		z[i] = float64(2*int(word&1) - 1)
		word >>= 1
	}
}
