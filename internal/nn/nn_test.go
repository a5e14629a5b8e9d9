package nn

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// small has a layer of each kind and few numbers.
func small() []Layer {
	return []Layer{
		Conv{Height: 6, Width: 5, Channels: 2, Filters: 3, Kernel: 3, Stride: 2, Pad: 1, After: 2},
		ReLU{3 * 4 * 3},
		MaxPool{Height: 4, Width: 3, Channels: 3, Kernel: 2, Stride: 1},
		Dense{In: 3 * 3 * 2, Out: 7},
		ReLU{7},
		Dense{In: 7, Out: 4},
	}
}

func made(t testing.TB, layers ...Layer) *Model {
	t.Helper()
	m, err := New(rand.New(rand.NewPCG(1, 1)), layers...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// labels are n rows that add up to one.
func labels(r *rand.Rand, n, classes int) []float32 {
	y := make([]float32, n*classes)
	for i := range n {
		y[i*classes+r.IntN(classes)] = 1
	}
	return y
}

func TestTheNetworkOfTableXIIIHas26010Numbers(t *testing.T) {
	if m := made(t, ESATableXIII(10)...); len(m.Params) != 26010 || m.Inputs() != 784 || m.Outputs() != 10 {
		t.Errorf("%d numbers, %d inputs, %d outputs", len(m.Params), m.Inputs(), m.Outputs())
	}
}

// The loss falls along a direction as the gradient says, for each layer and each loss.
func TestGradientsAreDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	losses := map[string]struct {
		targets func(n, k int) []float32
		loss    func(a, y, dy []float32, k int) float64
	}{
		"cross entropy": {func(n, k int) []float32 { return labels(r, n, k) }, CrossEntropy},
		"likelihood": {func(n, k int) []float32 {
			q := make([]float32, n*k)
			for i := range q {
				q[i] = r.Float32()
			}
			return q
		}, Likelihood},
		"squares":   {func(n, k int) []float32 { return random(r, n*k) }, Squares},
		"bernoulli": {func(n, k int) []float32 { return labels(r, n, k) }, Bernoulli},
	}
	for name, c := range losses {
		t.Run(name, func(t *testing.T) {
			m := made(t, small()...)
			const n = 5
			x, y := random(r, n*m.Inputs()), c.targets(n, m.Outputs())
			pass, dy := NewPass(m), make([]float32, n*m.Outputs())
			loss := func() float64 { return c.loss(pass.Forward(x, n), y, dy, m.Outputs()) * n }
			loss()
			pass.Backward(dy)
			gradient := make([]float32, len(m.Params))
			pass.Gradient(gradient)
			for i := range m.Layers {
				part := m.params(i, m.Params)
				if len(part) == 0 {
					continue
				}
				// Along the gradient itself the difference is largest against what single precision rounds.
				along, slope := m.params(i, gradient), 0.0
				for _, g := range along {
					slope += float64(g) * float64(g)
				}
				step := 2e-3 / math.Sqrt(slope)
				kept := append([]float32(nil), part...)
				move := func(by float64) float64 {
					for j := range part {
						part[j] = kept[j] + float32(by)*along[j]
					}
					return loss()
				}
				got := (move(step) - move(-step)) / (2 * step)
				copy(part, kept)
				if math.Abs(got-slope) > 1e-2*slope {
					t.Errorf("layer %d (%T): the loss changes by %v, the gradient says %v", i, m.Layers[i], got, slope)
				}
			}
		})
	}
}

// Each example alone, its whole gradient: what norms and clipped sums must agree with.
func examples(m *Model, x, y []float32, n int) [][]float32 {
	all := make([][]float32, n)
	for i := range n {
		pass, dy := NewPass(m), make([]float32, m.Outputs())
		CrossEntropy(pass.Forward(x[i*m.Inputs():(i+1)*m.Inputs()], 1), y[i*m.Outputs():(i+1)*m.Outputs()], dy, m.Outputs())
		pass.Backward(dy)
		all[i] = make([]float32, len(m.Params))
		pass.Gradient(all[i])
	}
	return all
}

func TestNormsAndClippedSumsAreThoseOfEachExampleAlone(t *testing.T) {
	for name, layers := range map[string][]Layer{"small": small(), "table XIII": ESATableXIII(10)} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			m := made(t, layers...)
			const n = 9
			x, y := random(r, n*m.Inputs()), labels(r, n, m.Outputs())
			alone := examples(m, x, y, n)
			pass, dy := NewPass(m), make([]float32, n*m.Outputs())
			CrossEntropy(pass.Forward(x, n), y, dy, m.Outputs())
			pass.Backward(dy)
			whole := make([]float32, len(m.Params))
			pass.Gradient(whole)
			norms := append([]float32(nil), pass.Norms()...)
			bound := math.Sqrt(float64(slices.Sorted(slices.Values(norms))[n/2]))
			clipped := make([]float32, len(m.Params))
			pass.Clipped(bound, clipped)
			sum, cut := make([]float64, len(m.Params)), make([]float64, len(m.Params))
			size, cuts := 0.0, 0
			for i, g := range alone {
				sq := 0.0
				for _, v := range g {
					sq += float64(v) * float64(v)
				}
				if math.Abs(sq-float64(norms[i])) > 1e-5*sq {
					t.Errorf("example %d: squared norm %v, its gradient's is %v", i, norms[i], sq)
				}
				factor := min(1, bound/math.Sqrt(sq))
				if factor < 1 {
					cuts++
				}
				for j, v := range g {
					sum[j] += float64(v)
					cut[j] += factor * float64(v)
				}
				size += math.Sqrt(sq)
			}
			if cuts == 0 || cuts == n {
				t.Fatalf("%d of %d gradients are clipped: the test shows nothing", cuts, n)
			}
			for j := range sum {
				if math.Abs(sum[j]-float64(whole[j])) > 1e-5*size || math.Abs(cut[j]-float64(clipped[j])) > 1e-5*size {
					t.Fatalf("number %d: sum %v for %v, clipped %v for %v", j, whole[j], sum[j], clipped[j], cut[j])
				}
			}
		})
	}
}

func TestAClippedGradientIsNotLongerThanItsBound(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 10000 {
		sq := float32(math.Exp(10 * r.NormFloat64()))
		bound := math.Exp(5 * r.NormFloat64())
		if norm := float64(clip(sq, bound)) * math.Sqrt(float64(sq)); norm > bound*(1+1e-12) {
			t.Fatalf("squared norm %v is clipped to %v, beyond %v", sq, norm, bound)
		}
	}
}

func TestOrderOfExamplesChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	m := made(t, small()...)
	const n = 6
	x := random(r, n*m.Inputs())
	in, out := m.Inputs(), m.Outputs()
	forward := append([]float32(nil), NewPass(m).Forward(x, n)...)
	turned := make([]float32, len(x))
	for i := range n {
		copy(turned[i*in:(i+1)*in], x[(n-1-i)*in:(n-i)*in])
	}
	backward := NewPass(m).Forward(turned, n)
	for i := range n {
		for j := range out {
			if a, b := forward[i*out+j], backward[(n-1-i)*out+j]; math.Abs(float64(a-b)) > 1e-5 {
				t.Errorf("example %d answers %v, and %v in another order", i, a, b)
			}
		}
	}
}

func TestAModelLearnsWhatNoLineSeparates(t *testing.T) {
	for name, step := range map[string]interface {
		Step(params, gradient []float32)
	}{
		"sgd": &SGD{Rate: 0.2, Momentum: 0.9}, "adam": &Adam{Rate: 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			m := made(t, Dense{In: 2, Out: 16}, ReLU{16}, Dense{In: 16, Out: 2})
			x, y := []float32{0, 0, 0, 1, 1, 0, 1, 1}, []float32{1, 0, 0, 1, 0, 1, 1, 0}
			pass, dy, gradient := NewPass(m), make([]float32, 8), make([]float32, len(m.Params))
			loss := 1.0
			for range 300 {
				loss = CrossEntropy(pass.Forward(x, 4), y, dy, 2)
				pass.Backward(dy)
				clear(gradient)
				pass.Gradient(gradient)
				for i := range gradient {
					gradient[i] /= 4
				}
				step.Step(m.Params, gradient)
			}
			if loss > 0.01 {
				t.Errorf("the loss is still %v", loss)
			}
		})
	}
}

// Two steps of each, computed by hand from their definitions.
func TestStepsAreThoseOfTheirDefinitions(t *testing.T) {
	params := []float32{1}
	sgd := &SGD{Rate: 0.1, Momentum: 0.5}
	sgd.Step(params, []float32{2}) // v = 2: 1 - 0.2
	sgd.Step(params, []float32{1}) // v = 2: 0.8 - 0.2
	if math.Abs(float64(params[0])-0.6) > 1e-6 {
		t.Errorf("descent with momentum ends at %v, want 0.6", params[0])
	}
	params = []float32{1}
	adam := &Adam{Rate: 0.1}
	adam.Step(params, []float32{2})  // mean 2, square 4 without their bias: a step of the rate
	adam.Step(params, []float32{-2}) // mean (0.18-0.2)/0.19, square 4: 0.1 * 0.02/0.19/2 back
	if want := 0.9 + 0.1*0.02/0.19/2; math.Abs(float64(params[0])-want) > 1e-6 {
		t.Errorf("Adam ends at %v, want %v", params[0], want)
	}
}

func TestALikelihoodOfExactReportsIsCrossEntropy(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	scores, y := random(r, 12), labels(r, 4, 3)
	a, b := make([]float32, 12), make([]float32, 12)
	if one, other := CrossEntropy(scores, y, a, 3), Likelihood(scores, y, b, 3); math.Abs(one-other) > 1e-6 {
		t.Errorf("losses %v and %v", one, other)
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-6 {
			t.Errorf("derivative %d: %v and %v", i, a[i], b[i])
		}
	}
}

func TestSoftmaxOfLargeScoresIsFinite(t *testing.T) {
	s := []float32{1e30, 0, -1e30, 5, 5, 5}
	Softmax(s, 3)
	if s[0] != 1 || s[2] != 0 || math.Abs(float64(s[3])-1./3) > 1e-6 {
		t.Errorf("probabilities %v", s)
	}
}

// A sum over several batches is that of each example alone, and the same to the last bit on
// however many processors.
func TestClippedSumsOfBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	m := made(t, Dense{In: 6, Out: 5}, ReLU{5}, Dense{In: 5, Out: 3})
	const n = 3*250 + 7
	x := random(r, n*6)
	example := func(i int) ([]float32, int) { return x[i*6 : (i+1)*6], i % 3 }
	want, target, dy, p := make([]float32, len(m.Params)), make([]float32, 3), make([]float32, 3), NewPass(m)
	for i := range n {
		of, class := example(i)
		clear(target)
		target[class] = 1
		CrossEntropy(p.Forward(of, 1), target, dy, 3)
		p.Backward(dy)
		p.Clipped(0.5, want)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := ClippedSum(m, 0.5, example, n)
	runtime.GOMAXPROCS(3)
	three := ClippedSum(m, 0.5, example, n)
	for i, w := range want {
		if one[i] != three[i] || math.Abs(one[i]-float64(w)) > 1e-3 {
			t.Errorf("number %d is %v on one processor, %v on three, want %v", i, one[i], three[i], w)
		}
	}
}

// extremes are numbers of single precision that squares and sums do not hold, or hold badly.
var extremes = []float32{3e38, float32(math.Inf(-1)), float32(math.NaN()), 1e-45, 1e19, -2e-20}

// No example, whatever its numbers are, moves a clipped sum by more than the bound, nor makes it no number. A sum in which
// one that has no norm is left as it is does both.
func TestNoExampleMovesAClippedSumBeyondItsBound(t *testing.T) {
	codes := []Layer{Dense{In: 40, Out: 6}, Laplace{Size: 6, Length: 2, Scale: 0.5, Prior: 1, Weight: 1, Learned: true}, Dense{In: 6, Out: 5}}
	for name, layers := range map[string][]Layer{"small": small(), "codes": codes, "linear": {Dense{In: 40, Out: 5}}} {
		m := made(t, layers...)
		r := rand.New(rand.NewPCG(6, 6))
		const n = 7
		in, out := m.Inputs(), m.Outputs()
		rows, targets := random(r, n*in), labels(r, n, out)
		sum := func(x, y []float32, bound float64, naive bool) []float32 {
			k, sum := len(x)/in, make([]float32, len(m.Params))
			pass, dy := NewPass(m), make([]float32, k*out)
			CrossEntropy(pass.Forward(x, k), y, dy, out)
			pass.Backward(dy)
			if !naive {
				pass.Clipped(bound, sum)
				return sum
			}
			scale := make([]float32, k)
			for i, sq := range pass.Norms() {
				if scale[i] = 1; math.Sqrt(float64(sq)) > bound {
					scale[i] = math.Nextafter32(float32(bound/math.Sqrt(float64(sq))), 0)
				}
			}
			pass.gradient(scale, sum)
			return sum
		}
		for _, bound := range []float64{1e-6, 1, 1e3} {
			without := sum(rows[in:], targets[out:], bound, false)
			apart := func(naive bool) float64 {
				squares := 0.0
				for i, v := range sum(rows, targets, bound, naive) {
					squares += math.Pow(float64(v)-float64(without[i]), 2)
				}
				return math.Sqrt(squares)
			}
			for _, v := range extremes {
				for _, places := range []int{1, in} {
					kept := slices.Clone(rows[:in])
					for j := range places {
						rows[j] = v
					}
					if d := apart(false); !(d <= bound*(1+1e-4)) {
						t.Errorf("%s: an example with %d numbers of %v moves a sum by %v, and the bound is %v", name, places, v, d, bound)
					}
					if d := apart(true); v != v && name != "small" && d == d {
						t.Errorf("%s: a sum that keeps what has no norm moves by %v: the test tells nothing", name, d)
					}
					copy(rows, kept)
				}
			}
		}
	}
}
