package attack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/lab/train/encoder"
)

// extreme is a training of one epsilon that all its rows nearly always take part in.
var extreme = dpsgd.Training{Sampling: 0.5, NoiseMultiplier: 8, Steps: 6, Clip: 1, Expected: 2, Rate: 0.1}

// Rows that hold no ordinary numbers tell no more of a training than is claimed.
func TestRowsOfExtremesKeepTheClaim(t *testing.T) {
	claim := claimed(t, extreme.Event(), 1e-5)
	findings, err := Extremes(extreme, claim, seed(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Logf("%s: %.3g of %.3g", f.Attack, f.Lower, claim.Epsilon)
		holds(t, f)
	}
	if len(findings) != 12 {
		t.Errorf("%d findings", len(findings))
	}
}

// Trainings that clip as they did before rows without a norm counted for nothing are caught.
func TestRowsOfExtremesCatchATrainingThatKeepsThem(t *testing.T) {
	claim := claimed(t, extreme.Event(), 1e-5)
	for _, twin := range []trainer{{"the sum of DP-SGD as it was", naiveGradients}, naiveHalf(t, false), naiveHalf(t, true)} {
		caught := 0
		for _, v := range extremes {
			f, err := twin.attack(v, claim, seed(t), quiet)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %.3g, surely %.3g of %.3g", f.Attack, f.Lower, f.Sure, claim.Epsilon)
			if f.False() {
				caught++
			} else if v != 1e-45 {
				t.Errorf("%s is not caught: %v, surely %v of %v", f.Attack, f.Lower, f.Sure, claim.Epsilon)
			}
		}
		if caught != 3 {
			t.Errorf("%s: caught by %d rows", twin.name, caught)
		}
	}
}

// An attack that found no model that is no number would find nothing: the row of ordinary numbers is not caught.
func TestAnOrdinaryRowIsNotCaught(t *testing.T) {
	f, err := trainer{"the sum of DP-SGD as it was", naiveGradients}.attack(1, claimed(t, extreme.Event(), 1e-5), seed(t), quiet)
	if err != nil || f.False() {
		t.Errorf("%+v, %v", f, err)
	}
}

// naiveClip adds a gradient as nn did before: one without a norm as it is, one of infinite length times zero.
func naiveClip(gradient []float32, bound float64, sum []float64) {
	squares := float32(0)
	for _, g := range gradient {
		squares += g * g
	}
	by := float32(1)
	if norm := math.Sqrt(float64(squares)); norm > bound {
		by = math.Nextafter32(float32(bound/norm), 0)
	}
	for i, g := range gradient[:len(sum)] {
		sum[i] += float64(g * by)
	}
}

func naiveGradients(r *rand.Rand, rows [][]float32) ([]float32, error) {
	m, err := nn.New(r, nn.Dense{In: extremeColumns, Out: 2, Silent: true})
	if err != nil {
		return nil, err
	}
	descent, pass := nn.SGD{Rate: extreme.Rate}, nn.NewPass(m)
	for range extreme.Steps {
		sum := make([]float64, len(m.Params))
		for _, i := range extreme.Partakers(r, len(rows)) {
			target, dy, gradient := make([]float32, 2), make([]float32, 2), make([]float32, len(m.Params))
			target[i%2] = 1
			nn.CrossEntropy(pass.Forward(rows[i], 1), target, dy, 2)
			pass.Backward(dy)
			pass.Gradient(gradient)
			naiveClip(gradient, extreme.Clip, sum)
		}
		extreme.Noise(r, sum)
		descent.Step(m.Params, single(sum))
	}
	return m.Params, nil
}

// single is a sum over how many take part.
func single(sum []float64) []float32 {
	out := make([]float32, len(sum))
	for i, x := range sum {
		out[i] = float32(x / extreme.Expected)
	}
	return out
}

// naiveHalf returns the second stage of an encoder, or of a decoder, that clips as it did before.
func naiveHalf(t *testing.T, decoder bool) trainer {
	r, public := seeded.New(1), blas32.General{Rows: 8, Cols: extremeColumns, Stride: extremeColumns}
	for range public.Rows * public.Cols {
		public.Data = append(public.Data, r.Float32())
	}
	v := extremeVAE
	first, err := v.Fit(r, public, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return trainer{fmt.Sprintf("DP-Adam as it was, of a decoder: %v", decoder), func(r *rand.Rand, rows [][]float32) ([]float32, error) {
		m := again(first)
		adam, pass, from, to := nn.Adam{Rate: extreme.Rate}, nn.NewPass(m), 0, len(first.Encoder.Params)
		if decoder {
			from, to = to, len(m.Params)
		}
		pass.Sample(r)
		for range extreme.Steps {
			sum := make([]float64, to-from)
			for _, i := range extreme.Partakers(r, len(rows)) {
				dy, gradient := make([]float32, extremeColumns), make([]float32, len(m.Params))
				nn.Bernoulli(pass.Forward(rows[i], 1), rows[i], dy, extremeColumns)
				pass.Backward(dy)
				pass.Gradient(gradient)
				naiveClip(gradient[from:to], extreme.Clip, sum)
			}
			extreme.Noise(r, sum)
			adam.Step(m.Params[from:to], single(sum))
		}
		return m.Params[from:to], nil
	}}
}

// again is the whole network of a first stage.
func again(first *encoder.Trained) *nn.Model {
	v := extremeVAE
	noise := nn.Laplace{Size: v.Dim, Length: v.Length, Scale: 2 * v.Length / v.Epsilon, Prior: 1 / math.Sqrt2, Weight: 1}
	m := &nn.Model{Params: append(append([]float32(nil), first.Encoder.Params...), first.Decoder.Params...)}
	m.Layers = append(append(append(m.Layers, first.Encoder.Layers...), noise), first.Decoder.Layers...)
	return m
}
