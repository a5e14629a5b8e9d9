// Package kernelmap turns a value into bounded features whose inner products are a kernel. Used by question/density,
// internal/dp/kde and internal/simulate.
//
// They are the f and g of a locality-sensitive quantization of a kernel (KDE, Definition 2.1): public
// random maps with E f(x).g(y) = k(x, y), drawn from the seed of the plan so that every device and the analyzer hold
// the same ones.
package kernelmap

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// Features is a feature map expanded from its description, ready to use by
// any number of goroutines at once.
//
// Each of its channels is one coordinate of one repetition, repetition by
// repetition, and says f(x)/R in [-1, 1].
type Features struct {
	spec   Spec
	family family
}

// family is one way to quantize a kernel.
type family interface {
	// shape is what one repetition looks like.
	shape() shape
	// features writes f(x)/R of the rows of x, whose coordinates are to be
	// multiplied by scale[i] in row i, to the rows of out.
	features(x blas32.General, scale []float32, out blas32.General)
	// queries writes g(y) likewise.
	queries(y blas32.General, scale []float32, out blas32.General)
}

// shape is the (Q, R, S) of KDE, Definition 2.1, and how far replacing a value
// moves the bits.
type shape struct {
	channels int     // Q, of one repetition
	bound    float64 // R, of f
	query    float64 // of g
	sparsity int     // S
	moves    Sensitivity
}

// New expands a feature map. What is random comes from streams of the seed that
// are named "<kernel>/<part>", repetition by repetition; all arithmetic on them is
// in float64, rounded once to float32.
func New(spec Spec) (*Features, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return &Features{spec: spec, family: kernels[spec.Kernel].expand(spec)}, nil
}

// Spec returns the description that f was expanded from.
func (f *Features) Spec() Spec { return f.spec }

// Repetitions is I, the number of draws of (f, g).
func (f *Features) Repetitions() int { return f.spec.Repetitions }

// Channels is I times Q, the length of an encoded value.
func (f *Features) Channels() int { return f.family.shape().channels * f.spec.Repetitions }

// Bound is R, the largest magnitude of a feature.
func (f *Features) Bound() float64 { return f.family.shape().bound }

// QueryBound returns the largest magnitude of a query feature: R too, but for InnerRotated,
// where it is 1/Gain.
func (f *Features) QueryBound() float64 { return f.family.shape().query }

// Sparsity is S, the number of features of one repetition that may be non-zero.
func (f *Features) Sparsity() int { return f.family.shape().sparsity }

// Sampled reports whether repetitions are random draws of features, so that their
// spread tells the error of their mean; otherwise the one repetition there is holds
// all of the value.
func (f *Features) Sampled() bool { return !kernels[f.spec.Kernel].single }

// Map writes f(x)/R, in [-1, 1] per channel, to out, which has length
// Channels. A device sends the bit 1 there with probability (1+out)/2.
//
// The value must have d finite coordinates and length 1 within unitTolerance
// for inner products, up to 10^4 bandwidths for kernels of a distance and within
// the radius where there is one; with Normalize, any length from 1e-15 to 1e15.
// Coordinates that rounding or that tolerance carries beyond 1 are clamped, a
// bias of at most 0.001.
func (f *Features) Map(x, out []float32) error { return f.one(x, out, f.family.features) }

// Query writes g(y) per channel to out, which has length Channels. With F the
// debiased sum of f over n values in each channel, the density at y is 1/(n I)
// sum F g. What holds for the values of Map holds for y.
func (f *Features) Query(y, out []float32) error { return f.one(y, out, f.family.queries) }

func (f *Features) one(x, out []float32, write func(blas32.General, []float32, blas32.General)) error {
	scale, err := f.check(x)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if len(out) != f.Channels() {
		panic(fmt.Sprintf("encode: room for %d channels of %d", len(out), f.Channels()))
	}
	write(block(x), []float32{scale}, block(out))
	return nil
}

// unitTolerance is how far from 1 the length of a value may be where the
// kernel needs unit vectors: above what float16 features lose, below what
// would matter to a density.
const unitTolerance = 1e-3

// maxBandwidths is the length in bandwidths up to which float32 phases, of
// deviation sqrt2 |x|/h and relative error 2^-24, are good to about 0.001.
const maxBandwidths = 1e4

// check judges a value and returns what its coordinates are to be multiplied by.
func (f *Features) check(x []float32) (scale float32, err error) {
	if len(x) != f.spec.Dimension {
		return 0, fmt.Errorf("value has %d coordinates, the plan has %d", len(x), f.spec.Dimension)
	}
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		for j, v := range x {
			if v-v != 0 {
				return 0, fmt.Errorf("coordinate %d is not finite", j)
			}
		}
	}
	kernel := kernels[f.spec.Kernel]
	switch length := math.Sqrt(sum); {
	case f.spec.Normalize && length == 0:
		return 0, errors.New("a zero vector has no direction and cannot be normalized")
	case f.spec.Normalize && (length < 1e-15 || length > 1e15): // products with weights stay in float32's range
		return 0, errors.New("value is too short or too long to be normalized: rescale it to lengths between 1e-15 and 1e15")
	case f.spec.Normalize:
		return float32(1 / length), nil
	case kernel.of.Fade != nil && length > maxBandwidths*f.spec.Bandwidth:
		return 0, fmt.Errorf("value is longer than %.0f bandwidths: its features would be rounding noise", maxBandwidths)
	case kernel.radius && length > f.spec.Radius*(1+unitTolerance):
		return 0, errors.New("value is outside the plan's ball: raise the radius, or let the plan normalize")
	case kernel.of.Fade == nil && math.Abs(length-1) > unitTolerance:
		return 0, fmt.Errorf("value is not of unit length, which the kernel %s needs: normalize it, or let the plan do so", f.spec.Kernel)
	case kernel.exactly:
		return float32(1 / length), nil
	}
	return 1, nil
}

// Check says why Map refuses a value; nil if it takes it.
func (f *Features) Check(x []float32) error {
	if _, err := f.check(x); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return nil
}

// Clip is, of the values that Map takes, the one that has the direction of x and is
// nearest to it in length; none where x has another number of coordinates, or no
// direction.
func (f *Features) Clip(x []float32) (nearest []float32, ok bool) {
	if len(x) != f.spec.Dimension {
		return nil, false
	}
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	length := math.Sqrt(sum)
	if !(length > 0 && length <= math.MaxFloat64) {
		return nil, false
	}
	kernel, longest := kernels[f.spec.Kernel], length
	switch {
	case f.spec.Normalize || kernel.of.Fade == nil:
		longest = 1
	case kernel.radius:
		longest = math.Min(length, f.spec.Radius)
	}
	if kernel.of.Fade != nil && !f.spec.Normalize {
		longest = math.Min(longest, maxBandwidths*f.spec.Bandwidth*(1-1e-6))
	}
	nearest = make([]float32, len(x))
	for j, v := range x {
		nearest[j] = float32(float64(v) * (longest / length))
	}
	return nearest, f.Check(nearest) == nil
}

func vector(x []float32) blas32.Vector { return blas32.Vector{N: len(x), Inc: 1, Data: x} }

func block(x []float32) blas32.General {
	return blas32.General{Rows: 1, Cols: len(x), Stride: len(x), Data: x}
}
