// Package nn computes feed-forward networks of single precision: their answers, the gradient of each example with
// its norm, and steps along them. Used by internal/question/gradient, internal/learn and internal/dp/latent.
//
// It draws no noise that carries a guarantee, and nothing private may rest on the last digits of what it computes
// (package kernel).
package nn

import (
	"fmt"
	"math/rand/v2"
)

// maxParams bounds the numbers that a model learns.
const maxParams = 1 << 26

// Model is layers one after another, and all that they have learned in one
// vector, layer by layer. It is safe for concurrent use while nobody writes
// Params.
type Model struct {
	Layers []Layer
	Params []float32
}

// New returns a model before its first step. It fails if the layers do not fit each
// other or are larger than maxParams.
func New(r *rand.Rand, layers ...Layer) (*Model, error) {
	total, err := fit(layers)
	if err != nil {
		return nil, err
	}
	m := &Model{Layers: layers, Params: make([]float32, total)}
	for i, l := range layers {
		l.start(r, m.params(i, m.Params))
	}
	return m, nil
}

// fit counts what the layers learn, if each takes what the one before gives.
func fit(layers []Layer) (params int, err error) {
	if len(layers) == 0 {
		return 0, fmt.Errorf("nn: a model needs a layer")
	}
	before := 0
	for i, l := range layers {
		if err := l.check(); err != nil {
			return 0, err
		}
		in, out, learned := l.Shape()
		if i > 0 && in != before {
			return 0, fmt.Errorf("nn: layer %d takes %d numbers, and layer %d gives %d", i+1, in, i, before)
		}
		if before, params = out, params+learned; params > maxParams {
			return 0, fmt.Errorf("nn: a model learns at most %d numbers", maxParams)
		}
	}
	return params, nil
}

// params returns the part of a vector of len(m.Params) that belongs to a layer.
func (m *Model) params(layer int, all []float32) []float32 {
	at := 0
	for _, l := range m.Layers[:layer] {
		_, _, n := l.Shape()
		at += n
	}
	_, _, n := m.Layers[layer].Shape()
	return all[at : at+n]
}

// Inputs returns how many numbers an example has, Outputs how many come out.
func (m *Model) Inputs() int {
	in, _, _ := m.Layers[0].Shape()
	return in
}

func (m *Model) Outputs() int {
	_, out, _ := m.Layers[len(m.Layers)-1].Shape()
	return out
}

// Plain says that there are dense layers and rectifiers alone, whose answers take no more memory
// than what they have learned and are given.
func (m *Model) Plain() bool {
	for _, l := range m.Layers {
		switch l.(type) {
		case Dense, ReLU:
		default:
			return false
		}
	}
	return true
}

// Clone has numbers of its own.
func (m *Model) Clone() *Model {
	return &Model{Layers: m.Layers, Params: append([]float32(nil), m.Params...)}
}

// Pass is one batch on its way through a model: forward, backward, then what is
// asked of its gradients. It keeps its buffers for the next batch; it belongs to
// one goroutine at a time.
type Pass struct {
	model   *Model
	n       int
	values  [][]float32 // what goes into each layer, and at the end what comes out
	errors  [][]float32 // the loss's derivative in each of them
	scratch []scratch
	norm    []float32
	scale   []float32
}

// NewPass prepares passes through m.
func NewPass(m *Model) *Pass {
	return &Pass{model: m, values: make([][]float32, len(m.Layers)+1), errors: make([][]float32, len(m.Layers)+1), scratch: make([]scratch, len(m.Layers))}
}

// Sample has layers that sample draw from r from now on; from nil they do not.
func (p *Pass) Sample(r *rand.Rand) {
	for i := range p.scratch {
		p.scratch[i].chance = r
	}
}

// Forward gives the model's answers (n x Outputs) to x (n x Inputs). They are the
// pass's own, and x must stay as it is until the pass is through with it.
func (p *Pass) Forward(x []float32, n int) []float32 {
	if len(x) != n*p.model.Inputs() {
		panic(fmt.Sprintf("nn: %d numbers are not %d examples of %d", len(x), n, p.model.Inputs()))
	}
	p.n, p.values[0] = n, x
	for i, l := range p.model.Layers {
		_, out, _ := l.Shape()
		y := room(&p.values[i+1], n*out)
		l.forward(&p.scratch[i], p.model.params(i, p.model.Params), p.values[i], y, n)
	}
	return p.values[len(p.model.Layers)]
}

// Backward takes the derivative of each example's loss in its answers
// (n x Outputs) back through the layers.
func (p *Pass) Backward(dy []float32) {
	last := len(p.model.Layers)
	if len(dy) != p.n*p.model.Outputs() {
		panic(fmt.Sprintf("nn: %d derivatives for %d examples of %d answers", len(dy), p.n, p.model.Outputs()))
	}
	p.errors[last] = append(p.errors[last][:0], dy...)
	for i := last - 1; i > 0; i-- { // nobody asks for the derivative in the inputs
		in, _, _ := p.model.Layers[i].Shape()
		p.model.Layers[i].backward(&p.scratch[i], p.model.params(i, p.model.Params), p.values[i], p.values[i+1], p.errors[i+1], room(&p.errors[i], p.n*in), p.n)
	}
}

// Norms returns the squared norm of each example's gradient; no finite one, where single precision does not hold it.
func (p *Pass) Norms() []float32 {
	norm := room(&p.norm, p.n)
	clear(norm)
	p.learners(func(i int, l learning) { l.norms(&p.scratch[i], p.values[i], p.errors[i+1], norm, p.n) })
	return norm
}

// Gradient adds the gradients of all examples to sum (as Params).
func (p *Pass) Gradient(sum []float32) { p.gradient(nil, sum) }

// Clipped adds the gradients of all examples to sum, each scaled down to a norm of
// at most bound (Abadi et al. 2016, Algorithm 1). An example whose gradient or norm is not finite counts
// for nothing: no example moves the sum by more than bound.
func (p *Pass) Clipped(bound float64, sum []float32) {
	norms, scale := p.Norms(), room(&p.scale, p.n)
	for i, sq := range norms {
		scale[i] = clip(sq, bound)
	}
	p.gradient(scale, sum)
}

func (p *Pass) gradient(scale, sum []float32) {
	p.learners(func(i int, l learning) {
		l.gradient(&p.scratch[i], p.values[i], p.errors[i+1], scale, p.model.params(i, sum), p.n)
	})
}

func (p *Pass) learners(do func(i int, l learning)) {
	for i, l := range p.model.Layers {
		if l, ok := l.(learning); ok {
			do(i, l)
		}
	}
}
