package vector_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
)

// asks is a round that asks with public inputs as its state.
func asks(t *testing.T, m *inputs.Map, r plan.VectorRound, rows int) *protocol.Protocol {
	t.Helper()
	p := ready(m.Len(), shapes(), r, rows).Plan
	p.State = plan.StateName(m.State())
	proto, err := protocol.WithState(p, m.State())
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// A device takes an image, a text or a row as it is: its vector is that of the features which the
// public inputs, named by their hash, make of it.
func TestPublicInputs(t *testing.T) {
	columns := &inputs.Map{Columns: []inputs.Column{{Name: "age", Middle: 40, Scale: 10}, {Name: "spend", Middle: 5, Scale: 2}},
		Maps: []*whiten.State{{Mean: []float32{0, 0}, Matrix: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 1, 1, -1}}}}}
	text := &lsa.State{Words: []string{"bad", "good"}, Weights: []float32{1, 2}, Directions: [][]float32{{1, 0}, {0, 1}}}
	if err := text.Prepare(); err != nil {
		t.Fatal(err)
	}
	round := plan.VectorRound{Sums: plan.SumsMoments, Answered: 8}
	image := make([]float32, 16)
	for i := range image {
		image[i] = float32(i % 4)
	}
	for name, c := range map[string]struct {
		m       *inputs.Map
		held    vector.Record
		unfit   []vector.Record
		by      func(m *inputs.Map) ([]float32, error)
		longest int // a power of two, above the vector
	}{
		"row": {columns, vector.Record{Features: []float32{55, 5}, Class: 1}, []vector.Record{{Features: []float32{1, 2, 3}}, {Features: []float32{float32(math.NaN()), 1}}, {Text: "good"}},
			func(m *inputs.Map) ([]float32, error) { return m.OfNumbers([]float32{55, 5}) }, 16},
		"text": {&inputs.Map{Text: text}, vector.Record{Text: "a good day", Class: 1}, []vector.Record{{Text: "nothing known", Class: 1}, {Text: "good", Class: 7}, {Features: []float32{1, 0}}},
			func(m *inputs.Map) ([]float32, error) { return m.OfText("a good day") }, 16},
		"image": {&inputs.Map{Image: &inputs.Size{Width: 4, Height: 4}}, vector.Record{Features: image, Class: 1}, []vector.Record{{Features: image[:15]}},
			func(m *inputs.Map) ([]float32, error) { return m.OfNumbers(image) }, 256},
	} {
		proto := asks(t, c.m, round, c.longest)
		got, err := proto.Encode(c.held)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		psi, err := c.by(c.m)
		if err != nil {
			t.Fatal(err)
		}
		whiten.Normalize(psi) // of an image each half has length one
		want, err := ready(c.m.Len(), shapes(), round, c.longest).Encode(vector.Record{Features: psi, Class: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want.([]float32) {
			if math.Abs(float64(v-got.([]float32)[i])) > 1e-6 {
				t.Errorf("%s: number %d of the vector is %v, want %v", name, i, got.([]float32)[i], v)
			}
		}
		for _, r := range c.unfit {
			if v, err := proto.Encode(r); err == nil || slices.ContainsFunc(v.([]float32), func(x float32) bool { return x != 0 }) {
				t.Errorf("%s: %+v was answered as %v, %v", name, r, v, err)
			}
		}
	}
	p := ready(3, shapes(), round, 32).Plan
	p.State = plan.StateName(columns.State())
	if _, err := protocol.WithState(p, columns.State()); err == nil {
		t.Error("inputs of two features for a plan of three")
	}
}
