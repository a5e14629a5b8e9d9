package pld

import (
	"math"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/prob"
)

// The composition of many rounds is smooth, so its transform is next to nothing outside a band of low
// frequencies. There the sum is written out, which takes a tenth of a transform over the whole window.
const (
	every    = 8       // frequencies of the window to one at which a law is looked at, to find the band
	leastFor = 1 << 12 // a shorter window is transformed as a whole
	terms    = 8       // of the sum that is written out, at most, to a point of the window
	together = 16      // terms that are added up one by one; their sums are added in pairs
)

// negligible bounds the logarithm of a coefficient that vanishes in the rounding of the others.
const negligible = -100

// band returns the highest of n frequencies, n a multiple of twice every, beyond which the transform of the composition
// is negligible. Between two frequencies at which it looks a transform changes by at most the deviation of its
// law times their distance.
func (c *Composition) band(laws [][]float64, n int) int {
	m := n / every
	room := roomOf(m)
	defer room.free()
	logs := room.errorFactor // of the bounds, which begin at 0
	for i, p := range c.parts {
		wrap(room.wrapped, laws[i], p.low)
		room.fft.Coefficients(room.factor, room.wrapped)
		_, deviation := moments(laws[i])
		change := deviation*math.Pi/float64(m) + 1e-12 // and what the transform rounds
		for j, z := range room.factor {
			logs[j] += float64(p.rounds) * math.Log(math.Min(1, math.Sqrt(real(z)*real(z)+imag(z)*imag(z))+change))
		}
	}
	last := len(logs) - 1
	for last > 0 && logs[last] < negligible {
		last--
	}
	return last*every + every/2
}

// narrow returns n points of the composition of the laws from low on, from the frequencies up to the band, and the
// sum of squares that its error comes from; not ok where to write them out would take longer than a transform.
func (c *Composition) narrow(laws [][]float64, low, n int) (q []float64, e float64, ok bool) {
	if n < leastFor {
		return nil, 0, false
	}
	support := 0
	for _, law := range laws {
		support += len(law)
	}
	if support > terms*n/every {
		return nil, 0, false
	}
	band := c.band(laws, n)
	m := 1 << bits.Len(uint(2*band)) // points of a transform that has the band
	if band*support > terms*n || n%m != 0 {
		return nil, 0, false
	}
	prob.Count(band*support + n*bits.Len(uint(m)))
	r := rootsOf(n)
	spectrum, errorFactor, shift := make([]complex128, band+1), make([]float64, band+1), mod(low, n)
	for f := range spectrum {
		spectrum[f] = 1
	}
	for i, p := range c.parts {
		mean, _ := moments(laws[i])
		center := int(mean)
		shift = mod(shift-mod(p.rounds, n)*mod(p.low+center, n), n)
		floor := math.Exp(negligible / float64(p.rounds))
		for f := range spectrum {
			z := r.transform(laws[i], center, f)
			if abs := math.Sqrt(real(z)*real(z) + imag(z)*imag(z)); spectrum[f] != 0 && abs >= floor {
				spectrum[f] *= power(z, p.rounds)
				errorFactor[f] += float64(p.rounds) / abs
			} else {
				spectrum[f] = 0
			}
		}
	}
	for f, z := range spectrum {
		e += squared(z, errorFactor[f])
		spectrum[f] = z * r.at(f*shift) / complex(float64(n), 0)
	}
	// Every n/m-th point is a transform of m of the spectrum, turned to where they begin.
	room := roomOf(m)
	defer room.free()
	q = make([]float64, n)
	for from := range n / m {
		clear(room.factor)
		turn, turned := r.at(from), complex(1, 0)
		for f, z := range spectrum {
			room.factor[f] = z * turned
			turned *= turn
		}
		for i, x := range room.fft.Sequence(room.wrapped, room.factor) {
			q[from+i*(n/m)] = max(0, x)
		}
	}
	return q, e, true
}

// squared returns what a coefficient adds to the squares of the error: it errs by so much of itself for each unit
// that the transforms err.
func squared(z complex128, errorFactor float64) float64 {
	a := math.Sqrt(real(z)*real(z)+imag(z)*imag(z)) * (errorFactor + 1)
	return 2 * a * a
}

// wrap adds a law up in as many points as there are, on a circle.
func wrap(wrapped, law []float64, low int) {
	clear(wrapped)
	i := mod(low, len(wrapped))
	for _, q := range law {
		wrapped[i] += q
		if i++; i == len(wrapped) {
			i = 0
		}
	}
}

// moments returns the mean of the index and its deviation.
func moments(law []float64) (mean, deviation float64) {
	for i, q := range law {
		mean += q * float64(i)
	}
	variance := 0.
	for i, q := range law {
		x := float64(i) - mean
		variance += q * x * x
	}
	return mean, math.Sqrt(variance)
}

// roots holds the roots of unity of one order, each as a product of one far and one near.
type roots struct {
	order     int
	far, near []complex128
}

const nearRoots = 256

func rootsOf(n int) roots {
	r := roots{n, make([]complex128, n/nearRoots+1), make([]complex128, nearRoots)}
	root := func(k int) complex128 {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		return complex(cos, sin)
	}
	for i := range r.far {
		r.far[i] = root(i * nearRoots)
	}
	for i := range r.near {
		r.near[i] = root(i)
	}
	return r
}

// at returns e^(2 pi i k / order).
func (r roots) at(k int) complex128 {
	k = mod(k, r.order)
	return r.far[k/nearRoots] * r.near[k%nearRoots]
}

// transform returns the coefficient of a law at one frequency, with its index counted from a center. Sums in pairs err by
// some ten roundoffs less than the transform for which tilt charges.
func (r roots) transform(law []float64, center, frequency int) complex128 {
	var turn [together]complex128
	for i := range turn {
		turn[i] = r.at(-frequency * i)
	}
	var sum func(from int, q []float64) complex128
	sum = func(from int, q []float64) complex128 {
		if len(q) > together {
			half := (len(q)/2 + together - 1) / together * together
			return sum(from, q[:half]) + sum(from+half, q[half:])
		}
		re, im := 0., 0.
		for i, x := range q {
			re += x * real(turn[i])
			im += x * imag(turn[i])
		}
		return complex(re, im) * r.at(-frequency*(from-center))
	}
	return sum(0, law)
}
