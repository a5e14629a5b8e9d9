package inputs

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
)

// OfText returns the vector of a text.
func (m *Map) OfText(text string) ([]float32, error) {
	x := make([]float32, m.raw())
	switch {
	case m.Text != nil:
		m.Text.Apply(text, x)
	case m.Words != nil:
		m.Words.Apply(text, x)
	default:
		return nil, errors.New("inputs: features are not of texts")
	}
	whiten.Normalize(x)
	return m.mapped(x), nil
}

// OfNumbers returns the vector of the grey levels of an image, row by row from the top, or of a
// row of numbers in the order of Columns.
func (m *Map) OfNumbers(numbers []float32) ([]float32, error) {
	switch {
	case m.Image != nil:
		return m.ofImage(numbers)
	case m.Texts():
		return nil, errors.New("inputs: this map takes texts, and the values are numbers")
	case len(numbers) != len(m.Columns):
		return nil, fmt.Errorf("inputs: %d numbers: want %d columns", len(numbers), len(m.Columns))
	}
	for i, v := range numbers {
		if v != v {
			return nil, fmt.Errorf("inputs: column %d is not a number", i+1)
		}
	}
	x := blas32.General{Rows: 1, Cols: len(numbers), Stride: len(numbers), Data: append([]float32(nil), numbers...)}
	m.Standardize(x)
	if m.Cosines != nil {
		x = m.Cosines.Beside(x)
	}
	return m.mapped(x.Data), nil
}

// imageMap is a fixed map of images.
type imageMap interface {
	Check(image []float32) error
	Apply(image, out []float32)
}

func (m *Map) ofImage(grey []float32) ([]float32, error) {
	var of imageMap = m.Scatter
	if m.Scatter == nil {
		oriented, err := gradients.New(m.Image.Width, m.Image.Height)
		if err != nil {
			return nil, err
		}
		of = oriented
	}
	if err := of.Check(grey); err != nil {
		return nil, err
	}
	x := make([]float32, m.raw())
	of.Apply(grey, x)
	return m.mapped(x), nil
}

func (m *Map) mapped(x []float32) []float32 {
	for i, w := range m.Maps {
		if m.Cut > 0 && i == len(m.Maps)-1 {
			y := w.Project(blas32.General{Rows: 1, Cols: len(x), Stride: len(x), Data: x}).Data
			m.Shorten(y)
			return y
		}
		y := make([]float32, w.Len())
		w.Apply(x, y)
		x = y
	}
	return x
}
