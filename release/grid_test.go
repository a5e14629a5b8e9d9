package release

import (
	"strings"
	"testing"
)

func TestGridIsChecked(t *testing.T) {
	good := func() Figure {
		return Figure{Name: "g", Title: "G", Alt: "a", Kind: Heat, Grid: &Grid{Columns: 2, Right: 1, Top: 1, Values: []float64{1, 2, 3, 4}}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(f *Figure){
		"heat needs it":              func(f *Figure) { f.Grid = nil },
		"is for heat":                func(f *Figure) { f.Kind = Lines },
		"does not draw":              func(f *Figure) { f.Series = []Series{{Y: []float64{1}}} },
		"does not divide":            func(f *Figure) { f.Grid.Columns = 3 },
		"columns does not divide":    func(f *Figure) { f.Grid.Columns = 0 },
		"values are not 1 to":        func(f *Figure) { f.Grid.Values = nil },
		"not above its beginning":    func(f *Figure) { f.Grid.Top = 0 },
		"beside its grid":            func(f *Figure) { f.Y.Log = true },
		"lines, points, bars, heat":  func(f *Figure) { f.Kind = "pie" },
		"grid is for heat, and heat": func(f *Figure) { f.Kind = Bars },
	} {
		f := good()
		spoil(&f)
		if err := f.Validate(); err == nil || !strings.Contains(everything(f), want) {
			t.Errorf("want %q: %v", want, everything(f))
		}
	}
}

// everything lists all that is wrong with a figure.
func everything(f Figure) string {
	v := validator{worded: true}
	v.figure(f, "figure")
	var all []string
	for _, err := range v.problems {
		all = append(all, err.Error())
	}
	return strings.Join(all, "\n")
}

func TestGapsAreOfLines(t *testing.T) {
	f := Figure{Name: "g", Title: "G", Alt: "a", Kind: Lines, Series: []Series{{X: []float64{1, 3}, Y: []float64{1, 2}, Gaps: []float64{2}}}}
	if err := f.Validate(); err != nil {
		t.Error(err)
	}
	if f.Kind = Points; f.Validate() == nil {
		t.Error("points have gaps")
	}
}

func TestCoarse(t *testing.T) {
	g := Grid{Columns: 3, Right: 3, Top: 2, Values: []float64{1, 2, 3, 4, 5, 6}}
	if got := g.Coarse(3, 2); got.Columns != 3 || len(got.Values) != 6 {
		t.Errorf("what is coarse enough became %+v", got)
	}
	got := g.Coarse(2, 1)
	if got.Columns != 2 || got.Rows() != 1 || got.Values[0] != 3 || got.Values[1] != 4.5 || got.Right != 4 || got.Top != 2 {
		t.Errorf("%+v", got)
	}
}
