// Package encode turns a value into bounded features, the f and g of a
// locality-sensitive quantization of a kernel (KDE, Definition 2.1): public
// random maps with E f(x).g(y) = k(x, y), drawn from the seed of the plan so
// that every device and the analyzer hold the same ones.
package encode

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Kernel names a similarity and the family of features that estimates it.
type Kernel string

const (
	// Gaussian is exp(-|x-y|^2/h^2) by random Fourier features: f = g =
	// sqrt2 cos(sqrt2/h <w, x> + b), w standard normal, b uniform on [0, 2 pi).
	// (Q, R, S) = (1, sqrt2, 1).
	Gaussian Kernel = "gaussian"
	// InnerSigns is <x, y> of unit vectors by random signs: f = g = <s, x>.
	// (Q, R, S) = (1, sqrt d, 1).
	InnerSigns Kernel = "ip-signs"
	// InnerIdentity is <x, y> of unit vectors by their coordinates: f(x) = x,
	// g(y) = y. (Q, R, S) = (d, 1, d), and nothing is random.
	InnerIdentity Kernel = "ip-identity"
)

// Spec describes a feature map; it is all that the two ends must agree on.
type Spec struct {
	Kernel      Kernel
	Dimension   int      // d: length of a value
	Repetitions int      // I: independent draws of (f, g); 1 for InnerIdentity
	Bandwidth   float64  // h, in units of distance, for Gaussian; 0 otherwise
	Normalize   bool     // scale values to unit length, instead of refusing others where the kernel needs it
	Seed        [32]byte // public
}

// maxWeights bounds the memory that a plan can ask of a device: 2^27 float32, 512 MiB.
const maxWeights = 1 << 27

// Validate lists everything that is wrong with the description.
func (s Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Dimension < 1 {
		bad("dimension %d: must be at least 1", s.Dimension)
	}
	if s.Repetitions < 1 {
		bad("repetitions %d: must be at least 1", s.Repetitions)
	}
	switch s.Kernel {
	case Gaussian:
		if !(s.Bandwidth >= 1e-4 && s.Bandwidth <= 1e6) { // down to maxBandwidths of a unit vector
			bad("bandwidth %v: must be between 1e-4 and 1e6: rescale the values", s.Bandwidth)
		}
	case InnerSigns, InnerIdentity:
		if s.Bandwidth != 0 {
			bad("bandwidth %v: only the gaussian kernel has one", s.Bandwidth)
		}
	default:
		bad("kernel %q: choose %s, %s or %s", s.Kernel, Gaussian, InnerSigns, InnerIdentity)
	}
	if s.Kernel == InnerIdentity && s.Repetitions > 1 {
		bad("repetitions %d: the identity is the same each time, so ask for 1", s.Repetitions)
	}
	if s.Kernel != InnerIdentity && s.Dimension >= 1 && s.Repetitions > maxWeights/s.Dimension {
		bad("%d repetitions of %d dimensions: a feature map holds at most %d weights", s.Repetitions, s.Dimension, maxWeights)
	}
	return errors.Join(errs...)
}

// Features is a feature map expanded from its description, ready to use by
// any number of goroutines at once.
//
// Each of its channels is one coordinate of one repetition and says
// f(x)/R in [-1, 1]: an affine function of x, of which Gaussian takes the cosine.
type Features struct {
	spec    Spec
	weights blas32.General // channels x d; empty for InnerIdentity
	offsets []float32      // one per channel, for Gaussian
}

// New expands a feature map. Weights come from the stream of seed and label
// "<kernel>/weights", repetition by repetition, and offsets from that of
// "<kernel>/offsets"; all arithmetic is in float64, rounded once to float32.
func New(spec Spec) (*Features, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	f := &Features{spec: spec}
	d := spec.Dimension
	var scale float64
	draw := newStream(spec.Seed, string(spec.Kernel)+"/weights")
	fill := draw.normals
	switch spec.Kernel {
	case InnerIdentity:
		return f, nil
	case InnerSigns:
		fill, scale = draw.signs, 1/math.Sqrt(float64(d)) // f/R = <s, x>/sqrt d
	case Gaussian:
		scale = math.Sqrt2 / spec.Bandwidth
		offsets := newStream(spec.Seed, string(spec.Kernel)+"/offsets")
		f.offsets = make([]float32, spec.Repetitions)
		for i := range f.offsets {
			f.offsets[i] = float32(2 * math.Pi * offsets.uniform())
		}
	}
	f.weights = blas32.General{Rows: spec.Repetitions, Cols: d, Stride: d, Data: make([]float32, spec.Repetitions*d)}
	z := make([]float64, d)
	for i := range spec.Repetitions {
		fill(z)
		for j, v := range z {
			f.weights.Data[i*d+j] = float32(scale * v)
		}
	}
	return f, nil
}

// Spec is the description that f was expanded from.
func (f *Features) Spec() Spec { return f.spec }

// Repetitions is I, the number of independent draws of (f, g).
func (f *Features) Repetitions() int { return f.spec.Repetitions }

// Channels is I times Q, the length of an encoded value.
func (f *Features) Channels() int {
	if f.spec.Kernel == InnerIdentity {
		return f.spec.Dimension
	}
	return f.spec.Repetitions
}

// Bound is R, the largest magnitude of a feature.
func (f *Features) Bound() float64 {
	switch f.spec.Kernel {
	case Gaussian:
		return math.Sqrt2
	case InnerSigns:
		return math.Sqrt(float64(f.spec.Dimension))
	}
	return 1
}

// Sparsity is S, the number of features of one repetition that may be non-zero.
func (f *Features) Sparsity() int { return f.Channels() / f.spec.Repetitions }

// Map writes f(x)/R, in [-1, 1] per channel, to out, which has length
// Channels. A device sends the bit 1 there with probability (1+out)/2.
//
// The value must have d finite coordinates and length 1 within UnitTolerance
// for inner products, up to 10^4 bandwidths for Gaussian; with Normalize,
// any length from 1e-15 to 1e15. Coordinates that rounding or that tolerance carries beyond 1
// are clamped, a bias of at most 0.001.
func (f *Features) Map(x, out []float32) error {
	inverse, err := f.check(x)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if len(out) != f.Channels() {
		panic(fmt.Sprintf("encode: room for %d channels of %d", len(out), f.Channels()))
	}
	if f.spec.Kernel == InnerIdentity {
		copy(out, x)
	} else {
		blas32.Gemv(blas.NoTrans, 1, f.weights, vector(x), 0, vector(out))
	}
	f.finish(out, inverse)
	return nil
}

// Query writes g(y), in [-R, R] per channel, to out, which has length
// Channels. With F the debiased sum of f over n values in each channel, the
// density at y is 1/(n I) sum F g. What holds for the values of Map holds for y.
func (f *Features) Query(y, out []float32) error {
	if err := f.Map(y, out); err != nil {
		return err
	}
	blas32.Scal(float32(f.Bound()), vector(out)) // f = g in all three families
	return nil
}

// UnitTolerance is how far from 1 the length of a value may be where the
// kernel needs unit vectors: above what float16 features lose, below what
// would matter to a density.
const UnitTolerance = 1e-3

// maxBandwidths is the length in bandwidths up to which float32 phases, of
// deviation sqrt2 |x|/h and relative error 2^-24, are good to about 0.001.
const maxBandwidths = 1e4

// check judges a value and returns what its coordinates are to be multiplied by.
func (f *Features) check(x []float32) (inverse float32, err error) {
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
	switch length := math.Sqrt(sum); {
	case f.spec.Normalize && length == 0:
		return 0, errors.New("a zero vector has no direction and cannot be normalized")
	case f.spec.Normalize && (length < 1e-15 || length > 1e15): // products with weights stay in float32's range
		return 0, errors.New("value is too short or too long to be normalized: rescale it to lengths between 1e-15 and 1e15")
	case f.spec.Normalize:
		return float32(1 / length), nil
	case f.spec.Kernel == Gaussian && length > maxBandwidths*f.spec.Bandwidth:
		return 0, fmt.Errorf("value is longer than %.0f bandwidths: its features would be rounding noise", maxBandwidths)
	case f.spec.Kernel != Gaussian && math.Abs(length-1) > UnitTolerance:
		return 0, fmt.Errorf("value is not of unit length, which the kernel %s needs: normalize it, or let the plan do so", f.spec.Kernel)
	}
	return 1, nil
}

// finish turns the products of the weights with a value into features.
func (f *Features) finish(out []float32, inverse float32) {
	if f.spec.Kernel == Gaussian {
		for i, v := range out {
			out[i] = float32(math.Cos(float64(v*inverse + f.offsets[i])))
		}
		return
	}
	for i, v := range out {
		out[i] = min(max(v*inverse, -1), 1)
	}
}

func vector(x []float32) blas32.Vector { return blas32.Vector{N: len(x), Inc: 1, Data: x} }
