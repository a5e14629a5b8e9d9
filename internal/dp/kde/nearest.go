package kde

import (
	"errors"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Nearest is how much nearer a point y of unit length is to the mean m_a of a group
// than to m_b: (|y - m_b|^2 - |y - m_a|^2)/2, that is
//
//	<y, m_a - m_b> - (|m_a|^2 - |m_b|^2)/2.
//
// An inner product density at y is <y, m>, so all of it follows from densities. The
// squared norms are debiased: noise alone has a length.
//
// The error e of the estimate of m_a enters as <y - m_a, e> - (|e|^2 - E|e|^2)/2, and
// that of m_b likewise; where groups are mixed from the same densities, as after
// debiasing labels, their errors are related and count as such. Where features are
// sampled, the spread of the repetitions tells the error, as for a Mixture.
type Nearest struct {
	features *kernelmap.Features
	weight   []float64 // of a less that of b
	half     []float64 // of the difference of the squared norms

	// Of the variance at g, where features are not sampled: sum of square g^2 - 2
	// cross g, and constant; at least what squares of errors alone make.
	square, cross []float64
	constant      float64
	least         float64
}

// NearestMean compares the means of two mixtures of densities of an inner product, each
// given by its weights; with zeros for b, a is compared with a group of mean zero.
func NearestMean(a, b []float64, densities []Density) (Nearest, error) {
	first, err := Mix(a, densities)
	if err != nil {
		return Nearest{}, err
	}
	second := Mixture{weight: make([]float64, len(first.weight))}
	for _, w := range b {
		if w != 0 {
			if second, err = Mix(b, densities); err != nil {
				return Nearest{}, err
			}
			break
		}
	}
	isometry, ok := first.features.Isometry()
	if !ok {
		return Nearest{}, errNoMean
	}
	// Features are Gain times an orthogonal image of a value, and query features that
	// image divided by Gain.
	scale := 1 / (isometry.Gain * isometry.Gain)
	channels := len(first.weight)
	n := Nearest{features: first.features, weight: make([]float64, channels), half: make([]float64, channels)}
	noise := (first.noise - second.noise) / float64(channels)
	for c, wa := range first.weight {
		wb := second.weight[c]
		n.weight[c] = wa - wb
		n.half[c] = scale / 2 * (wa*wa - wb*wb - noise)
	}
	if !n.features.Sampled() {
		n.errors(a, b, first.weight, second.weight, scale, densities)
	}
	return n, nil
}

var errNoMean = errors.New("kde: only inner products have a mean to be near to; this kernel is one of distances")

// errors fills in the variance. Density k, of errors e_k with variance v_k in
// each channel, enters with weight a_k and b_k, so its share of the linear part is
//
//	<(a_k - b_k) g - scale (a_k m_a - b_k m_b), e_k>.
//
// The means in it are estimates themselves, whose own variance is taken off their squares.
// Squares of normal errors add scale^2/2 times V_aa^2 + V_bb^2 - 2 V_ab^2 a channel, V the
// covariances of the two means.
func (n *Nearest) errors(a, b, meanA, meanB []float64, scale float64, densities []Density) {
	n.square, n.cross = make([]float64, len(n.weight)), make([]float64, len(n.weight))
	v := make([]float64, len(densities))
	for c := range n.weight {
		var aa, ab, bb float64
		for k, d := range densities {
			if v[k] = 0; a[k] != 0 || b[k] != 0 {
				v[k] = d.variance(d.step(), c)
			}
			aa += a[k] * a[k] * v[k]
			ab += a[k] * b[k] * v[k]
			bb += b[k] * b[k] * v[k]
		}
		for k := range densities {
			if v[k] == 0 {
				continue
			}
			difference, mean := a[k]-b[k], scale*(a[k]*meanA[c]-b[k]*meanB[c])
			n.square[c] += difference * difference * v[k]
			n.cross[c] += difference * mean * v[k]
			own := scale * scale * (a[k]*a[k]*aa - 2*a[k]*b[k]*ab + b[k]*b[k]*bb)
			n.constant += (mean*mean - own) * v[k]
		}
		n.least += scale * scale / 2 * (aa*aa + bb*bb - 2*ab*ab)
	}
	n.constant += n.least
}

// At returns the comparison where the query features are g, with its standard error.
func (n Nearest) At(g []float32) estimate.Value {
	var sum, squares float64
	if !n.features.Sampled() {
		for c, v := range g {
			y := float64(v)
			sum += n.weight[c]*y - n.half[c]
			squares += (n.square[c]*y - 2*n.cross[c]) * y
		}
		return value(n.features, sum, math.Max(squares+n.constant, n.least))
	}
	for c, v := range g { // one channel a repetition, as all sampled inner products have
		e := n.weight[c]*float64(v) - n.half[c]
		sum += e
		squares += e * e
	}
	return value(n.features, sum, squares)
}
