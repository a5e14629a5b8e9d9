package vector

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Sum is the estimated sum of all vectors.
type Sum struct {
	Vector []float64
	// Error is the standard error of each coordinate from the random bits: what the
	// answers' own spread and the flips cause. Clipping adds a bias that Clipping describes.
	Error float64
	// Spare is the root mean square of the estimates of the Rows - Dimension coordinates that no vector has, 0 where there
	// are none. They show error alone, of the bits and of clipping, as it came out (docs/crosstabs.md).
	Spare float64
}

// Gain returns what clipping leaves of a unit vector on average over rotations: E z clip(z)
// for z = sqrt(D) u, u a coordinate of a uniform unit vector, the regularized incomplete
// beta function I_(R^2/D)(1/2, (D+1)/2), close to 2 Phi(R) - 1. Of a shorter vector it leaves
// more, so that its estimate comes out too long, by Excess.
func (s Spec) Gain() float64 {
	d := float64(s.Rows)
	if s.Few || s.Clip*s.Clip >= d {
		return 1
	}
	return prob.RegularizedBeta(0.5, (d+1)/2, s.Clip*s.Clip/d)
}

// Excess returns by what factor the estimate of vectors of a length, at most 1, is too long: from 1 to 1/Gain.
func (s Spec) Excess(length float64) float64 {
	wider := s
	wider.Clip /= length
	return wider.Gain() / s.Gain()
}

// Estimate returns the sum of the vectors of n devices that sent the counts:
//
//	n R/(sqrt(D) g) U^T y,   y = (2 ones/answered - 1)/(1-2p),
//
// g the gain, and 0 for a row that nobody answered.
func (m *Mechanism) Estimate(c Counts, n int) (Sum, error) { return m.estimate(c, n, nil) }

// EstimateLike estimates as Estimate does, and puts back what clipping takes beyond the gain from devices whose vectors are
// like the models, which write writes. The nearer these are to what is held, the less of clipping is left.
func (m *Mechanism) EstimateLike(c Counts, n, models int, write func(i int, v []float32)) (Sum, error) {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	v, beyond, gain := make([]float32, m.spec.Dimension), make([]float64, m.spec.Rows), m.spec.Gain()
	for i := range models {
		write(i, v)
		m.rotate(v, s)
		for row, z := range s.rotated {
			beyond[row] += (float64(min(1, max(-1, z))) - gain*float64(z)) / float64(models)
		}
	}
	return m.estimate(c, n, beyond)
}

// estimate takes from the mean of each row what is beyond the gain; nothing where that is nil.
func (m *Mechanism) estimate(c Counts, n int, beyond []float64) (Sum, error) {
	d := m.spec.Rows
	if len(c.Answered) != d || len(c.Ones) != d || n < 1 {
		return Sum{}, fmt.Errorf("vector: counts of %d rows from %d devices: the plan has %d rows", len(c.Ones), n, d)
	}
	y, noise := make([]float32, d), prob.Sum{}
	keep := 1 - 2*m.spec.Flip
	for i, answered := range c.Answered {
		if beyond != nil {
			y[i] = -float32(beyond[i])
		}
		if answered == 0 {
			continue
		}
		if c.Ones[i] > answered {
			return Sum{}, fmt.Errorf("vector: row %d has %d ones in %d answers", i, c.Ones[i], answered)
		}
		mean := 2*float64(c.Ones[i])/float64(answered) - 1
		y[i] += float32(mean / keep)
		noise.Add((1 - mean*mean) / float64(answered))
	}
	out := make([]float32, d)
	m.u.undo(y, out) // times sqrt(D)/R
	unit := float64(n) * m.spec.Clip * m.spec.Clip / (float64(d) * m.spec.Gain())
	sum := Sum{Vector: make([]float64, m.spec.Dimension)}
	for i := range sum.Vector {
		sum.Vector[i] = unit * float64(out[i])
	}
	if spare := out[m.spec.Dimension:]; len(spare) > 0 {
		squares := prob.Sum{}
		for _, x := range spare {
			squares.Add(float64(x) * float64(x))
		}
		sum.Spare = unit * math.Sqrt(squares.Value()/float64(len(spare)))
	}
	sum.Error = float64(n) * m.spec.Clip / (float64(d) * m.spec.Gain() * keep) * math.Sqrt(noise.Value())
	return sum, nil
}

// Noise returns the deviation of a coordinate of the sum of n vectors from the bits, before
// anything is drawn:
//
//	n R^2/(B g^2 (1-2p)^2),   B the rows answered,
//
// which is that of a curator's Gaussian, (Delta/mu)^2/g^2 with n (1/(1-2p)^2 - 1) = B
// Delta^2/(mu R)^2, and n R^2/(B g^2) for one bit in the place of each number.
func (s Spec) Noise(n int) float64 {
	return math.Sqrt(float64(n)/float64(s.Answered)) * s.Clip / (s.Gain() * (1 - 2*s.Flip))
}

// Overlap holds the means of <v, v'>^k over pairs of different vectors, k = 3, 5 and 7, of
// public vectors of which respondents' are like. Zero stands for vectors that have nothing
// in common.
type Overlap [3]float64

// Alike returns the overlap where a share of all pairs has the given inner product and others
// have nothing in common: classes, for which public vectors without labels do not stand.
func Alike(share, product float64) (o Overlap) {
	for k := range o {
		o[k] = share * math.Pow(product, float64(3+2*k))
	}
	return o
}

// Overlaps measures public vectors.
func Overlaps(vectors [][]float32) (o Overlap) {
	pairs := 0
	for i, v := range vectors {
		for _, w := range vectors[:i] {
			var dot float64
			for k, x := range v {
				dot += float64(x) * float64(w[k])
			}
			power := dot
			for k := range o {
				power *= dot * dot
				o[k] += power
			}
			pairs++
		}
	}
	for k := range o {
		o[k] /= float64(max(1, pairs))
	}
	return o
}

// Clipping returns the root mean square, over rotations, of what clipping does to a coordinate
// of the sum of n unit vectors beyond the gain:
//
//	n^2/(D g^2) sum over odd k >= 3 of c_k^2 E <v, v'>^k,   c_k^2 = 4 He_(k-2)(R)^2 phi(R)^2/k!,
//
// c_k the coefficients of clip(z) in normalized Hermite polynomials; up to k = 7.
func (s Spec) Clipping(n int, o Overlap) float64 {
	if s.Few {
		return 0
	}
	variance := 0.0
	for i, mean := range o {
		variance += hermiteSquare(3+2*i, s.Clip) * math.Max(0, mean)
	}
	return float64(n) / s.Gain() * math.Sqrt(variance/float64(s.Rows))
}

// Deviation returns what a coordinate of the estimated sum is from that of the n vectors themselves,
// of norm one, in the root mean square: Noise and Clipping, less a part of Noise. Noise takes the
// vectors for a sample, and so counts how they differ, n E min(z^2, R^2)/(D g^2), z standard
// normal. In the sum of these very vectors that is no error.
func (s Spec) Deviation(n int, o Overlap) float64 {
	spread := 1 - 2*s.Clip*math.Exp(-s.Clip*s.Clip/2)/math.Sqrt(2*math.Pi) + (s.Clip*s.Clip-1)*math.Erfc(s.Clip/math.Sqrt2) // E min(z^2, R^2)
	if s.Few {
		spread = 1
	}
	differ := float64(n) / float64(s.Rows) * spread / (s.Gain() * s.Gain())
	noise, clipping := s.Noise(n), s.Clipping(n, o)
	return math.Sqrt(noise*noise + clipping*clipping - differ)
}

// hermiteSquare is c_k^2.
func hermiteSquare(k int, clip float64) float64 {
	before, he := 0.0, 1.0 // He_(j+1) = R He_j - j He_(j-1)
	factorial := 1.0
	for j := range k - 2 {
		before, he = he, clip*he-float64(j)*before
	}
	for j := 2; j <= k; j++ {
		factorial *= float64(j)
	}
	return 4 * he * he * math.Exp(-clip*clip) / (2 * math.Pi) / factorial
}
