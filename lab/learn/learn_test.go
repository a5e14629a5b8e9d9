package learn

import (
	"bytes"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
	"github.com/confetti-dp/confetti/plan"
)

func quiet(string, int, int) {}

// Rounds of which each device answers one, on drawn images, as plans and by law: a classifier
// far better than chance and no better than a curator's by more than chance, within the budget,
// and with the error that the formula has. The file of the model says of raw images what was
// measured.
func TestSyntheticImages(t *testing.T) {
	s := Setting{Dataset: "synthetic", Takes: takesOne, Rounds: 2, Bits: 1024, Epsilon: 8, Delta: 1e-5, Seed: 1}
	r, m, err := Run(s, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	if !(r.Epsilon <= s.Epsilon && r.Epsilon > 0.99*s.Epsilon) || math.Abs(r.NoiseRatio-1) > 0.05 {
		t.Errorf("epsilon %v of %v, error %v of the formula's", r.Epsilon, s.Epsilon, r.NoiseRatio)
	}
	if a := r.Accuracies; a.Accuracy < 0.6 || a.Central < a.Accuracy-0.03 || a.NoPrivacy < a.Central-0.03 || r.BitsPerDevice != 1024 {
		t.Errorf("%+v, %d bits", a, r.BitsPerDevice)
	}
	text, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if m, err = model.Read(bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	images, labels := synthetic.Labelled(seeded.New(s.Seed, 1), syntheticTrain+syntheticTest, 10)
	right := 0
	for i := syntheticTrain; i < len(images); i++ {
		if p, err := m.OfNumbers(images[i]); err == nil && p.Class == m.Classes[labels[i]] {
			right++
		}
	}
	if got := float64(right) / syntheticTest; math.Abs(got-r.Accuracies.Accuracy) > 0.003 { // products are rounded elsewhere
		t.Errorf("the model's file has accuracy %v, %v was measured", got, r.Accuracies.Accuracy)
	}
}

// Ranks of two classes, and the share of the variance that a regression explains.
func TestScores(t *testing.T) {
	x := matrix(4, 1)
	copy(x.Data, []float32{0.1, 0.2, 0.3, 0.4})
	line := moments.Regression{Linear: moments.Linear{Weights: mat.NewDense(1, 1, []float64{1}), Offset: []float64{0}}, Deviation: 0.01}
	if got := (records{x: x, target: []float64{0.1, 0.2, 0.3, 0.4}}).predicted(line.Value, line.Deviation); math.Abs(got.value-1) > 1e-9 || got.coverage < 1-1e-9 {
		t.Errorf("an exact fit: %+v", got)
	}
	if got := (records{x: x, target: []float64{-1, 1, -1, 1}}).predicted(line.Value, line.Deviation); math.Abs(got.value-0.75) > 1e-9 {
		t.Errorf("three of four pairs are ranked right: %+v", got)
	}
}

func TestSettings(t *testing.T) {
	good := Setting{Dataset: "mnist", Bits: 8192, Rounds: 5, Takes: takesAll}
	if s, err := good.Complete(); err != nil || s.Features != "gradients" || s.Public != drawnInputs {
		t.Errorf("%+v, %v", s, err)
	}
	for name, change := range map[string]func(*Setting){
		"data set": func(s *Setting) { s.Dataset = "x" }, "features": func(s *Setting) { s.Features = "lsa" }, "public": func(s *Setting) { s.Public = "all" },
		"bits": func(s *Setting) { s.Bits = 0 }, "rounds": func(s *Setting) { s.Rounds = 17 }, "takes": func(s *Setting) { s.Takes = "two" },
		"few bits": func(s *Setting) { s.Bits = 4 }, "rounds of loans": func(s *Setting) { s.Dataset = "lending_club" },
	} {
		s := good
		if change(&s); s != good {
			if _, err := s.Complete(); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
}

// Second moments of images are proved of fewer directions, so that they are no longer than a proof; gradients have room for more.
func TestProvedImagesFit(t *testing.T) {
	for public, want := range map[string]int{drawnInputs: 170, unlabelled: 351} {
		s := Setting{Dataset: "mnist", Public: public, Rounds: 5, Noise: plan.NoiseAggregators}
		if got := s.imageDimension(60_000); got != want {
			t.Errorf("%s: %d directions, want %d", public, got, want)
		}
	}
	const most = 1 << 14
	for d, fits := range map[int]bool{imageDimensions[1]: true, imageDimensions[0]: false} {
		shape := features.Shape{Dimension: d, Classes: 10}
		if shape.GradientLen() > most || shape.Len() <= most != fits {
			t.Errorf("%d directions: %d numbers, of gradients %d", d, shape.Len(), shape.GradientLen())
		}
	}
}
