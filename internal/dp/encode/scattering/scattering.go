// Package scattering turns a small grey image into square roots of scattering coefficients, at two scales, in eight
// directions and orders 0 to 2. Used by internal/dp/encode/inputs.
//
// Filters and orders are those of Bruna and Mallat 2013 as the library kymatio has them. They have learned nothing,
// and do not depend on contrast. The package takes some twenty times the work of oriented gradients
// (internal/dp/encode/gradients); docs/learning.md says what that gains.
package scattering

import (
	"fmt"
	"math"
)

const (
	scales     = 2
	directions = 8
	step       = 1 << scales // pixels between coefficients, and the margin that reflects the image
	paths      = 1 + scales*directions + directions*directions
)

// Map is for images of one size. It is safe for concurrent use.
type Map struct {
	width, height int
	waves         [scales][directions][]float32 // in frequency, of the image with its margin
	// By the image's resolution: 1, 1/2.
	down, across [scales]lowpass
	transforms   [scales]*transform
}

// Of says whether the map is for images of so many pixels.
func (m *Map) Of(width, height int) bool { return m.width == width && m.height == height }

// New is for images of so many pixels, multiples of 4.
func New(width, height int) (*Map, error) {
	if err := checkSize(width, height); err != nil {
		return nil, err
	}
	m := &Map{width: width, height: height}
	rows, cols := m.padded()
	for j := range scales {
		for t := range directions {
			m.waves[j][t] = morlet(rows, cols, j, t)
		}
		m.down[j], m.across[j], m.transforms[j] = newLowpass(rows, j), newLowpass(cols, j), newTransform(rows>>j, cols>>j)
	}
	return m, nil
}

// checkSize says why there are no images of so many pixels.
func checkSize(width, height int) error {
	const least, most = 2 * step, 1 << 6
	if width < least || height < least || width > most || height > most || width%step != 0 || height%step != 0 {
		return fmt.Errorf("scattering: images of %d times %d pixels: give multiples of %d from %d to %d", width, height, step, least, most)
	}
	return nil
}

// Len returns the number of features: 81 in each cell of 4x4 pixels.
func (m *Map) Len() int { return paths * (m.width / step) * (m.height / step) }

func (m *Map) padded() (rows, cols int) { return m.height + 2*step, m.width + 2*step }

// Check says why an image does not fit: its size, or a pixel that is not finite.
func (m *Map) Check(image []float32) error {
	if len(image) != m.width*m.height {
		return fmt.Errorf("scattering: %d pixels: want %d times %d", len(image), m.width, m.height)
	}
	for i, p := range image {
		if p-p != 0 {
			return fmt.Errorf("scattering: pixel %d is not finite", i)
		}
	}
	return nil
}

// Apply writes the features of an image, row by row from the top, to out: roots of the coefficients,
// together of length one, or zero for an image of zeros. They are ordered by paths, first the
// smoothed image, then the first scale's directions and the second's, then each direction of the
// first followed by each of the second; within a path by cells, row by row.
func (m *Map) Apply(image, out []float32) {
	cells := m.width / step * (m.height / step)
	reflected := m.reflect(image)
	all := m.transforms[0].forward(reflected, 1)
	m.smooth(reflected, 0, out[:cells])
	first, later := m.strengths(all, 0, 0), m.strengths(all, 0, 1)
	m.smooth(first, 0, out[cells:][:directions*cells])
	m.smooth(later, 1, out[(1+directions)*cells:][:directions*cells])
	again := m.transforms[0].forward(first, directions)
	for t := range directions {
		m.smooth(m.strengths(again, t, 1), 1, out[(1+(scales+t)*directions)*cells:][:directions*cells])
	}
	normalize(out)
}

// normalize takes roots, which lie nearer together than strengths.
func normalize(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += math.Max(0, float64(v))
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		clear(x)
		return
	}
	for i, v := range x {
		x[i] = float32(math.Sqrt(math.Max(0, float64(v)) / sum))
	}
}
