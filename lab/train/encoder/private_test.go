package encoder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
)

// With next to no noise a second stage learns an encoder, or a decoder, that was lost. With as much as a small epsilon asks for
// it does not. The other half stays as it was.
func TestTheSecondStage(t *testing.T) {
	for _, decoder := range []bool{false, true} {
		r := stattest.Rand(t)
		x, _ := stripes(r, 800)
		v := tiny()
		first, err := v.Fit(rand.New(rand.NewPCG(2, 2)), x, quiet)
		if err != nil {
			t.Fatal(err)
		}
		half := func(m *Trained) *nn.Model {
			if decoder {
				return m.Decoder
			}
			return m.Encoder
		}
		for i := range half(first).Params {
			half(first).Params[i] = float32(0.1 * r.NormFloat64())
		}
		loss := func(m *Trained) float64 {
			off := 0.0
			for i := range 80 {
				row := x.Data[i*x.Stride:][:x.Cols]
				for j, p := range m.Reconstruct(Bernoulli, nn.NewPass(m.Encoder).Forward(row, 1)) {
					off += math.Pow(float64(p-row[j]), 2)
				}
			}
			return off
		}
		again := func(noise float64) *Trained {
			m, err := v.Again(r, rand.New(rand.NewPCG(4, 4)), first, x, dpsgd.Training{Sampling: 0.2, NoiseMultiplier: noise, Steps: 150, Clip: 1, Expected: 160, Rate: 3e-3}, decoder, quiet)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		quietly, loudly := again(0.05), again(500)
		if a, b, c := loss(first), loss(quietly), loss(loudly); b > 0.7*a || c < 1.2*b {
			t.Errorf("decoder %v: off by %v after one stage, %v after two, %v with much noise", decoder, a, b, c)
		}
		if changed := quietly.Decoder != first.Decoder; changed != decoder || (quietly.Encoder != first.Encoder) == decoder || half(quietly).Params[3] == half(first).Params[3] {
			t.Errorf("decoder %v: the other half has changed, or this one has not", decoder)
		}
	}
}

// What a second stage writes of its noise gives, computed again, the epsilon that it writes; with half the noise it does not.
func TestTheNoiseOfASecondStageKeepsItsPromise(t *testing.T) {
	x, _ := stripes(rand.New(rand.NewPCG(1, 1)), 200)
	v := tiny()
	v.Epochs = 1
	first, err := v.Fit(rand.New(rand.NewPCG(2, 2)), x, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, decoder := range []bool{false, true} {
		var promised device.Trained
		second := Second{Batch: 50, Epochs: 2, Rate: 1e-3, Epsilon: 3, Delta: 1e-5, Decoder: decoder}
		m, err := second.Train(v, stattest.Rand(t), stattest.Rand(t), first, x, true, &promised, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if changed := !slices.Equal(m.Decoder.Params, first.Decoder.Params); changed != decoder || slices.Equal(m.Encoder.Params, first.Encoder.Params) != decoder {
			t.Errorf("decoder %v: the other half was trained", decoder)
		}
		g, err := account.Epsilon(m.Noise.Event(), promised.Delta)
		if err != nil || g.Epsilon != promised.Epsilon || !(g.Epsilon <= 3) || m.Noise.Method != g.Method || m.Noise.Steps != 8 || m.Noise.Sampling != 0.25 || promised.Private != 200 || promised.Adjacency != device.ZeroingOut {
			t.Errorf("decoder %v: %+v of %+v keeps %+v, %v", decoder, promised, m.Noise, g, err)
		}
		m.Noise.Multiplier /= 2
		if g, err = account.Epsilon(m.Noise.Event(), promised.Delta); err != nil || g.Epsilon <= promised.Epsilon {
			t.Errorf("with half the noise it keeps %v: %v", g.Epsilon, err)
		}
	}
}

// A network of columns on their scale, unfolded, encodes and decodes records as they are.
func TestUnfoldedNetworksTakeRecordsAsTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x := blas32.General{Rows: 60, Cols: 3, Stride: 3}
	for range x.Rows {
		x.Data = append(x.Data, 100+10*float32(r.NormFloat64()), -5+0.1*float32(r.NormFloat64()), 7)
	}
	v := VAE{Dim: 2, Hidden: []int{4}, Length: 5, Epsilon: 20, Likelihood: Normal, Epochs: 1, Batch: 20, Rate: 1e-3}
	s := Standard(x)
	m, err := v.Fit(r, s.Scaled(x), quiet)
	if err != nil {
		t.Fatal(err)
	}
	scaled := slices.Clone(nn.NewPass(m.Encoder).Forward(s.Scaled(x).Data[:3], 1))
	back := m.Reconstruct(Normal, scaled)
	s.Unfold(m)
	for i, c := range nn.NewPass(m.Encoder).Forward(x.Data[:3], 1) {
		if math.Abs(float64(c-scaled[i])) > 1e-3 {
			t.Errorf("code %d is %v, and was %v", i, c, scaled[i])
		}
	}
	for j, got := range m.Reconstruct(Normal, scaled) {
		if want := s.mean[j] + s.deviation[j]*float64(back[j]); math.Abs(float64(got)-want) > 1e-3 {
			t.Errorf("column %d is %v, want %v", j, got, want)
		}
	}
}

// The sum of a step is of gradients of length one at most, whatever the records: it moves by no more where one is
// left out. Without clipping it does.
func TestAStepIsClipped(t *testing.T) {
	x, _ := stripes(rand.New(rand.NewPCG(1, 1)), 40)
	for j := range x.Cols {
		x.Data[5*x.Stride+j] = float32(40 * (j % 3)) // no picture
	}
	v := tiny()
	layers, _ := v.layers(x.Cols)
	m, err := nn.New(rand.New(rand.NewPCG(2, 2)), layers...)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(bound float64, rows ...int) []float64 {
		in := v.training(rand.New(rand.NewPCG(3, 3)), m)
		for w := range in.each {
			in.each[w].pass.Sample(nil) // the same codes, whoever takes part
		}
		out := make([]float64, len(m.Params))
		for _, part := range in.clipped(x, rows, bound) {
			for i, g := range part {
				out[i] += float64(g)
			}
		}
		return out
	}
	apart := func(bound float64) float64 {
		squares := 0.0
		without := sum(bound, 1, 2, 3, 4)
		for i, s := range sum(bound, 1, 2, 3, 4, 5) {
			squares += (s - without[i]) * (s - without[i])
		}
		return math.Sqrt(squares)
	}
	if d := apart(1); d > 1+1e-4 || d < 0.5 {
		t.Errorf("a record moves the sum by %v", d)
	}
	if apart(1e6) < 2 {
		t.Error("a record that is far off moves the sum by little without clipping: the test tells nothing")
	}
}

// Every number of a private record is within its public range, whatever it was; those within are as they were.
func TestPrivateRecordsAreBroughtToAPublicRange(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	public := blas32.General{Rows: 2, Cols: 3, Stride: 3, Data: []float32{-1, 5, 0, 2, 5, 0}}
	x := blas32.General{Rows: 4, Cols: 3, Stride: 3, Data: []float32{3e38, 5, 1e-45, -inf, nan, nan, 0.5, 4, 0, inf, 6, -2}}
	got := RangeOf(public).Clamp(x)
	if want := []float32{2, 5, 0, -1, 5, 0, 0.5, 5, 0, 2, 5, 0}; !slices.Equal(got.Data, want) {
		t.Errorf("%v, want %v", got.Data, want)
	}
	if got, want := Between(0, 1, 3).Clamp(x).Data[:6], []float32{1, 1, 1e-45, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// To whoever knows the draws of codes one record moves the gradients of those behind it, too: they must be secret.
func TestDrawsOfCodesThatAreKnownTellMore(t *testing.T) {
	x, _ := stripes(rand.New(rand.NewPCG(1, 1)), 40)
	v := tiny()
	v.Epsilon = 2 // codes of much noise
	layers, _ := v.layers(x.Cols)
	m, err := nn.New(rand.New(rand.NewPCG(2, 2)), layers...)
	if err != nil {
		t.Fatal(err)
	}
	apart := func(known bool) float64 {
		squares := 0.0
		sum := func(rows ...int) []float32 {
			one := &v.training(rand.New(rand.NewPCG(3, 3)), m).each[0]
			for at, row := range rows {
				if !known { // the same draws for the same record: what leaving one out means where they are secret
					one.pass.Sample(rand.New(rand.NewPCG(4, uint64(row))))
				}
				one.forward(v.Likelihood, x, rows[at:at+1])
				one.pass.Clipped(1, one.gradient)
			}
			return one.gradient
		}
		without := sum(1, 2, 3, 4, 5, 6, 7, 8, 9)
		for i, g := range sum(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) {
			squares += math.Pow(float64(g-without[i]), 2)
		}
		return math.Sqrt(squares)
	}
	if d := apart(false); d > 1+1e-4 {
		t.Errorf("with draws of its own a record moves the sum by %v", d)
	}
	if d := apart(true); d < 1.5 {
		t.Errorf("with known draws a record moves the sum by %v: the test tells nothing", d)
	}
}
