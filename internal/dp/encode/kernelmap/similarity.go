package kernelmap

import "math"

// Distance names how the distance of two values is computed.
type Distance int

// Distances that kernels are of.
const (
	Euclidean Distance = iota + 1 // the root of the sum of squared differences of coordinates
	City                          // the sum of the differences of coordinates
)

// Similarity defines the function that features estimate: of a distance over the bandwidth, or else the inner product.
type Similarity struct {
	Distance Distance
	Fade     func(t float64) float64 // 1 at 0, and falling; nil of the inner product
}

var (
	gaussian    = Similarity{Euclidean, func(t float64) float64 { return math.Exp(-t * t) }}
	exponential = Similarity{Euclidean, func(t float64) float64 { return math.Exp(-t) }}
	laplacian   = Similarity{City, func(t float64) float64 { return math.Exp(-t) }}
)

// Similarity returns what the kernel's features estimate.
func (k Kernel) Similarity() Similarity { return kernels[k].of }

// Apart returns the distance of two unit vectors that are drawn at random: a bandwidth to begin with. It is 0 of inner
// products, which have none.
func (s Similarity) Apart(dimension int) float64 {
	switch s.Distance {
	case Euclidean:
		return math.Sqrt2
	case City: // of differences that are normal, of variance 2/d each
		return 2 * math.Sqrt(float64(dimension)/math.Pi)
	}
	return 0
}
