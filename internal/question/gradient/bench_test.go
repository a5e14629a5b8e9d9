package gradient_test

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// What a device does in a round before it seals, of a linear model of 3,520 numbers and of
// ESA's network of 26,010.
func BenchmarkDevice(b *testing.B) {
	for name, c := range map[string]struct {
		model, report string
		dimension     int
	}{
		"linear/direction": {"linear", gradient.Direction, 351}, "linear/vector": {"linear", gradient.Vector, 351},
		"xiii/direction": {"xiii", gradient.Direction, 784}, "xiii/cap": {"xiii", gradient.Cap, 784},
	} {
		b.Run(name, func(b *testing.B) {
			p := example.Gradient(c.report)
			g := p.Question.Gradient
			g.Model, g.Dimension, g.Classes = c.model, c.dimension, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
			if p.Crowd.Minimum = 60_000; c.report == gradient.Vector {
				g.Report.Bits = 1024
			} else {
				p.Budget.Epsilon, p.Budget.LocalEpsilon = 0, 1.9
			}
			proto, _ := first(b, example.Design(b, p))
			x := gradient.Labelled{Features: make([]float32, c.dimension), Class: 3}
			r := stattest.Rand(b)
			for i := range x.Features {
				x.Features[i] = float32(r.NormFloat64()) / 10
			}
			b.Run("gradient", func(b *testing.B) {
				for b.Loop() {
					proto.Encode(x)
				}
			})
			s, err := proto.Encode(x)
			if err != nil {
				b.Fatal(err)
			}
			b.Run("report", func(b *testing.B) {
				for b.Loop() {
					proto.Randomize(r, s, nil)
				}
			})
			t := proto.NewTally()
			b.Run("law", func(b *testing.B) {
				for b.Loop() {
					proto.Question.(*gradient.Question).Draw(r, slices.Values([]question.Symbol{s}), t)
				}
			})
		})
	}
}
