package model

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/cosines"
	"github.com/confetti-dp/confetti/internal/dp/encode/hashedwords"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/dp/encode/scattering"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

var update = flag.Bool("update", false, "write the golden file")

func square(mean ...float32) *whiten.State {
	d := len(mean)
	m := blas32.General{Rows: d, Cols: d, Stride: d, Data: make([]float32, d*d)}
	for i := range d {
		m.Data[i*d+i] = float32(i + 1)
	}
	return &whiten.State{Mean: mean, Matrix: m}
}

var promised = Promise{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", Trust: "shuffled", Method: "enumeration", Rounds: 1, Respondents: 1000}

// examples are a model of each kind of input.
func examples() map[string]*Model {
	text := &lsa.State{Words: []string{"bad", "good"}, Weights: []float32{1, 2}, Directions: [][]float32{{1, 0}, {0, 1}}}
	if err := text.Prepare(); err != nil {
		panic(err)
	}
	scatter, err := scattering.New(8, 8)
	hashed := &hashedwords.Map{Places: 4, Half: 1e-3, Common: []string{"the"}, Shares: []float32{0.05}}
	if err = errors.Join(err, hashed.Prepare()); err != nil {
		panic(err)
	}
	return map[string]*Model{
		"columns": {Title: "rate", Features: inputs.Map{Columns: []inputs.Column{{Name: "age", Middle: 40, Scale: 10}, {Name: "spend", Middle: 5, Scale: 2}}, Maps: []*whiten.State{square(0, 0)}, Cut: 4},
			Number: &Number{"rate", 10, 2, 0.5}, Linear: moments.Linear{Weights: mat.NewDense(2, 1, []float64{1, -1}), Offset: []float64{0.25}},
			Promise: promised, Tested: &Tested{Records: 10, Measure: "r2", Value: 0.5}},
		"text": {Title: "mood", Features: inputs.Map{Text: text, Maps: []*whiten.State{square(0, 0)}}, Classes: []string{"bad", "good"},
			Linear: moments.Linear{Weights: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), Offset: []float64{0, 0}}, Promise: promised},
		"net": {Title: "drinks", Features: inputs.Map{Columns: []inputs.Column{{Name: "age", Middle: 40, Scale: 10}, {Name: "spend", Middle: 5, Scale: 2}}}, Classes: []string{"tea", "coffee"},
			Net: &nn.Model{Layers: []nn.Layer{nn.Dense{In: 2, Out: 2}, nn.ReLU{Size: 2}, nn.Dense{In: 2, Out: 2}}, Params: []float32{1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0.5, 0}}, Promise: promised},
		"image": {Title: "edges", Features: inputs.Map{Image: &inputs.Size{Width: 4, Height: 4}}, Classes: []string{"across", "down"},
			Linear: moments.Linear{Weights: mat.NewDense(16, 2, edges()), Offset: []float64{0, 0}}, Promise: promised},
		"scattering": {Title: "waves", Features: inputs.Map{Image: &inputs.Size{Width: 8, Height: 8}, Scatter: scatter}, Classes: []string{"dark", "bright"},
			Linear: moments.Linear{Weights: mat.NewDense(324, 2, nil), Offset: []float64{0, 1}}, Promise: promised},
		"words": {Title: "words", Features: inputs.Map{Words: hashed}, Classes: []string{"bad", "good"},
			Linear: moments.Linear{Weights: mat.NewDense(4, 2, nil), Offset: []float64{0, 1}}, Promise: promised},
		"cosines": {Title: "bent", Features: inputs.Map{Columns: []inputs.Column{{Name: "age", Middle: 40, Scale: 10}}, Cosines: &cosines.Map{Directions: []float32{1, 2}, Phases: []float32{0, 1}}},
			Number: &Number{"rate", 10, 2, 0.5}, Linear: moments.Linear{Weights: mat.NewDense(3, 1, []float64{0, 1, 0}), Offset: []float64{0}}, Promise: promised},
	}
}

// edges score gradients along x for the first class, along y for the second.
func edges() []float64 {
	w := make([]float64, 32)
	for i := range 16 {
		if i%8 == 0 || i%8 == 4 {
			w[2*i] = 1
		}
		if i%8 == 2 || i%8 == 6 {
			w[2*i+1] = 1
		}
	}
	return w
}

func read(t *testing.T, m *Model) *Model {
	t.Helper()
	text, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Marshal()
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s: what is read is written as other bytes: %v", m.Title, err)
	}
	return got
}

// What is read from a file predicts what the weights say.
func TestPredictions(t *testing.T) {
	all := examples()
	m := read(t, all["columns"])
	p, err := m.OfNumbers([]float32{50, 5}) // one deviation: (1, 0) over the cut of 4
	if want := 10 + 2*(0.25+0.25); err != nil || math.Abs(p.Value-want) > 1e-4 || math.Abs(p.High-want-0.98) > 1e-4 {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = m.OfNumbers([]float32{1e9, 5}) // cut off at four deviations, which the cut leaves at length one
	if want := 10 + 2*1.25; err != nil || math.Abs(p.Value-want) > 1e-4 {
		t.Errorf("far out: %+v, %v", p, err)
	}
	m = read(t, all["net"])
	for class, row := range map[string][]float32{"tea": {30, 5}, "coffee": {40, 7}} {
		if p, err := m.OfNumbers(row); err != nil || p.Class != class {
			t.Errorf("%v: %+v, %v", row, p, err)
		}
	}
	m = read(t, all["text"])
	for text, want := range map[string]string{"a good day, good": "good", "bad luck": "bad"} {
		if p, err := m.OfText(text); err != nil || p.Class != want {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
	m = read(t, all["image"])
	image := make([]float32, 16)
	for i := range image {
		image[i] = float32(i % 4)
	}
	if p, err := m.OfNumbers(image); err != nil || p.Class != "across" {
		t.Errorf("%+v, %v", p, err)
	}
	for i := range image {
		image[i] = float32(i / 4)
	}
	if p, err := m.OfNumbers(image); err != nil || p.Class != "down" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := read(t, all["scattering"]).OfNumbers(make([]float32, 64)); err != nil || p.Class != "bright" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := read(t, all["words"]).OfText("the end"); err != nil || p.Class != "good" {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = read(t, all["cosines"]).OfNumbers([]float32{50}) // one deviation
	if want := 10 + 2*math.Sqrt2*math.Cos(1); err != nil || math.Abs(p.Value-want) > 1e-4 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestHostileInputs(t *testing.T) {
	all := examples()
	nan := float32(math.NaN())
	for name, ask := range map[string]func() error{
		"a text for columns":   func() error { _, err := all["columns"].OfText("x"); return err },
		"numbers for a text":   func() error { _, err := all["text"].OfNumbers([]float32{1}); return err },
		"too few columns":      func() error { _, err := all["columns"].OfNumbers([]float32{1}); return err },
		"not a number":         func() error { _, err := all["columns"].OfNumbers([]float32{nan, 1}); return err },
		"an image too small":   func() error { _, err := all["image"].OfNumbers(make([]float32, 15)); return err },
		"an image of no grey":  func() error { _, err := all["image"].OfNumbers(append(make([]float32, 15), nan)); return err },
		"another version":      func() error { _, err := Read(strings.NewReader(`{"confetti_model":2,"features":{}}`)); return err },
		"features for a model": func() error { _, err := Read(strings.NewReader(`{"confetti_features":1,"features":{}}`)); return err },
		"two objects":          func() error { _, err := Read(strings.NewReader(`{"confetti_model":1,"features":{}} {}`)); return err },
		"unknown field": func() error {
			_, err := Read(strings.NewReader(`{"confetti_model":1,"features":{},"x":1}`))
			return err
		},
	} {
		if ask() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, spoil := range map[string]func(m *Model){
		"no weights":       func(m *Model) { m.Linear.Weights = nil },
		"other weights":    func(m *Model) { m.Linear.Weights = mat.NewDense(3, 1, nil) },
		"infinite":         func(m *Model) { m.Linear.Offset[0] = math.Inf(1) },
		"two kinds":        func(m *Model) { m.Features.Image = &inputs.Size{Width: 4, Height: 4} },
		"no kind":          func(m *Model) { m.Features = inputs.Map{} },
		"no scale":         func(m *Model) { m.Features.Columns[0].Scale = 0 },
		"classes too":      func(m *Model) { m.Classes = []string{"a", "b"} },
		"another map":      func(m *Model) { m.Features.Maps = append(m.Features.Maps, square(1, 2, 3)) },
		"a cut below zero": func(m *Model) { m.Features.Cut = -1 },
	} {
		m := examples()["columns"]
		if spoil(m); m.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, spoil := range map[string]func(m *Model){
		"weights too":   func(m *Model) { m.Linear.Weights = mat.NewDense(2, 2, nil) },
		"other classes": func(m *Model) { m.Classes = []string{"a", "b", "c"} },
		"other inputs":  func(m *Model) { m.Features.Columns = m.Features.Columns[:1] },
		"a pool":        func(m *Model) { m.Net.Layers[1] = nn.MaxPool{Channels: 2, Height: 1, Width: 1, Kernel: 1, Stride: 1} },
	} {
		m := examples()["net"]
		if spoil(m); m.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The file of this version stays readable.
func TestGolden(t *testing.T) {
	const path = "testdata/model-v1.json"
	want, err := examples()["columns"].Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what is written now: %v", path, err)
	}
}

// Whatever is read is whole: it is written as it was read, and predicts without a fault.
func FuzzRead(f *testing.F) {
	for _, m := range examples() {
		text, err := m.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"confetti_model":1,"features":{"image":{"width":4,"height":4}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m *Model
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if _, err = ReadFeatures(bytes.NewReader(text)); err == nil {
				m, err = Read(bytes.NewReader(text))
			}
		})
		if err != nil {
			return
		}
		if _, err := m.Marshal(); err != nil {
			t.Fatal(err)
		}
		if m.Features.Texts() {
			m.OfText("good and bad")
			return
		}
		n := len(m.Features.Columns)
		if s := m.Features.Image; s != nil {
			n = s.Width * s.Height
		}
		if n <= 1<<10 {
			m.OfNumbers(make([]float32, n))
		}
	})
}
