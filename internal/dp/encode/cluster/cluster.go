// Package cluster finds the public cluster that features lie in: the nearest of public centres, by distances that
// may have offsets. Used by internal/question/label and internal/question/latent for crowds and symbols; the lab
// makes the centres.
package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
	"github.com/confetti-dp/confetti/internal/floats"
	"github.com/confetti-dp/confetti/internal/kernel"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// Most bounds the clusters of a state.
const Most = 1 << 14

// State is what a device needs.
type State struct {
	// Width and Height are of images, in pixels, whose oriented gradients are the features
	// (package gradients); zero: features are given.
	Width, Height int
	Centres       blas32.General // a row each
	// Offsets, where there are any, are added to half the squared distance of each centre: they
	// make clusters larger or smaller, and stand for distances in other directions.
	Offsets []float32
	// Sizes are how many public inputs lie in each cluster.
	Sizes []int

	halves []float32 // half the squared length of each centre, and its offset
}

// Partition finds the cluster of features: a State, or an Encoder.
type Partition interface {
	Len() int      // clusters
	Features() int // numbers of an input
	Nearest(features []float32) int
	All(x blas32.General) []int // of rows
}

// Read reads either in its one form.
func Read(text []byte) (Partition, error) {
	if bytes.HasPrefix(text, []byte(`{"confetti_encoder":`)) {
		return parseEncoder(text)
	}
	return parse(text)
}

// form is a state in JSON: numbers as the bytes of IEEE 754, little endian, in base64.
type form struct {
	Version int            `json:"confetti_clusters"`
	Image   *size          `json:"image,omitempty"`
	Sizes   []int          `json:"sizes"`
	Centres floats.Singles `json:"centres"` // a row each
	Offsets floats.Singles `json:"offsets,omitempty"`
}

type size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

const version = 1

var errForm = errors.New("cluster: not a state of clusters in its one form")

// Marshal returns the state's one form.
func (s *State) Marshal() []byte {
	f := form{Version: version, Sizes: s.Sizes, Offsets: s.Offsets}
	if s.Width != 0 {
		f.Image = &size{s.Width, s.Height}
	}
	c := s.Centres
	for i := range c.Rows {
		f.Centres = append(f.Centres, c.Data[i*c.Stride:][:c.Cols]...)
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic("cluster: " + err.Error()) // numbers always encode
	}
	return text
}

// parse reads a state in its one form.
func parse(text []byte) (*State, error) {
	var f form
	if strictjson.JSON(text, &f) != nil {
		return nil, errForm
	}
	rows := len(f.Sizes)
	if f.Version != version || rows == 0 || len(f.Centres) == 0 || len(f.Centres)%rows != 0 {
		return nil, errForm
	}
	s := &State{Sizes: f.Sizes, Offsets: f.Offsets, Centres: blas32.General{Rows: rows, Cols: len(f.Centres) / rows, Stride: len(f.Centres) / rows, Data: f.Centres}}
	if f.Image != nil {
		s.Width, s.Height = f.Image.Width, f.Image.Height
	}
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	if !bytes.Equal(s.Marshal(), text) {
		return nil, errForm
	}
	return s, nil
}

// Prepare checks a state that was made or read, and makes it ready to look clusters up.
func (s *State) Prepare() error {
	c := s.Centres
	if c.Rows < 1 || c.Rows > Most || c.Cols < 1 || c.Stride < c.Cols || len(c.Data) < (c.Rows-1)*c.Stride+c.Cols || len(s.Sizes) != c.Rows {
		return fmt.Errorf("cluster: %d centres of %d numbers, and %d sizes: give 1 to %d centres with a size each", c.Rows, c.Cols, len(s.Sizes), Most)
	}
	if s.Width != 0 || s.Height != 0 {
		if err := gradients.CheckSize(s.Width, s.Height); err != nil {
			return err
		}
		if n := gradients.Len(s.Width, s.Height); n != c.Cols {
			return fmt.Errorf("cluster: centres of %d numbers for images of %d features", c.Cols, n)
		}
	}
	if len(s.Offsets) != 0 && len(s.Offsets) != c.Rows {
		return fmt.Errorf("cluster: %d offsets for %d centres: give one for each, or none", len(s.Offsets), c.Rows)
	}
	s.halves = make([]float32, c.Rows)
	for i := range s.halves {
		if s.Sizes[i] < 0 {
			return fmt.Errorf("cluster: cluster %d has %d public inputs", i+1, s.Sizes[i])
		}
		sum := 0.0
		for _, v := range c.Data[i*c.Stride:][:c.Cols] {
			sum += float64(v) * float64(v)
		}
		if !(sum <= math.MaxFloat32) {
			return fmt.Errorf("cluster: a number of centre %d is not finite", i+1)
		}
		if sum += 2 * float64(s.offset(i)); !(math.Abs(sum) <= math.MaxFloat32) {
			return fmt.Errorf("cluster: offset %d is not finite", i+1)
		}
		s.halves[i] = float32(sum / 2)
	}
	return nil
}

func (s *State) offset(cluster int) float32 {
	if len(s.Offsets) == 0 {
		return 0
	}
	return s.Offsets[cluster]
}

// Len returns the number of clusters.
func (s *State) Len() int { return s.Centres.Rows }

// Features returns how many numbers a centre has.
func (s *State) Features() int { return s.Centres.Cols }

// Nearest returns the cluster of finite features, as many as a centre has: of equal distances, the
// first.
func (s *State) Nearest(features []float32) int {
	c, best, at := s.Centres, math.Inf(1), 0
	for i := range c.Rows {
		row, d := c.Data[i*c.Stride:][:c.Cols], 0.0
		for j, v := range row {
			x := float64(v) - float64(features[j])
			d += x * x
		}
		if d += 2 * float64(s.offset(i)); d < best {
			best, at = d, i
		}
	}
	return at
}

// All returns the clusters of rows of features, by products of matrices: where two centres are
// equally near but for the last digits, Nearest may say the other.
func (s *State) All(x blas32.General) []int {
	const block = 512
	c, out := s.Centres, make([]int, x.Rows)
	turned := make([]float32, c.Cols*c.Rows)
	for i := range c.Rows {
		for j, v := range c.Data[i*c.Stride:][:c.Cols] {
			turned[j*c.Rows+i] = v
		}
	}
	rows, scores := make([]float32, 0, block*x.Cols), make([]float32, block*c.Rows)
	for from := 0; from < x.Rows; from += block {
		to := min(x.Rows, from+block)
		rows = rows[:0]
		for i := from; i < to; i++ {
			rows = append(rows, x.Data[i*x.Stride:][:x.Cols]...)
		}
		scores := scores[:(to-from)*c.Rows]
		kernel.Gemm(scores, rows, turned, to-from, c.Cols, c.Rows)
		for i := from; i < to; i++ {
			row := scores[(i-from)*c.Rows:][:c.Rows]
			for j, v := range row {
				row[j] = s.halves[j] - v
				if row[j] < row[out[i]] {
					out[i] = j
				}
			}
		}
	}
	return out
}
