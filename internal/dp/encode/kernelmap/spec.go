package kernelmap

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Kernel names a similarity and the family of features that estimates it.
type Kernel string

const (
	// Gaussian is exp(-|x-y|^2/h^2) by random Fourier features: f = g =
	// sqrt2 cos(sqrt2/h <w, x> + b), w standard normal, b uniform on [0, 2 pi).
	// (Q, R, S) = (1, sqrt2, 1).
	Gaussian Kernel = "gaussian"
	// GaussianPaired is the same kernel by cosine and sine of the same <w, x>, the w
	// rows of random rotations with the lengths of normal vectors: f = g =
	// (cos sqrt2/h <w, x>, sin sqrt2/h <w, x>). (Q, R, S) = (2, 1, 2).
	GaussianPaired Kernel = "gaussian-paired"
	// GaussianProjected is Gaussian of the first m coordinates of a public random rotation of the value, lengthened by
	// sqrt(d/m): I m multiplications a value in the place of I d, and an error of its own, beta, below 0.6/sqrt m.
	// (Q, R, S) = (1, sqrt2, 1).
	GaussianProjected Kernel = "gaussian-projected"
	// Laplacian is exp(-|x-y|_1/h) by random binning, the cell hashed to B buckets:
	// f is one in the cell's bucket and zero elsewhere, g the same without what
	// collisions add. (Q, R, S) = (B, 1, 1).
	Laplacian Kernel = "laplacian"
	// LaplacianSign is the same kernel and partition; f = g = +-1, by a hash of the cell.
	// (Q, R, S) = (1, 1, 1).
	LaplacianSign Kernel = "laplacian-sign"
	// Exponential is exp(-|x-y|_2/h) in a ball, as Laplacian but cut by random
	// hyperplanes. (Q, R, S) = (B, 1, 1).
	Exponential Kernel = "exponential"
	// ExponentialSign is to Exponential as LaplacianSign to Laplacian. (Q, R, S) =
	// (1, 1, 1).
	ExponentialSign Kernel = "exponential-sign"
	// InnerSigns is <x, y> of unit vectors by random signs: f = g = <s, x>.
	// (Q, R, S) = (1, sqrt d, 1).
	InnerSigns Kernel = "ip-signs"
	// InnerIdentity is <x, y> of unit vectors by their coordinates: f(x) = x,
	// g(y) = y. (Q, R, S) = (d, 1, d), and nothing is random.
	InnerIdentity Kernel = "ip-identity"
	// InnerRotated is <x, y> of unit vectors by the coordinates of z = sqrt(d) U x, U
	// a public random rotation, clipped to [-C, C]: f = clip(z)/sqrt d, g = U y
	// divided by what clipping takes off (Isometry). (Q, R, S) = (d, C/sqrt d, d).
	InnerRotated Kernel = "ip-rotated"
)

// Spec describes a feature map; it is all that the two ends must agree on.
type Spec struct {
	Kernel      Kernel
	Dimension   int      // d: length of a value
	Repetitions int      // I: draws of (f, g); 1 for InnerIdentity and InnerRotated
	Bandwidth   float64  // h, in units of distance, for kernels of a distance; 0 otherwise
	Clip        float64  // C, in standard deviations of a rotated coordinate, for InnerRotated; 0 otherwise
	Radius      float64  // of the ball round zero that holds all values, 1 with Normalize, for the exponential kernels; 0 otherwise
	Buckets     int      // B, from 2, for Laplacian and Exponential; 0 otherwise
	Projection  int      // m, from 1 to d, for GaussianProjected; 0 otherwise
	Normalize   bool     // scale values to unit length, instead of refusing others where the kernel needs it
	Seed        [32]byte // public
}

// kernel describes a family before it is expanded: the function that it estimates, the error, and the parameters.
type kernel struct {
	of                                Similarity
	clip, radius, buckets, projection bool             // which parameters it has; a bandwidth if it is of a distance
	exactly                           bool             // has values' length made 1 to the last digit, for the sake of Sensitivity
	single                            bool             // has one repetition
	each                              func(s Spec) int // channels of a repetition; nil: one
	weights                           func(s Spec) float64
	spread                            func(s Spec) Spread
	expand                            func(s Spec) family
}

// kernels holds all families: no other place says what a kernel is.
var kernels = map[Kernel]kernel{
	Gaussian:          {of: gaussian, weights: dense, spread: sampled, expand: newGaussian},
	GaussianPaired:    {of: gaussian, each: func(Spec) int { return 2 }, weights: dense, spread: pairedSpread, expand: newPaired},
	GaussianProjected: {of: gaussian, projection: true, weights: func(s Spec) float64 { return float64(s.Projection)*float64(s.Repetitions) + 4*float64(s.Dimension) }, spread: projectedSpread, expand: newProjected},
	Laplacian:         {of: laplacian, buckets: true, each: bucketsEach, weights: grids, spread: bucketedSpread, expand: newBucketed(newBinning)},
	LaplacianSign:     {of: laplacian, weights: grids, spread: sampled, expand: newSigned(newBinning)},
	Exponential:       {of: exponential, buckets: true, radius: true, each: bucketsEach, weights: cuts, spread: bucketedSpread, expand: newBucketed(newHyperplanes)},
	ExponentialSign:   {of: exponential, radius: true, weights: cuts, spread: sampled, expand: newSigned(newHyperplanes)},
	InnerSigns:        {weights: dense, spread: signsSpread, expand: newSigns},
	InnerIdentity:     {single: true, each: dimensionEach, spread: identitySpread, expand: newIdentity},
	InnerRotated:      {single: true, exactly: true, clip: true, each: dimensionEach, spread: rotatedSpread, expand: newRotated},
}

func bucketsEach(s Spec) int { return s.Buckets }

func dimensionEach(s Spec) int { return s.Dimension }

// dense returns a weight for each coordinate in each repetition (or, for GaussianPaired, half a
// logarithm to compute once).
func dense(s Spec) float64 { return float64(s.Dimension) * float64(s.Repetitions) }

// grids returns a pitch, a shift and a key of twice the size.
func grids(s Spec) float64 { return 4 * dense(s) }

// cuts returns the coordinates of the hyperplanes to be expected, with room for more, an
// offset and a key.
func cuts(s Spec) float64 {
	return 1.5 * float64(s.Dimension+3) * float64(s.Repetitions) * (planes(s) + 1)
}

// maxWeights bounds the memory that a plan can ask of a device: 2^27 float32, 512 MiB.
const maxWeights = 1 << 27

// maxBuckets keeps hashing to them uniform to 2^-16.
const maxBuckets = 1 << 16

// Limits of a feature map.
const (
	MaxDimension = 1 << 20 // what grows with it alone stays far below maxWeights
	MaxChannels  = 1 << 22 // of an encoded value, all repetitions together
)

// Parameters are those that a kernel has.
type Parameters struct {
	Bandwidth, Clip, Radius, Buckets, Projection bool
	Single                                       bool // one repetition holds all of a value
}

// Parameters returns the kernel's; none of one that is not known.
func (k Kernel) Parameters() Parameters {
	has := kernels[k]
	return Parameters{has.of.Fade != nil, has.clip, has.radius, has.buckets, has.projection, has.single}
}

// Kernels names all kernels, in order.
func Kernels() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		list = append(list, string(name))
	}
	return list
}

// Validate lists everything that is wrong with the description.
func (s Spec) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Dimension >= 1 && s.Dimension <= MaxDimension, "dimension %d: must be from 1 to %d", s.Dimension, MaxDimension)
	check(s.Repetitions >= 1, "repetitions %d: must be at least 1", s.Repetitions)
	k, ok := kernels[s.Kernel]
	if !ok {
		check(false, "kernel %q: choose one of %s", s.Kernel, strings.Join(Kernels(), ", "))
		return errors.Join(errs...)
	}
	only := func(has func(kernel) bool, name string, value float64) {
		check(has(k) || value == 0, "%s %v: only the kernels %s have one", name, value, names(has))
	}
	only(func(k kernel) bool { return k.of.Fade != nil }, "bandwidth", s.Bandwidth)
	only(func(k kernel) bool { return k.clip }, "clip", s.Clip)
	if k.of.Fade != nil { // down to maxBandwidths of a unit vector
		check(s.Bandwidth >= 1e-4 && s.Bandwidth <= 1e6, "bandwidth %v: must be between 1e-4 and 1e6: rescale the values", s.Bandwidth)
	}
	if k.clip { // no coordinate of a rotated unit vector is beyond sqrt d
		most := math.Sqrt(float64(max(s.Dimension, 1)))
		check(s.Clip >= minClip && s.Clip <= most, "clip %v: must be from %v to sqrt(dimension) = %.4g", s.Clip, minClip, most)
	}
	only(func(k kernel) bool { return k.radius }, "radius", s.Radius)
	if k.radius {
		check(s.Radius > 0 && s.Radius <= 1e9, "radius %v: must be above 0, and at most 1e9: rescale the values", s.Radius)
		check(!s.Normalize || s.Radius == 1, "radius %v: must be 1 where values are normalized", s.Radius)
	}
	only(func(k kernel) bool { return k.buckets }, "buckets", float64(s.Buckets))
	if k.buckets {
		check(s.Buckets >= 2 && s.Buckets <= maxBuckets, "buckets %d: must be from 2 to %d", s.Buckets, maxBuckets)
	}
	only(func(k kernel) bool { return k.projection }, "projection", float64(s.Projection))
	if k.projection {
		check(s.Projection >= 1 && s.Projection <= max(1, s.Dimension), "projection %d: must be from 1 to the dimension, %d", s.Projection, s.Dimension)
	}
	each := 1
	if k.each != nil {
		each = max(1, k.each(s))
	}
	check(s.Repetitions <= MaxChannels/each, "%d repetitions of %d channels: at most %d of both", s.Repetitions, each, MaxChannels)
	check(!k.single || s.Repetitions <= 1, "repetitions %d: one of %s holds all of a value, so ask for 1", s.Repetitions, s.Kernel)
	if k.weights != nil && len(errs) == 0 {
		check(k.weights(s) <= maxWeights, "%d repetitions of %d dimensions: a feature map holds at most %d weights", s.Repetitions, s.Dimension, maxWeights)
	}
	return errors.Join(errs...)
}

// names lists the kernels that have something.
func names(has func(kernel) bool) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		if has(kernels[name]) {
			list = append(list, string(name))
		}
	}
	return strings.Join(list, ", ")
}
