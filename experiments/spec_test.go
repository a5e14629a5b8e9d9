package experiments

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Everything of the paper's section 4 and appendix C has a spec.
func TestSpecsAreComplete(t *testing.T) {
	var want []string
	for i := 1; i <= 8; i++ {
		want = append(want, fmt.Sprintf("figure%d", i), fmt.Sprintf("table%d", i))
	}
	want = append(want, "beyond", "kernels", "extrapolation")
	for _, s := range esaSpecs() {
		want = append(want, s.Name)
	}
	var got []string
	for _, s := range Specs() {
		got = append(got, s.Name)
		if s.Title == "" || s.Paper == "" || len(s.Datasets) == 0 {
			t.Errorf("%s does not say what it is", s.Name)
		}
		for _, o := range []Options{{Seed: 1}, {Seed: 1, Quick: true}, {Seed: 1, Runs: 7}} {
			cells := s.Cells(o)
			if len(cells) == 0 {
				t.Errorf("%s has no cells with %+v", s.Name, o)
			}
			for _, c := range cells {
				if takes, _ := s.Takes(c.Dataset); !takes {
					t.Errorf("%s: no data set %q", s.Name, c.Dataset)
				}
				if err := validate(c); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
				if o.Runs > 0 && c.Runs != o.Runs || o.Quick && c.Runs != 1 || c.Seed != o.Seed {
					t.Errorf("%s: %+v does not follow %+v", s.Name, c, o)
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("specs %v, want %v", got, want)
	}
	if _, ok := Find("figure9"); ok {
		t.Error("the paper has no Figure 9")
	}
}

// validate is the check of either kind of cell.
func validate(c Cell) error {
	if h := c.Histogram; h != (Histogram{}) {
		h.Runs = c.Runs
		return h.Validate()
	}
	return c.kde().Validate()
}

func TestShapes(t *testing.T) {
	small := shape{classes: 3, perClass: 400, dimension: 64, norm: 0.6, test: 2}
	rec, again := small.records("small", 5), small.records("small", 5)
	mean := make([]float64, small.dimension)
	for i := range rec.Train.Y {
		x := rec.row(i)
		length := 0.0
		for j, v := range x {
			length += float64(v) * float64(v)
			if rec.Train.Y[i] == 1 {
				mean[j] += float64(v) / float64(small.perClass)
			}
		}
		if math.Abs(length-1) > 1e-5 {
			t.Fatalf("row %d has squared length %v", i, length)
		}
		if !slices.Equal(x, again.row(i)) {
			t.Fatalf("row %d differs between two of the same seed", i)
		}
	}
	norm := 0.0
	for _, m := range mean {
		norm += m * m
	}
	// Scaling to length one and the mean of 400 move it by a few percent.
	if got := math.Sqrt(norm); math.Abs(got-small.norm) > 0.05 {
		t.Errorf("mean of norm %v, want %v", got, small.norm)
	}
	if n := rec.Train.Counts(3); n[0] != 400 || n[1] != 400 || n[2] != 400 {
		t.Errorf("classes of %v", n)
	}
	if rec.Test.Len() != 6 || rec.Dimension() != 64 || !rec.Synthetic {
		t.Errorf("%v", rec)
	}
}
