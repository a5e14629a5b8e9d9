// Package direction reports one vector as one random direction: the sign of a drawn direction (ESA, Algorithms 4 and
// 5), or a direction from a cap about the vector (PrivUnit). Used by internal/question/gradient, internal/dp/latent and
// cmd/confetti/internal/account.
//
// Each mechanism is one type with both its ends. A direction travels as the 16 bytes that it is expanded from,
// however many dimensions it has. Methods panic on parameters that Validate refuses.
package direction

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/rng"
)

const (
	// SeedBytes is the length of what a direction is expanded from.
	SeedBytes = 16
	// maxDim bounds the dimensions of a vector.
	maxDim = 1 << 26
	// MinEpsilon and MaxEpsilon bound the local epsilon of a report.
	MinEpsilon = 1e-6
	MaxEpsilon = 50
)

type seed = [SeedBytes]byte

// draw returns a seed for one report. It is uniform whatever the device holds.
func draw(r *rand.Rand) (s seed) {
	rng.Reader(r).Read(s[:]) // never fails
	return s
}

// expand fills v with the direction of a seed, uniform on the unit sphere: normal
// deviates by Box and Muller over the words of the AES-128-CTR key stream of the
// seed, from counter 0 on, divided by their length. From words a, b in this order,
// with u = (top 53 bits) 2^-53 each, come sqrt(-2 ln(1-u_a)) cos(2 pi u_b) and the
// same with sin; an odd v drops its last sine.
func expand(s seed, v []float64) {
	words := rng.Keyed(s, seed{})
	uniform := func() float64 { return float64(words.Uint64()>>11) * 0x1p-53 }
	for i := 0; i < len(v); i += 2 {
		radius := math.Sqrt(-2 * math.Log(1-uniform())) // whose argument is exact
		sin, cos := math.Sincos(2 * math.Pi * uniform())
		v[i] = radius * cos
		if i+1 < len(v) {
			v[i+1] = radius * sin
		}
	}
	length := norm(v)
	for i := range v {
		v[i] /= length
	}
}

// norm returns the length of a vector.
func norm(x []float64) float64 {
	squares := 0.0
	for _, a := range x {
		squares += a * a
	}
	return math.Sqrt(squares)
}

// along returns the inner product of a vector and the direction of a seed. What rounding
// makes of it is a function of both, and of nothing else.
func along(x []float64, s seed, v []float64) (sum float64) {
	expand(s, v)
	for i, a := range x {
		sum += a * v[i]
	}
	return sum
}

// end draws the end of its line that x stands for: x itself with probability
// 1/2 + |x|/(2 clip), else -x, so that the mean is x (ESA, Algorithm 4, line 2). A
// longer x is clipped. What is zero or not finite stands for either end alike, and is
// not to be asked for its direction.
func end(r *rand.Rand, x []float64, clip float64) (sign float64, known bool) {
	length := norm(x)
	known = length > 0 && !math.IsInf(length, 1) // false for NaN
	share := 0.0
	if known {
		share = math.Min(1, length/clip)
	}
	if rng.Bernoulli(r, rng.Prob((1+share)/2)) {
		return 1, known
	}
	return -1, known
}

// meanAlong returns the mean of |<u, v>| over directions v, for any direction u of dim
// dimensions: Gamma(dim/2) / (sqrt(pi) Gamma((dim+1)/2)).
func meanAlong(dim int) float64 {
	over, _ := math.Lgamma(float64(dim) / 2)
	under, _ := math.Lgamma(float64(dim+1) / 2)
	return math.Exp(over-under) / math.Sqrt(math.Pi)
}

// block is how many reports are added up apart: sums do not depend on how many
// processors share the work.
const block = 256

// sum adds the directions of reports of one length, each times its sign. It holds a few
// blocks of them at a time.
func sum(dim int, reports iter.Seq[[]byte], read func(report []byte) (seed, float64, error)) ([]float64, error) {
	total, several := make([]float64, dim), block*runtime.GOMAXPROCS(0)
	var held [][]byte
	for report := range reports {
		if held = append(held, report); len(held) == several {
			if err := addBlocks(total, held, read); err != nil {
				return nil, err
			}
			held = held[:0]
		}
	}
	return total, addBlocks(total, held, read)
}

// addBlocks adds blocks of reports to the total in their order, each summed by itself.
func addBlocks(total []float64, reports [][]byte, read func([]byte) (seed, float64, error)) error {
	blocks := slices.Collect(slices.Chunk(reports, block))
	parts, errs := make([][]float64, len(blocks)), make([]error, len(blocks))
	var wait sync.WaitGroup
	for b, of := range blocks {
		wait.Go(func() { parts[b], errs[b] = addUp(len(total), of, read) })
	}
	wait.Wait()
	for b, part := range parts {
		if errs[b] != nil {
			return errs[b]
		}
		for i, x := range part {
			total[i] += x
		}
	}
	return nil
}

func addUp(dim int, reports [][]byte, read func([]byte) (seed, float64, error)) ([]float64, error) {
	all, v := make([]float64, dim), make([]float64, dim)
	for _, report := range reports {
		s, sign, err := read(report)
		if err != nil {
			return nil, err
		}
		expand(s, v)
		for i, x := range v {
			all[i] += sign * x
		}
	}
	return all, nil
}

// means debiases a sum of n reports, of which no coordinate has a larger variance than
// square.
func means(sum []float64, n int, factor, square float64) []estimate.Value {
	out := make([]estimate.Value, len(sum))
	for i, x := range sum {
		out[i] = estimate.Value{Mean: factor * x / float64(n), StdErr: factor * math.Sqrt(square/float64(n))}
	}
	return out
}

func validate(dim, least int, clip, epsilon float64) error {
	if dim < least || dim > maxDim {
		return fmt.Errorf("direction: %d dimensions: give %d to %d", dim, least, maxDim)
	}
	if !(clip > 0 && clip <= math.MaxFloat32) {
		return fmt.Errorf("direction: vectors clipped to a length of %v: give a positive number", clip)
	}
	if !(epsilon >= MinEpsilon && epsilon <= MaxEpsilon) {
		return fmt.Errorf("direction: epsilon %v: give a number from %v to %v", epsilon, MinEpsilon, float64(MaxEpsilon))
	}
	return nil
}

// local returns what a device is promised against everybody else. Replacement: e^epsilon.
// Removal, with uniform reports for the reference law, of which a value favours a
// share: the larger of e^epsilon/Z and Z, where Z = 1 + share (e^epsilon - 1).
func local(epsilon, share float64, adj account.Adjacency, method, source string) account.Guarantee {
	switch adj {
	case account.Removal:
		z := math.Log1p(share * math.Expm1(epsilon))
		epsilon = math.Nextafter(math.Max(epsilon-z, z), math.Inf(1))
	case account.Replacement:
	default:
		panic(fmt.Sprintf("direction: adjacency %q", adj))
	}
	return account.Guarantee{
		Epsilon: epsilon, Adjacency: adj, Trust: account.Local, Users: 1, Rounds: 1,
		Bound: account.Exact, Method: method, Source: source,
	}
}
