package experiments

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
)

func quiet(string, int, int) {}

// counting measures a cell by its epsilon, and refuses those above ten. Its runs count
// what it was asked.
type counting struct{ asked []Cell }

func (b *counting) Shared(c Cell) string { return c.Density.Bitsum }

func (b *counting) Measure(c Cell) (Measured, error) {
	b.asked = append(b.asked, c)
	if c.Density.Epsilon > 10 {
		return Measured{Cell: c, Reason: "too large"}, nil
	}
	return Measured{Cell: c, Result: &Result{Dataset: c.Dataset, Accuracies: &measure.Accuracies{Accuracy: c.Density.Epsilon / 10}}}, nil
}

// some are cells of two data sets and two bitsums, of which one is refused and one is twice.
func some() []Cell {
	var cells []Cell
	for _, epsilon := range []float64{1, 2, 20} {
		for _, set := range []string{"b", "a"} {
			for _, bitsum := range []string{"rr", "3nb"} {
				cells = append(cells, Cell{Dataset: set, Runs: 1, Density: Density{Bitsum: bitsum, Epsilon: epsilon}})
			}
		}
	}
	return append(cells, cells[0])
}

// Cells that share something are measured one after the other, each once, and come out in
// the order of the spec.
func TestRunMeasuresEachCellOnce(t *testing.T) {
	b, cells := &counting{}, some()
	out, err := Runner{Out: t.TempDir(), Tell: quiet, Bench: b}.Run(cells)
	if err != nil || out.Measured != 8 || out.Refused != 4 || len(b.asked) != 12 || len(out.Cells) != 13 {
		t.Fatalf("%+v, %v", out, err)
	}
	for i, m := range out.Cells {
		if m.Cell != cells[i] || (m.Result == nil) == (m.Reason == "") {
			t.Errorf("cell %d is %+v, want %v", i, m, cells[i])
		}
	}
	seen := map[string]int{}
	for i, c := range b.asked {
		key := c.Dataset + c.Density.Bitsum
		if last, ok := seen[key]; ok && last != i-1 {
			t.Errorf("%v comes apart from those it shares with", c)
		}
		seen[key] = i
	}
}

func TestRunGoesOnWhereItStopped(t *testing.T) {
	cells := some()
	whole, err := Runner{Out: t.TempDir(), Tell: quiet, Bench: &counting{}}.Run(cells)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pulled := errors.New("power cut")
	first := Runner{Out: dir, Tell: quiet, Bench: &counting{}, stop: func(n int) error {
		if n == 4 {
			return pulled
		}
		return nil
	}}
	early, err := first.Run(cells)
	if !errors.Is(err, pulled) {
		t.Fatal(err)
	}
	// A line that was being written when it happened.
	f, err := os.OpenFile(filepath.Join(dir, CellsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"cell":{"dataset":"synth`)
	f.Close()

	rest, err := Runner{Out: dir, Tell: quiet, Bench: &counting{}}.Run(cells)
	if err != nil {
		t.Fatal(err)
	}
	if early.Measured == 0 || rest.Measured+early.Measured != whole.Measured {
		t.Errorf("measured %d; %d were measured before, %d in one go", rest.Measured, early.Measured, whole.Measured)
	}
	if diff := cmp.Diff(whole.Cells, rest.Cells); diff != "" {
		t.Error(diff)
	}
	again, err := Runner{Out: dir, Tell: quiet, Bench: &counting{}}.Run(cells)
	if err != nil || again.Measured != 0 {
		t.Errorf("measured %d cells again: %v", again.Measured, err)
	}
}

func TestStoreRefusesABadLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, CellsFile), []byte("{\"cell\":{}}\nnot JSON\n{\"cell\":{}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Runner{Out: dir, Tell: quiet, Bench: &counting{}}).Run(nil); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a bad line in the middle: %v", err)
	}
}

func TestCellKeyHoldsEverything(t *testing.T) {
	base := Cell{Dataset: "a", Runs: 1, Density: Density{Kernel: plan.Kernel{Name: "gaussian"}, Bitsum: "rr", Accounting: calibrate.Exact, Epsilon: 1, Delta: 1e-5}}
	if again := base; base.Key() != again.Key() {
		t.Fatal("a cell has two keys")
	}
	for _, change := range []func(c *Cell){
		func(c *Cell) { c.Dataset = "b" }, func(c *Cell) { c.Seed = 1 }, func(c *Cell) { c.Runs = 2 },
		func(c *Cell) { c.Density.Kernel.Name = "ip-signs" }, func(c *Cell) { c.Density.Kernel.Bandwidth = 1 }, func(c *Cell) { c.Density.Kernel.Clip = 1 },
		func(c *Cell) { c.Density.Kernel.Radius = 1 }, func(c *Cell) { c.Density.Bitsum = "3nb" }, func(c *Cell) { c.Density.Accounting = calibrate.Paper },
		func(c *Cell) { c.Density.Epsilon = 2 }, func(c *Cell) { c.Density.Delta = 1e-6 }, func(c *Cell) { c.Density.LabelEpsilon = 1 }, func(c *Cell) { c.Density.LocalEpsilon = 1 },
		func(c *Cell) { c.Density.Repetitions = 5 }, func(c *Cell) { c.Density.Queries = 1 }, func(c *Cell) { c.Density.Words = 1 },
		func(c *Cell) { c.Density.CostOnly = true }, func(c *Cell) { c.Density.NearestMean = true }, func(c *Cell) { c.Histogram.Repeats = 2 },
	} {
		c := base
		change(&c)
		if c.Key() == base.Key() {
			t.Errorf("%+v has the key of %+v", c, base)
		}
		b, _ := json.Marshal(c)
		var back Cell
		if err := json.Unmarshal(b, &back); err != nil || back != c {
			t.Errorf("%+v came back as %+v: %v", c, back, err)
		}
	}
}
