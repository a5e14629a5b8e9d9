package encode

import (
	"crypto/sha3"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
)

// Domain separates these streams from any other use of a plan's seed.
const domain = "confetti/encode/v1/"

// stream reads the public randomness of one seed and label: the output of
// SHAKE-256 over seed || "confetti/encode/v1/" || label, taken as
// little-endian 64-bit words. It hides nothing; it only has to be the same on
// every device and in every language.
type stream struct {
	shake *sha3.SHAKE
	buf   [4096]byte
	at    int
}

func newStream(seed [32]byte, label string) *stream {
	s := &stream{shake: sha3.NewSHAKE256()}
	s.shake.Write(seed[:])
	s.shake.Write([]byte(domain + label))
	s.at = len(s.buf)
	return s
}

// Uint64 returns the next word.
func (s *stream) Uint64() uint64 {
	if s.at == len(s.buf) {
		s.shake.Read(s.buf[:])
		s.at = 0
	}
	s.at += 8
	return binary.LittleEndian.Uint64(s.buf[s.at-8:])
}

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

// ParseSeed reads a public seed of a plan: 64 hex digits.
func ParseSeed(text string) (seed [32]byte, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(seed) {
		return seed, fmt.Errorf("a seed must be %d hex digits", 2*len(seed))
	}
	return [32]byte(b), nil
}

// Expand turns a public seed and a label into a random stream that both ends
// derive alike. It is public: never randomize with it.
func Expand(seed [32]byte, label string) *rand.Rand { return rand.New(newStream(seed, label)) }
