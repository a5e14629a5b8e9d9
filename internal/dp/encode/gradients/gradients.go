// Package gradients turns a small grey image into oriented gradients at two scales, whatever its brightness or
// contrast. Used by internal/dp/encode/inputs and internal/dp/encode/cluster.
package gradients

import (
	"fmt"
	"math"
)

const (
	orientations = 8
	cell         = 4 // pixels
)

// Map is for images of one size. It is not safe for concurrent use: each goroutine takes
// its own.
type Map struct {
	width, height int
	blurred, held []float32
	cells         []float64 // of one scale, with a margin of a cell on every side
}

// New is for images of so many pixels, multiples of 4.
func New(width, height int) (*Map, error) {
	if err := CheckSize(width, height); err != nil {
		return nil, err
	}
	n := width * height
	return &Map{width, height, make([]float32, n), make([]float32, n), make([]float64, orientations*(width/cell+2)*(height/cell+2))}, nil
}

// CheckSize says why there are no images of so many pixels.
func CheckSize(width, height int) error {
	const most = 1 << 10
	if width < cell || height < cell || width > most || height > most || width%cell != 0 || height%cell != 0 {
		return fmt.Errorf("gradients: images of %d times %d pixels: give multiples of %d up to %d", width, height, cell, most)
	}
	return nil
}

// Len returns the number of features of an image of so many pixels: eight orientations in each cell
// of 4x4 pixels, twice.
func Len(width, height int) int { return 2 * half(width, height) }

// Len returns the number of features.
func (m *Map) Len() int { return Len(m.width, m.height) }

func half(width, height int) int { return orientations * (width / cell) * (height / cell) }

// Check says why an image does not fit: its size, or a pixel that is not finite.
func (m *Map) Check(image []float32) error {
	if len(image) != m.width*m.height {
		return fmt.Errorf("gradients: %d pixels: want %d times %d", len(image), m.width, m.height)
	}
	for i, p := range image {
		if p-p != 0 {
			return fmt.Errorf("gradients: pixel %d is not finite", i)
		}
	}
	return nil
}

// Apply writes the features of an image, row by row from the top, to out: those of the
// image itself and then of the image blurred by (1 4 6 4 1)/16 in either direction, each half of
// length one, or zero where nothing rises.
//
// Gradients are central differences, beyond the edge the edge's own pixels. Each adds its length
// to its two nearest of eight directions and to the four nearest cells, by linear interpolation:
// a cell weighs pixels with 1/4, 1/2, 3/4, 1, 1, 3/4, 1/2, 1/4 in either direction. A feature is the
// root of its sum. Features are ordered by cells, row by row, then directions.
func (m *Map) Apply(image, out []float32) {
	one := half(m.width, m.height)
	m.scale(image, out[:one])
	m.blur(image)
	m.scale(m.blurred, out[one:])
}

func (m *Map) scale(image, out []float32) {
	clear(m.cells)
	w, h := m.width, m.height
	for y := range h {
		above, below := image[max(0, y-1)*w:], image[min(h-1, y+1)*w:]
		row := image[y*w : (y+1)*w]
		for x := range w {
			dx := float64(row[min(w-1, x+1)]) - float64(row[max(0, x-1)])
			dy := float64(below[x]) - float64(above[x])
			if dx != 0 || dy != 0 {
				m.add(x, y, dx, dy)
			}
		}
	}
	m.finish(out)
}

// finish takes roots of the cells within the margin.
func (m *Map) finish(out []float32) {
	across, down := m.width/cell, m.height/cell
	sum := 0.0
	for y := range down {
		row := m.cells[orientations*((y+1)*(across+2)+1):][:orientations*across]
		for x, c := range row {
			sum += c
			out[y*len(row)+x] = float32(math.Sqrt(c))
		}
	}
	if sum > 0 {
		for i := range out {
			out[i] *= float32(1 / math.Sqrt(sum))
		}
	}
}

// add spreads one gradient over directions and cells. Pixel x counts in the cells
// (x+2)/4 and the one before.
func (m *Map) add(x, y int, dx, dy float64) {
	length := math.Sqrt(dx*dx+dy*dy) / (cell * cell)
	turn := math.Atan2(dy, dx) * (orientations / (2 * math.Pi))
	if turn < 0 {
		turn += orientations
	}
	first := int(turn)
	second, part := first+1, turn-float64(first)
	first, second = first%orientations, second%orientations
	stride := orientations * (m.width/cell + 2)
	at := (y+cell/2)/cell*stride + (x+cell/2)/cell*orientations // of the cell before, on both axes
	wx, wy := float64((x+cell/2)%cell+1), float64((y+cell/2)%cell+1)
	for _, c := range [4]struct {
		at     int
		weight float64
	}{
		{at, (cell + 1 - wx) * (cell + 1 - wy)}, {at + orientations, wx * (cell + 1 - wy)},
		{at + stride, (cell + 1 - wx) * wy}, {at + stride + orientations, wx * wy},
	} {
		m.cells[c.at+first] += c.weight * length * (1 - part)
		m.cells[c.at+second] += c.weight * length * part
	}
}

var binomial = [5]float32{1. / 16, 4. / 16, 6. / 16, 4. / 16, 1. / 16}

func (m *Map) blur(image []float32) {
	w, h := m.width, m.height
	for y := range h {
		for x := range w {
			var sum float32
			for i, b := range binomial {
				sum += b * image[y*w+min(w-1, max(0, x+i-2))]
			}
			m.held[y*w+x] = sum
		}
	}
	for y := range h {
		for x := range w {
			var sum float32
			for i, b := range binomial {
				sum += b * m.held[min(h-1, max(0, y+i-2))*w+x]
			}
			m.blurred[y*w+x] = sum
		}
	}
}
