package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	columns "github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// prototypes are as many vectors as stand for public records, where there are enough of these.
const prototypes = 300

// PCA returns the encoder to principal directions, in a ball that holds half of the public records.
func PCA(x blas32.General, dim int) (*nn.Model, float64, error) {
	directions, y, err := cluster.Directions(x, dim)
	if err != nil {
		return nil, 0, err
	}
	d := directions.Len()
	net := &nn.Model{Layers: []nn.Layer{nn.Dense{In: x.Cols, Out: d}}, Params: make([]float32, x.Cols*d+d)}
	for i := range d {
		at := 0.0
		for j, w := range directions.Matrix.Data[i*directions.Matrix.Stride:][:x.Cols] {
			net.Params[j*d+i] = w
			at -= float64(w) * float64(directions.Mean[j])
		}
		net.Params[x.Cols*d+i] = float32(at)
	}
	lengths := make([]float64, y.Rows)
	for i := range lengths {
		for _, v := range y.Data[i*y.Stride:][:d] {
			lengths[i] += math.Abs(float64(v))
		}
	}
	slices.Sort(lengths)
	return net, lengths[len(lengths)/2], nil
}

// Greys are images, a row each, with the brightest pixel of each at one: what the likelihoods of
// numbers from 0 to 1 are for.
func Greys(x blas32.General) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, 0, x.Rows*x.Cols)}
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:x.Cols]
		most := max(slices.Max(row), 1e-30)
		for _, v := range row {
			out.Data = append(out.Data, v/most)
		}
	}
	return out
}

// Scale brings columns to mean zero and deviation one among public records.
type Scale struct{ mean, deviation []float64 }

// Standard returns the scale of public records.
func Standard(public blas32.General) (s Scale) {
	s.mean, s.deviation = columns.Moments(public)
	return s
}

// Scaled returns records on the scale.
func (s Scale) Scaled(x blas32.General) blas32.General {
	return featuremap.Scaled(x, s.mean, s.deviation)
}

// Unfold takes both halves from records on the scale to records as they are: the encoder's first layer, and the
// decoder's last.
func (s Scale) Unfold(m *Trained) {
	first, d := m.Encoder.Params, len(s.mean)
	h := m.Encoder.Layers[0].(nn.Dense).Out
	for j := range d {
		for k := range h {
			w := &first[j*h+k]
			*w /= float32(s.deviation[j])
			first[d*h+k] -= *w * float32(s.mean[j])
		}
	}
	in := m.Decoder.Layers[len(m.Decoder.Layers)-1].(nn.Dense).In
	last := m.Decoder.Params[len(m.Decoder.Params)-(in+1)*d:]
	for i := range last {
		last[i] *= float32(s.deviation[i%d])
		if i >= in*d {
			last[i] += float32(s.mean[i%d])
		}
	}
}

// New returns a state of a network, with prototypes of the public records that it was made of, or
// of others.
func New(r *rand.Rand, net *nn.Model, length float64, public blas32.General, trained latent.Trained, tell featuremap.Progress) (*latent.Encoder, error) {
	e := &latent.Encoder{Net: net, Length: length, Trained: trained}
	codes := learn.Codes(e, public)
	s, err := cluster.Means(r, codes, cluster.Options{Clusters: min(prototypes, codes.Rows/4), Components: codes.Cols}, tell)
	if err != nil {
		return nil, fmt.Errorf("encoder: prototypes: %w", err)
	}
	e.Prototypes, e.Sizes = s.Centres, s.Sizes
	return e, e.Check()
}
