package kde_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/release"
)

func noData(string) (*dataset.Set, error) { return nil, fs.ErrNotExist }

// Everything of the paper's section 4 and appendix C has a spec.
func TestSpecsAreComplete(t *testing.T) {
	want := []string{"apart", "appendix-signs", "beyond", "extrapolation", "kernels", "real-sums", "table3-again", "table5-shape"}
	for i := 1; i <= 8; i++ {
		want = append(want, fmt.Sprintf("figure%d", i), fmt.Sprintf("table%d", i))
	}
	var got []string
	for _, s := range kde.Specs() {
		got = append(got, s.Name)
		if s.Title == "" || s.Paper == "" || len(s.Datasets) == 0 {
			t.Errorf("%s does not say what it is", s.Name)
		}
		for _, o := range []experiments.Options{{Seed: 1}, {Seed: 1, Quick: true}, {Seed: 1, Runs: 7}} {
			cells := s.Cells(o)
			if len(cells) == 0 {
				t.Errorf("%s has no cells with %+v", s.Name, o)
			}
			for _, c := range cells {
				if takes, _ := s.Kind.Takes(c.Dataset); !takes {
					t.Errorf("%s: no data set %q", s.Name, c.Dataset)
				}
				if err := c.Validate(); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
				if o.Runs > 0 && c.Runs != o.Runs || o.Quick && c.Runs != 1 || c.Seed < o.Seed {
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
}

func quickCells(t *testing.T, name string) (experiments.Spec, []experiments.Cell) {
	t.Helper()
	all := kde.Specs()
	s := all[slices.IndexFunc(all, func(s experiments.Spec) bool { return s.Name == name })]
	return s, s.Cells(experiments.Options{Datasets: []string{"synthetic"}, Quick: true, Seed: 3})
}

func TestSpecEndToEnd(t *testing.T) {
	s, cells := quickCells(t, "figure4")
	dir := t.TempDir()
	out, err := experiments.Runner{Out: dir, Tell: quiet, Bench: kde.Kind.Bench(experiments.Data{Set: noData})}.Run(cells)
	if err != nil {
		t.Fatal(err)
	}
	if out.Measured == 0 || out.Measured+out.Refused != len(cells) || len(out.Cells) != len(cells) {
		t.Fatalf("%d measured and %d refused of %d cells", out.Measured, out.Refused, len(cells))
	}
	for i, m := range out.Cells {
		if m.Cell != cells[i] {
			t.Fatalf("cell %d is %v, want %v", i, m.Cell, cells[i])
		}
		if (m.Result == nil) == (m.Reason == "") {
			t.Errorf("%v has both or neither of a result and a reason", m.Cell)
		}
		if m.Unproved != "" && m.Result.Epsilon != nil {
			t.Errorf("%v has a promise that is not proved", m.Cell)
		}
	}
	if err := s.Page(dir, out.Cells, release.Provenance{Software: "test"}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "figure4.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RR, local", "no privacy", "No promise: ", "Lemma 4.8", "seed 3"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, name := range []string{"figure4.json", "figure4-synthetic-gaussian.png", "figure4-synthetic-gaussian.svg", "figure4-synthetic-ip-identity.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunReportsAMissingDataSet(t *testing.T) {
	c := cell()
	c.Dataset = "agnews"
	if _, err := kde.Kind.Bench(experiments.Data{Set: noData}).Measure(c); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no data: %v", err)
	}
}
