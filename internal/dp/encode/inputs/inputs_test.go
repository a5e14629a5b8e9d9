package inputs

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/scattering"
	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// inputs.json is from inputs.py, which shares no code with the package. Maps of images and hashed words
// have vectors of their own.
func TestGoldenInputs(t *testing.T) {
	for i, c := range crosscheck.Read[[]struct {
		Form     Form
		Text     string
		Numbers  []float32
		Features []float64
	}](t, "testdata/inputs.json") {
		m, err := c.Form.Map()
		if err != nil {
			t.Fatal(err)
		}
		x, err := m.OfText(c.Text)
		if c.Numbers != nil {
			x, err = m.OfNumbers(c.Numbers)
		}
		if err != nil || len(x) != len(c.Features) || m.Len() != len(x) {
			t.Fatalf("case %d: %d features of %d, %v", i, len(x), len(c.Features), err)
		}
		for j, want := range c.Features {
			if math.Abs(float64(x[j])-want) > 3e-6 {
				t.Errorf("case %d: feature %d is %v, want %v", i, j, x[j], want)
			}
		}
		var state struct{ Inputs Form }
		if err := json.Unmarshal(m.State(), &state); err != nil || !reflect.DeepEqual(state.Inputs, c.Form) {
			t.Errorf("case %d: the state of a plan has another form, %v", i, err)
		}
	}
}

// What belongs together stands together.
func TestHostile(t *testing.T) {
	column := []Column{{Name: "age", Scale: 1}}
	for name, f := range map[string]Form{
		"nothing":                     {},
		"two kinds":                   {Image: &Size{Width: 8, Height: 8}, Columns: column},
		"scattering without an image": {Scattering: true, Columns: column},
		"cosines without columns":     {Image: &Size{Width: 8, Height: 8}, Cosines: &cosinesForm{Directions: []float32{1}, Phases: []float32{0}}},
		"a cut without a map":         {Columns: column, Cut: 1},
		"words without directions":    {Text: &textForm{Words: []string{"oil"}, Weights: []float32{1}}},
		"a column of no scale":        {Columns: []Column{{Name: "age"}}},
		"cosines of too many columns": {Columns: column, Cosines: &cosinesForm{Directions: []float32{1, 2}, Phases: []float32{0}}},
		"an image of an unequal size": {Image: &Size{Width: 27, Height: 28}},
		"places that are no power":    {Words: &wordsForm{Places: 3, Half: 1}},
		"scattering of a large image": {Scattering: true, Image: &Size{Width: 128, Height: 128}},
	} {
		if m, err := f.Map(); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestScatteringOfAnotherSize(t *testing.T) {
	of, err := scattering.New(28, 28)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Map{Image: &Size{Width: 28, Height: 28}, Scatter: of}).Check(); err != nil {
		t.Error(err)
	}
	if err := (&Map{Image: &Size{Width: 32, Height: 28}, Scatter: of}).Check(); err == nil {
		t.Error("scattering of another size is taken")
	}
}
