package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode/gradients"
	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/dp/encode/whiten"
)

// Features turn an input, which is an image, a text or a row of numbers, into a vector. All
// its numbers are of public or synthetic inputs, or of earlier releases. One of Image, Text and
// Columns is set.
type Features struct {
	Image   *Size
	Text    *lsa.State
	Columns []Column
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

// Check says what is wrong with features that were read.
func (f *Features) Check() error {
	kinds := 0
	for _, set := range []bool{f.Image != nil, f.Text != nil, len(f.Columns) > 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("model: features are of images, of texts or of columns, and of one of them")
	}
	if f.Image != nil {
		if err := gradients.CheckSize(f.Image.Width, f.Image.Height); err != nil {
			return err
		}
	}
	for i, c := range f.Columns {
		if !(c.Scale > 0) || math.IsInf(c.Scale, 1) || c.Middle-c.Middle != 0 {
			return fmt.Errorf("model: column %d has no finite middle and scale", i+1)
		}
	}
	length := f.given()
	for i, m := range f.Maps {
		if err := m.Check(); err != nil {
			return err
		}
		if len(m.Mean) != length {
			return fmt.Errorf("model: map %d takes %d numbers and is given %d", i+1, len(m.Mean), length)
		}
		length = m.Len()
	}
	if f.Cut < 0 || f.Cut-f.Cut != 0 || f.Cut > 0 && len(f.Maps) == 0 {
		return fmt.Errorf("model: features cut at %v", f.Cut)
	}
	return nil
}

// given is the number of features before the maps.
func (f *Features) given() int {
	switch {
	case f.Image != nil:
		return gradients.Len(f.Image.Width, f.Image.Height)
	case f.Text != nil:
		return f.Text.Len()
	}
	return len(f.Columns)
}

// Len is the length of the vector.
func (f *Features) Len() int {
	if n := len(f.Maps); n > 0 {
		return f.Maps[n-1].Len()
	}
	return f.given()
}

// OfText is the vector of a text.
func (f *Features) OfText(text string) ([]float32, error) {
	if f.Text == nil {
		return nil, errors.New("model: its features are not of texts")
	}
	x := make([]float32, f.Text.Len())
	f.Text.Apply(text, x)
	whiten.Normalize(x)
	return f.mapped(x), nil
}

// OfNumbers is the vector of the grey levels of an image, row by row from the top, or of a
// row of numbers in the order of Columns.
func (f *Features) OfNumbers(numbers []float32) ([]float32, error) {
	switch {
	case f.Image != nil:
		m, err := gradients.New(f.Image.Width, f.Image.Height)
		if err != nil {
			return nil, err
		}
		if err := m.Check(numbers); err != nil {
			return nil, err
		}
		x := make([]float32, m.Len())
		m.Apply(numbers, x)
		return f.mapped(x), nil
	case f.Text != nil:
		return nil, errors.New("model: its features are of texts")
	case len(numbers) != len(f.Columns):
		return nil, fmt.Errorf("model: %d numbers: its features are of %d columns", len(numbers), len(f.Columns))
	}
	for i, v := range numbers {
		if v != v {
			return nil, fmt.Errorf("model: column %d is not a number", i+1)
		}
	}
	x := blas32.General{Rows: 1, Cols: len(numbers), Stride: len(numbers), Data: append([]float32(nil), numbers...)}
	f.Standardize(x)
	return f.mapped(x.Data), nil
}

// Places are where Columns stand among the columns of a file.
func (f *Features) Places(names []string) ([]int, error) {
	at := make([]int, len(f.Columns))
	for i, c := range f.Columns {
		if at[i] = slices.Index(names, c.Name); at[i] < 0 {
			return nil, fmt.Errorf("model: no column %q among %d", c.Name, len(names))
		}
	}
	return at, nil
}

// Fit refuses rows of numbers with other columns, or in another order.
func (f *Features) Fit(names []string) error {
	if f.Text != nil {
		return errors.New("model: its features are of texts")
	}
	for i, c := range f.Columns {
		if len(names) != len(f.Columns) || names[i] != c.Name {
			return fmt.Errorf("model: its features are of %d columns, the first of them %q, in that order: choose the same ones", len(f.Columns), f.Columns[0].Name)
		}
	}
	return nil
}

// Standardize centres, scales and cuts off the columns of rows, in place.
func (f *Features) Standardize(x blas32.General) {
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:x.Cols]
		for j, c := range f.Columns {
			row[j] = float32(math.Max(-cutOff, math.Min(cutOff, (float64(row[j])-c.Middle)/c.Scale)))
		}
	}
}

// Shorten divides a row that the last map gave by the cut, or to length one where that is
// longer.
func (f *Features) Shorten(row []float32) {
	v := blas32.Vector{N: len(row), Inc: 1, Data: row}
	blas32.Scal((1-0x1p-20)/max(f.Cut, blas32.Nrm2(v)), v)
}

func (f *Features) mapped(x []float32) []float32 {
	for i, m := range f.Maps {
		if f.Cut > 0 && i == len(f.Maps)-1 {
			y := m.Project(blas32.General{Rows: 1, Cols: len(x), Stride: len(x), Data: x}).Data
			f.Shorten(y)
			return y
		}
		y := make([]float32, m.Len())
		m.Apply(x, y)
		x = y
	}
	return x
}
