// Package encoder makes encoders from public records, by whose codes devices tell theirs (Learning to noise, LTN). Used
// by lab/cmd/confetti-lab/train, lab/ltn and lab/train/attack.
package encoder

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// VAE is a variational autoencoder whose code is a vector with Laplace noise, pulled back to a
// ball in the sum of magnitudes (LTN, section 3).
type VAE struct {
	Dim    int     // numbers of the code
	Hidden []int   // layers of the encoder; the decoder has them in turn
	Length float64 // l of the ball
	// Epsilon is what the noise of training would promise: its scale is 2 Length/Epsilon, or where
	// it is learned begins so.
	Epsilon    float64
	Learned    bool
	Likelihood string // of a record: Bernoulli, "logit" or Normal
	Epochs     int
	Batch      int
	Rate       float64 // Adam's, which shrinks to nothing along a cosine
}

// Likelihoods are: of numbers from 0 to 1 that of a coin, or with a normal law of their
// logits; of any numbers a normal law.
const (
	Bernoulli = learn.Bernoulli
	logits    = learn.Logits
	Normal    = learn.Normal
)

// likelihoods are those that a VAE may have.
var likelihoods = []string{Bernoulli, logits, Normal}

// Paper is LTN's network for images (appendix E) in a ball of 10, trained for half as long and with
// less noise than LTN's, of epsilon 29: settled while the derivative through the ball was wrong, and left so.
func Paper() VAE {
	return VAE{Dim: 8, Hidden: []int{400, 150, 50}, Length: 10, Epsilon: 200, Likelihood: Bernoulli, Epochs: 8, Batch: 128, Rate: 1e-3}
}

// prior is the scale of the code's prior: variance one.
const prior = 1 / math.Sqrt2

func (v VAE) check(x blas32.General) error {
	switch {
	case v.Dim < 1 || !(v.Length > 0) || !(v.Epsilon > 0):
		return fmt.Errorf("encoder: a code of %d numbers in a ball of %v with noise of epsilon %v: give positive numbers", v.Dim, v.Length, v.Epsilon)
	case v.Epochs < 1 || v.Batch < workers || !(v.Rate > 0):
		return fmt.Errorf("encoder: %d epochs in batches of %d at rate %v: give at least one, %d, and a positive rate", v.Epochs, v.Batch, v.Rate, workers)
	case !slices.Contains(likelihoods, v.Likelihood):
		return fmt.Errorf("encoder: likelihood %q: choose one of %v", v.Likelihood, likelihoods)
	case x.Rows < v.Batch:
		return fmt.Errorf("encoder: %d records: give at least a batch of %d", x.Rows, v.Batch)
	}
	return nil
}

// layers returns the whole network, and how many of them come before the noise.
func (v VAE) layers(in int) (all []nn.Layer, encoder int) {
	at := in
	for _, h := range v.Hidden {
		all = append(all, nn.Dense{In: at, Out: h}, nn.ReLU{Size: h})
		at = h
	}
	all = append(all, nn.Dense{In: at, Out: v.Dim})
	encoder, at = len(all), v.Dim
	all = append(all, nn.Laplace{Size: v.Dim, Length: v.Length, Scale: 2 * v.Length / v.Epsilon, Prior: prior, Weight: 1, Learned: v.Learned})
	for _, h := range slices.Backward(v.Hidden) {
		all = append(all, nn.Dense{In: at, Out: h}, nn.ReLU{Size: h})
		at = h
	}
	return append(all, nn.Dense{In: at, Out: in}), encoder
}

// Trained is a VAE after its training.
type Trained struct {
	Encoder, Decoder *nn.Model   // from a record to the code before it is pulled back, and from the code to what the likelihood takes
	Noise            learn.Noise // of a second stage: how it was trained
	Loss             []float64   // mean of the records' part, by epoch: the divergence is not in it
}

// workers share a batch. Results do not depend on processors.
const workers = 2

// Fit trains on records, a row each.
func (v VAE) Fit(r *rand.Rand, x blas32.General, tell featuremap.Progress) (*Trained, error) {
	if err := v.check(x); err != nil {
		return nil, err
	}
	layers, encoder := v.layers(x.Cols)
	m, err := nn.New(r, layers...)
	if err != nil {
		return nil, err
	}
	t := v.training(r, m)
	steps := x.Rows / v.Batch
	out := &Trained{}
	for epoch := range v.Epochs {
		tell("epochs", epoch, v.Epochs)
		order, loss := r.Perm(x.Rows), 0.0
		for step := range steps {
			t.rate(v.Rate * (1 + math.Cos(math.Pi*float64(epoch*steps+step)/float64(v.Epochs*steps))) / 2)
			loss += t.step(x, order[step*v.Batch:][:v.Batch]) / float64(steps)
		}
		if math.IsNaN(loss) {
			return nil, errors.New("encoder: the network's numbers grew beyond all bounds: give a smaller rate")
		}
		out.Loss = append(out.Loss, loss)
	}
	out.Encoder, out.Decoder = part(m, 0, encoder), part(m, encoder+1, len(layers))
	return out, nil
}

// part returns a model of some layers after one another.
func part(m *nn.Model, from, to int) *nn.Model {
	at, n := 0, 0
	for i, l := range m.Layers[:to] {
		_, _, learned := l.Shape()
		if i < from {
			at += learned
		} else {
			n += learned
		}
	}
	return &nn.Model{Layers: m.Layers[from:to], Params: slices.Clone(m.Params[at:][:n])}
}

// training is what steps of one model keep.
type training struct {
	v     VAE
	model *nn.Model
	each  [workers]worker
}

// worker has a share of each batch, and of the model's numbers.
type worker struct {
	pass             *nn.Pass
	rows, wanted, dy []float32
	gradient         []float32
	adam             nn.Adam
}

func (v VAE) training(r *rand.Rand, m *nn.Model) *training {
	t := &training{v: v, model: m}
	for w := range t.each {
		one := &t.each[w]
		one.pass, one.gradient = nn.NewPass(m), make([]float32, len(m.Params))
		one.pass.Sample(rand.New(rand.NewPCG(r.Uint64(), r.Uint64())))
	}
	return t
}

func (t *training) rate(rate float64) {
	for w := range t.each {
		t.each[w].adam.Rate = rate
	}
}

// share returns the part of n that a worker has.
func share(w, n int) (from, to int) { return w * n / workers, (w + 1) * n / workers }

// step goes along the gradient of a batch, and gives its loss.
func (t *training) step(x blas32.General, batch []int) (loss float64) {
	var losses [workers]float64
	t.all(func(w int, one *worker) {
		from, to := share(w, len(batch))
		losses[w] = one.gradientOf(t.v.Likelihood, x, batch[from:to], len(batch))
	})
	t.all(func(w int, one *worker) {
		from, to := share(w, len(t.model.Params))
		sum := one.gradient[from:to]
		for other := range t.each {
			if other != w {
				for i, g := range t.each[other].gradient[from:to] {
					sum[i] += g
				}
			}
		}
		one.adam.Step(t.model.Params[from:to], sum)
	})
	for _, l := range losses {
		loss += l
	}
	return loss
}

func (t *training) all(do func(w int, one *worker)) {
	var wait sync.WaitGroup
	for w := range t.each {
		wait.Go(func() { do(w, &t.each[w]) })
	}
	wait.Wait()
}

// forward leaves the derivatives of the losses of rows in the pass, and gives the losses' mean.
func (o *worker) forward(likelihood string, x blas32.General, rows []int) float64 {
	o.rows = o.rows[:0]
	for _, i := range rows {
		o.rows = append(o.rows, x.Data[i*x.Stride:][:x.Cols]...)
	}
	o.wanted = append(o.wanted[:0], o.rows...)
	loss := nn.Squares
	switch likelihood {
	case Bernoulli:
		loss = nn.Bernoulli
	case logits:
		for i, p := range o.wanted {
			o.wanted[i] = logit(p)
		}
	}
	said := o.pass.Forward(o.rows, len(rows))
	if cap(o.dy) < len(said) {
		o.dy = make([]float32, len(said))
	}
	o.dy = o.dy[:len(said)]
	mean := loss(said, o.wanted, o.dy, x.Cols)
	o.pass.Backward(o.dy)
	return mean
}

// gradientOf leaves the gradient of the mean over n of the losses of rows, and gives their part of
// that mean.
func (o *worker) gradientOf(likelihood string, x blas32.General, rows []int, n int) float64 {
	mean := o.forward(likelihood, x, rows)
	clear(o.gradient)
	o.pass.Gradient(o.gradient)
	for i := range o.gradient {
		o.gradient[i] /= float32(n)
	}
	return mean * float64(len(rows)) / float64(n)
}

// logit returns that of a number from 0 to 1, kept off the ends.
func logit(p float32) float32 {
	q := learn.OffEnds + (1-2*learn.OffEnds)*float64(min(1, max(0, p)))
	return float32(math.Log(q / (1 - q)))
}

// Reconstruct returns the record that a code stands for, with numbers from 0 to 1 where the likelihood
// has such.
func (t *Trained) Reconstruct(likelihood string, code []float32) []float32 {
	d := learn.Decoder{Net: t.Decoder, Likelihood: likelihood}
	return d.Records(blas32.General{Rows: 1, Cols: len(code), Stride: len(code), Data: code}).Data
}
