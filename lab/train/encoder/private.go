package encoder

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// Second is LTN's second stage: how an encoder, or a decoder, is trained once more with noise.
type Second struct {
	Batch   int // records that take part in a step, in expectation
	Epochs  float64
	Rate    float64
	Epsilon float64 // of a record that counts for nothing in its place
	Delta   float64
	Decoder bool // trains the decoder, and leaves the encoder as it is
}

// Parted returns the first records, so many of them, which are public, and the others.
func Parted(x blas32.General, public int) (first, others blas32.General) {
	first, others = x, x
	first.Rows, others.Rows = public, x.Rows-public
	first.Data, others.Data = x.Data[:public*x.Stride], x.Data[public*x.Stride:]
	return first, others
}

// Range is a public range of each column, which private records are brought to.
type Range struct{ Low, High []float32 }

// Between returns one range of so many columns.
func Between(low, high float32, columns int) Range {
	return Range{slices.Repeat([]float32{low}, columns), slices.Repeat([]float32{high}, columns)}
}

// RangeOf is from the least to the largest number of each column of public records.
func RangeOf(public blas32.General) Range {
	r := Range{slices.Clone(public.Data[:public.Cols]), slices.Clone(public.Data[:public.Cols])}
	for i := range public.Rows {
		for j, v := range public.Data[i*public.Stride:][:public.Cols] {
			r.Low[j], r.High[j] = min(r.Low[j], v), max(r.High[j], v)
		}
	}
	return r
}

// Clamp returns records with each number at the nearest end of its range, where it is not within; one that is no number is
// at the low end.
func (r Range) Clamp(x blas32.General) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, 0, x.Rows*x.Cols)}
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			if !(v >= r.Low[j]) {
				v = r.Low[j]
			}
			out.Data = append(out.Data, min(v, r.High[j]))
		}
	}
	return out
}

// Train returns the second stage on private records, and writes what it promises them. Apart says that the first
// stage saw others alone: else nothing is promised. Coins and noise are drawn by r, codes by chance.
func (s Second) Train(v VAE, r, chance *rand.Rand, first *Trained, private blas32.General, apart bool, promised *latent.Trained, tell featuremap.Progress) (*Trained, error) {
	t, err := dpsgd.Batches(private.Rows, s.Batch, s.Epochs, s.Rate)
	if err != nil {
		return nil, err
	}
	t, g, err := t.Keeping(private.Rows, s.Epsilon, s.Delta)
	if err != nil {
		return nil, err
	}
	promised.Claim = latent.ClaimNone
	if apart {
		promised.Claim, promised.Adjacency, promised.Epsilon, promised.Delta, promised.Private = latent.ClaimPrivate, latent.ZeroingOut, g.Epsilon, g.Delta, private.Rows
	}
	m, err := v.Again(r, chance, first, private, t, s.Decoder, tell)
	if err == nil {
		m.Noise = learn.Noise{Sampling: t.Sampling, Multiplier: t.NoiseMultiplier, Clip: t.Clip, Steps: t.Steps, Method: g.Method, Source: g.Source}
	}
	return m, err
}

// Again trains one half once more, the encoder or the decoder, by DP-Adam (Gylberth et al. 2017). Each record takes part in each
// step by a coin of its own, and gradients of encoder and decoder together are clipped. That half's part of
// their sum gets noise, and goes into Adam. The other half stays as it is, and is not told. The promise is that of
// the training's event to a record that counts for nothing in its place, if all that came before is of others: of LTN's
// procedure as printed, whose first stage sees the same records, nothing is proved. It is the same of either half: a part
// of a clipped gradient is no longer than the whole.
//
// The coins and the noise are drawn by r, and by chance what codes are sampled from. Where the promise is to hold, chance
// must be as secret as r: who takes part decides which draws the codes of later records get, so that to whoever
// knows the draws one record moves the gradients of many.
func (v VAE) Again(r, chance *rand.Rand, first *Trained, x blas32.General, t dpsgd.Training, decoder bool, tell featuremap.Progress) (*Trained, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	v.Learned = false // a scale that was learned is not told, nor learned again
	layers, _ := v.layers(x.Cols)
	m := &nn.Model{Layers: layers, Params: append(slices.Clone(first.Encoder.Params), first.Decoder.Params...)}
	from, to := 0, len(first.Encoder.Params)
	if decoder {
		from, to = to, len(m.Params)
	}
	in := v.training(chance, m)
	adam, mean := nn.Adam{Rate: t.Rate}, make([]float32, to-from)
	for step := range t.Steps {
		tell("private steps", step, t.Steps)
		who := t.Partakers(r, x.Rows)
		sum := make([]float64, to-from)
		for _, part := range in.clipped(x, who, t.Clip) {
			for i, g := range part[from:to] {
				sum[i] += float64(g)
			}
		}
		t.Noise(r, sum)
		for i, s := range sum {
			mean[i] = float32(s / t.Expected)
		}
		adam.Step(m.Params[from:to], mean)
	}
	half := slices.Clone(m.Params[from:to])
	if decoder {
		return &Trained{Encoder: first.Encoder, Decoder: &nn.Model{Layers: first.Decoder.Layers, Params: half}}, nil
	}
	return &Trained{Encoder: &nn.Model{Layers: first.Encoder.Layers, Params: half}, Decoder: first.Decoder}, nil
}

// clipped returns the sums of the clipped gradients of rows, one for each worker.
func (t *training) clipped(x blas32.General, rows []int, bound float64) (sums [workers][]float32) {
	const block = 128
	t.all(func(w int, one *worker) {
		from, to := share(w, len(rows))
		clear(one.gradient)
		for at := from; at < to; at += block {
			one.forward(t.v.Likelihood, x, rows[at:min(to, at+block)])
			one.pass.Clipped(bound, one.gradient)
		}
		sums[w] = one.gradient
	})
	return sums
}
