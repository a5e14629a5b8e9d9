package inputs

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// asked has a form of each map that other packages make, with an input.
var asked = map[string]struct {
	form    Form
	text    string
	numbers []float32
}{
	"Scatter": {form: Form{Image: &Size{Width: 28, Height: 28}, Scattering: true}, numbers: slices.Repeat([]float32{0.25, 0.75}, 392)},
	"Text":    {form: Form{Text: &textForm{Words: []string{"oil"}, Weights: []float32{1}, Directions: []float32{1, 2}}}, text: "oil"},
	"Words":   {form: Form{Words: &wordsForm{Places: 16, Half: 1}}, text: "some oil"},
	"Cosines": {form: Form{Columns: []Column{{Name: "age", Scale: 1}}, Cosines: &cosinesForm{Directions: []float32{1}, Phases: []float32{0}}}, numbers: []float32{0.5}},
}

// Every map of another package has a form in files that is read as the same map, turns an input into as many
// numbers as it says, and has vectors of another origin: its own, or among those of inputs.
func TestEveryMapHasAFormAndVectors(t *testing.T) {
	golden, err := os.ReadFile("testdata/inputs.json")
	if err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[Map]()
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Type.Kind() != reflect.Pointer || field.Type.Elem().PkgPath() == of.PkgPath() {
			continue
		}
		one, has := asked[field.Name]
		if !has {
			t.Errorf("%s has no form here", field.Name)
			continue
		}
		m, err := one.form.Map()
		if err != nil {
			t.Errorf("%s: %v", field.Name, err)
			continue
		}
		var state struct{ Inputs Form }
		if err := json.Unmarshal(m.State(), &state); err != nil || !reflect.DeepEqual(state.Inputs, one.form) {
			t.Errorf("%s is written as %s, %v", field.Name, m.State(), err)
		}
		if reflect.ValueOf(m).Elem().Field(i).IsNil() {
			t.Errorf("%s is not read from its form", field.Name)
		}
		x, err := m.OfText(one.text)
		if one.numbers != nil {
			x, err = m.OfNumbers(one.numbers)
		}
		if err != nil || len(x) != m.Len() || len(x) == 0 || m.Texts() != (one.text != "") {
			t.Errorf("%s: %d numbers of %d, %v", field.Name, len(x), m.Len(), err)
		}
		folder := filepath.Join("..", path.Base(field.Type.Elem().PkgPath()))
		if tests, err := filepath.Glob(filepath.Join(folder, "*_test.go")); err != nil || len(tests) == 0 {
			t.Errorf("%s has no tests: %v", field.Name, err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "testdata", "*"))
		if err != nil || len(files) == 0 && !strings.Contains(string(golden), `"`+strings.ToLower(field.Name)+`"`) {
			t.Errorf("%s has no vectors: %v", field.Name, err)
		}
	}
}
