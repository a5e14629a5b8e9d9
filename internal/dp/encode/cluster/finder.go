package cluster

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
)

// Finder finds the clusters of records as their holders have them: of images, whose oriented
// gradients it takes, or of features. It is safe for concurrent use.
type Finder struct {
	Inputs        int            // numbers of a record
	Sizes         []int          // public inputs in each cluster
	Centres       blas32.General // a row each, where records are features of which there are centres; else no rows
	width, height int            // of images; zero: records are features
	nearest       func(features []float32) int
}

// ParseFinder reads the one form of a State or of an Encoder.
func ParseFinder(text []byte) (*Finder, error) {
	p, err := Read(text)
	if err != nil {
		return nil, err
	}
	f := &Finder{Inputs: p.Features(), nearest: p.Nearest}
	switch p := p.(type) {
	case *State:
		f.Sizes = p.Sizes
		f.ofImages(p.Width, p.Height)
		if p.Width == 0 {
			f.Centres = p.Centres
		}
	case *Encoder:
		f.Sizes = p.Sizes
		f.ofImages(p.Width, p.Height)
	}
	return f, nil
}

func (f *Finder) ofImages(width, height int) {
	if width != 0 {
		f.Inputs, f.width, f.height = width*height, width, height
	}
}

// Find returns the cluster of a record; not ok of one that lies in none, since it has other than Inputs numbers, or one
// that is not finite, or too large.
func (f *Finder) Find(record []float32) (cluster int, ok bool) {
	if len(record) != f.Inputs {
		return 0, false
	}
	squares := float32(0)
	for _, x := range record {
		squares += x * x
	}
	if squares-squares != 0 {
		return 0, false
	}
	if f.width == 0 {
		return f.nearest(record), true
	}
	m, err := gradients.New(f.width, f.height) // not to be shared
	if err != nil || m.Check(record) != nil {
		return 0, false
	}
	features := make([]float32, m.Len())
	m.Apply(record, features)
	return f.nearest(features), true
}
