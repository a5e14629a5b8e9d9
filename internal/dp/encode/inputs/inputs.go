// Package inputs turns an image, a text or a row of numbers into features, by public numbers that have one form in
// files and a hash. Used by question/vector, whose plans name the hash, and by internal/learn/model, which carries
// it.
package inputs

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cosines"
	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
	"github.com/confetti-dp/confetti/internal/dp/encode/hashedwords"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/dp/encode/scattering"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
)

// Map turns an input into a vector. All its numbers are of public or synthetic inputs, of a public
// generator, or of earlier releases. One of Image, Text, Words and Columns is set.
type Map struct {
	Image   *Size            // by oriented gradients
	Scatter *scattering.Map  // in the place of oriented gradients; nil: none
	Text    *lsa.State       // by latent directions of public texts
	Words   *hashedwords.Map // of a text, in random places
	Columns []Column
	Cosines *cosines.Map // beside columns; nil: none
	// Maps follow one another, each to unit length.
	Maps []*whiten.State
	// Cut, if above zero: the last map's result is divided by it in the place of its length,
	// and cut to length one. A number is predicted from how far an input is out, too.
	Cut float32
}

// Size is of images, in pixels: multiples of 4.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Column is a number of a row: less Middle, over Scale, and cut off at four.
type Column struct {
	Name   string  `json:"name"`
	Middle float64 `json:"middle"`
	Scale  float64 `json:"scale"`
}

const cutOff = 4 // of a column

// Check says what is wrong with a map that was read.
func (m *Map) Check() error {
	kinds := 0
	for _, set := range []bool{m.Image != nil, m.Text != nil, m.Words != nil, len(m.Columns) > 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 || m.Scatter != nil && m.Image == nil || m.Cosines != nil && len(m.Columns) == 0 {
		return errors.New("inputs: features are of images, of texts or of columns, and of one of them")
	}
	if m.Image != nil {
		if err := gradients.CheckSize(m.Image.Width, m.Image.Height); err != nil {
			return err
		}
		if m.Scatter != nil && !m.Scatter.Of(m.Image.Width, m.Image.Height) {
			return errors.New("inputs: scattering is for images of another size")
		}
	}
	for i, c := range m.Columns {
		if !(c.Scale > 0) || math.IsInf(c.Scale, 1) || c.Middle-c.Middle != 0 {
			return fmt.Errorf("inputs: column %d has no finite middle and scale", i+1)
		}
	}
	if m.Cosines != nil {
		if err := m.Cosines.Check(len(m.Columns)); err != nil {
			return err
		}
	}
	return m.checkMaps()
}

func (m *Map) checkMaps() error {
	length := m.raw()
	for i, w := range m.Maps {
		if err := w.Check(); err != nil {
			return err
		}
		if len(w.Mean) != length {
			return fmt.Errorf("inputs: map %d takes %d numbers and is given %d", i+1, len(w.Mean), length)
		}
		length = w.Len()
	}
	if m.Cut < 0 || m.Cut-m.Cut != 0 || m.Cut > 0 && len(m.Maps) == 0 {
		return fmt.Errorf("inputs: features cut at %v", m.Cut)
	}
	return nil
}

// raw returns the number of features before the maps.
func (m *Map) raw() int {
	switch {
	case m.Scatter != nil:
		return m.Scatter.Len()
	case m.Image != nil:
		return gradients.Len(m.Image.Width, m.Image.Height)
	case m.Text != nil:
		return m.Text.Len()
	case m.Words != nil:
		return m.Words.Places
	case m.Cosines != nil:
		return m.Cosines.Len()
	}
	return len(m.Columns)
}

// Len returns the length of the vector.
func (m *Map) Len() int {
	if n := len(m.Maps); n > 0 {
		return m.Maps[n-1].Len()
	}
	return m.raw()
}

// Texts says that inputs are texts.
func (m *Map) Texts() bool { return m.Text != nil || m.Words != nil }

// Numbers returns how many an input has; zero for a text.
func (m *Map) Numbers() int {
	if m.Image != nil {
		return m.Image.Width * m.Image.Height
	}
	return len(m.Columns)
}

// Places returns where Columns stand among the columns of a file.
func (m *Map) Places(names []string) ([]int, error) {
	at := make([]int, len(m.Columns))
	for i, c := range m.Columns {
		if at[i] = slices.Index(names, c.Name); at[i] < 0 {
			return nil, fmt.Errorf("inputs: no column %q among %d", c.Name, len(names))
		}
	}
	return at, nil
}

// Fit refuses rows of numbers with other columns, or in another order.
func (m *Map) Fit(names []string) error {
	if m.Texts() {
		return errors.New("inputs: this map takes texts, and the columns have numbers")
	}
	for i, c := range m.Columns {
		if len(names) != len(m.Columns) || names[i] != c.Name {
			return fmt.Errorf("inputs: features are of %d columns, the first of them %q, in that order: choose the same ones", len(m.Columns), m.Columns[0].Name)
		}
	}
	return nil
}

// Standardize centres, scales and cuts off the columns of rows, in place.
func (m *Map) Standardize(x blas32.General) {
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:x.Cols]
		for j, c := range m.Columns {
			row[j] = float32(math.Max(-cutOff, math.Min(cutOff, (float64(row[j])-c.Middle)/c.Scale)))
		}
	}
}

// Shorten divides a row that the last map gave by the cut, or to length one where that is
// longer.
func (m *Map) Shorten(row []float32) {
	v := blas32.Vector{N: len(row), Inc: 1, Data: row}
	blas32.Scal((1-0x1p-20)/max(m.Cut, blas32.Nrm2(v)), v)
}
