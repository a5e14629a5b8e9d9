package nn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sampling is a network with a sampling layer in the middle, whose means are partly pulled back.
func sampling(learned bool, weight float64) []Layer {
	return []Layer{Dense{In: 5, Out: 4}, Laplace{Size: 4, Length: 3, Scale: 0.7, Prior: 0.5, Weight: weight, Learned: learned}, Dense{In: 4, Out: 3}}
}

// The loss, divergence included, falls along a direction as the gradient says, with the same noise.
func TestASampledGradientIsADifference(t *testing.T) {
	for i := range 4 {
		learned, weight := i%2 == 1, []float64{0.6, 0}[i/2] // of little weight the divergence leaves means that the rest pushes outwards
		m := made(t, sampling(learned, weight)...)
		const n = 12
		r := rand.New(rand.NewPCG(8, 1))
		x, y, dy := random(r, n*5), labels(r, n, 3), make([]float32, n*3)
		pass, pulled := NewPass(m), 0
		loss := func() (sum float64) {
			pass.Sample(rand.New(rand.NewPCG(5, 5)))
			sum = CrossEntropy(pass.Forward(x, n), y, dy, 3) * n
			l, scale := m.Layers[1].(Laplace), 0.7
			if learned {
				scale = math.Exp(float64(m.params(1, m.Params)[0]))
			}
			pulled = 0
			for i := range n {
				h := pass.values[1][i*4 : i*4+4]
				pull := l.pull(h)
				if pull < 1 {
					pulled++
				}
				for _, v := range h {
					d, _, _ := laplaceDivergence(pull*float64(v), scale, l.Prior)
					sum += l.Weight * d
				}
			}
			return sum
		}
		loss()
		if pulled == 0 || pulled == n {
			t.Fatalf("%d of %d means are pulled back: both kinds are to be tried", pulled, n)
		}
		pass.Backward(dy)
		gradient := make([]float32, len(m.Params))
		pass.Gradient(gradient)
		for i := range m.Layers {
			part, along, slope := m.params(i, m.Params), m.params(i, gradient), 0.0
			if len(part) == 0 {
				continue
			}
			for _, g := range along {
				slope += float64(g) * float64(g)
			}
			step, kept := 2e-3/math.Sqrt(slope), append([]float32(nil), part...)
			move := func(by float64) float64 {
				for j := range part {
					part[j] = kept[j] + float32(by)*along[j]
				}
				return loss()
			}
			got := (move(step) - move(-step)) / (2 * step)
			copy(part, kept)
			if math.Abs(got-slope) > 1e-4*slope {
				t.Errorf("layer %d: the loss changes by %v, the gradient says %v", i, got, slope)
			}
		}
	}
}

func TestDivergenceIsItsIntegral(t *testing.T) {
	density := func(x, mean, scale float64) float64 { return math.Exp(-math.Abs(x-mean)/scale) / (2 * scale) }
	for _, c := range []struct{ mean, scale, prior float64 }{{0, 1, 1}, {0, 0.3, 0.7071}, {2, 0.5, 1}, {-1.5, 2, 0.7071}} {
		want, step := 0.0, 1e-3
		for x := c.mean - 40*c.scale; x < c.mean+40*c.scale; x += step {
			p := density(x, c.mean, c.scale)
			want += step * p * (math.Log(p) - math.Log(density(x, 0, c.prior)))
		}
		got, byMean, byLog := laplaceDivergence(c.mean, c.scale, c.prior)
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("%+v: divergence %v, its integral is %v", c, got, want)
		}
		const h = 1e-5
		up, _, _ := laplaceDivergence(c.mean+h, c.scale, c.prior)
		down, _, _ := laplaceDivergence(c.mean-h, c.scale, c.prior)
		if math.Abs((up-down)/(2*h)-byMean) > 1e-4 {
			t.Errorf("%+v: by the mean %v, differences say %v", c, byMean, (up-down)/(2*h))
		}
		up, _, _ = laplaceDivergence(c.mean, c.scale*math.Exp(h), c.prior)
		down, _, _ = laplaceDivergence(c.mean, c.scale*math.Exp(-h), c.prior)
		if math.Abs((up-down)/(2*h)-byLog) > 1e-4 {
			t.Errorf("%+v: by the logarithm of the scale %v, differences say %v", c, byLog, (up-down)/(2*h))
		}
	}
}

// Without chance a pass answers with means no longer than their length; with it the noise has the
// scale of the layer.
func TestSamplesLieAroundTheirMeans(t *testing.T) {
	m := made(t, Laplace{Size: 3, Length: 2, Scale: 0.25, Prior: 1})
	x, p := []float32{4, -4, 8, 0.5, -0.5, 0.25}, NewPass(m)
	means := append([]float32(nil), p.Forward(x, 2)...)
	for i, want := range []float32{0.5, -0.5, 1, 0.5, -0.5, 0.25} {
		if math.Abs(float64(means[i]-want)) > 1e-6 {
			t.Errorf("mean %d is %v, want %v", i, means[i], want)
		}
	}
	p.Sample(rand.New(rand.NewPCG(6, 6)))
	far, draws := 0.0, 20_000
	for range draws / 6 {
		for i, v := range p.Forward(x, 2) {
			far += math.Abs(float64(v - means[i]))
		}
	}
	if far /= float64(draws); math.Abs(far-0.25) > 0.01 {
		t.Errorf("samples lie %v from their means, want 0.25", far)
	}
}

// The scale that is learned has its part in the norms by which gradients are clipped, and comes back from the model's bytes.
func TestALearnedScaleIsClipped(t *testing.T) {
	m := made(t, sampling(true, 0.6)...)
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	m = new(Model)
	if err := m.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 7))
	x, y, dy, sum := random(r, 5), labels(r, 1, 3), make([]float32, 3), make([]float32, len(m.Params))
	p := NewPass(m)
	p.Sample(r)
	CrossEntropy(p.Forward(x, 1), y, dy, 3)
	p.Backward(dy)
	p.Clipped(0.01, sum)
	squares := 0.0
	for _, g := range sum {
		squares += float64(g) * float64(g)
	}
	if scale := m.params(1, sum)[0]; math.Abs(math.Sqrt(squares)-0.01) > 1e-5 || scale == 0 {
		t.Errorf("a clipped gradient is %v long, %v of it along the scale", math.Sqrt(squares), scale)
	}
}
