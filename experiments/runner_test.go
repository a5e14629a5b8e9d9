package experiments

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/release"
)

var quiet = func(string, int, int) {}

func noData(string) (*dataset.Set, error) { return nil, fs.ErrNotExist }

func quickCells(t *testing.T, name string) (Spec, []Cell) {
	t.Helper()
	s, ok := Find(name)
	if !ok {
		t.Fatalf("no spec %s", name)
	}
	return s, s.Cells(Options{Datasets: []string{generated}, Quick: true, Seed: 3})
}

func TestSpecEndToEnd(t *testing.T) {
	s, cells := quickCells(t, "figure4")
	dir := t.TempDir()
	out, err := Runner{Out: dir, Tell: quiet, Load: noData}.Run(cells)
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
	for _, name := range []string{"figure4.json", "figure4-synthetic-gaussian.png", "figure4-synthetic-gaussian.svg", "figure4-synthetic-ip-signs.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunGoesOnWhereItStopped(t *testing.T) {
	_, cells := quickCells(t, "figure4")
	whole, err := Runner{Out: t.TempDir(), Tell: quiet, Load: noData}.Run(cells)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pulled := errors.New("power cut")
	first := Runner{Out: dir, Tell: quiet, Load: noData, stop: func(n int) error {
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

	rest, err := Runner{Out: dir, Tell: quiet, Load: noData}.Run(cells)
	if err != nil {
		t.Fatal(err)
	}
	if rest.Kept != early.Measured || rest.Kept+rest.Measured != whole.Measured {
		t.Errorf("kept %d and measured %d; %d were measured before, %d in one go", rest.Kept, rest.Measured, early.Measured, whole.Measured)
	}
	if diff := cmp.Diff(whole.Cells, rest.Cells, cmpopts.IgnoreFields(KDEResult{}, "Seconds")); diff != "" {
		t.Error(diff)
	}
	again, err := Runner{Out: dir, Tell: quiet, Load: noData}.Run(cells)
	if err != nil || again.Measured != 0 {
		t.Errorf("measured %d cells again: %v", again.Measured, err)
	}
}

func TestStoreRefusesABadLine(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, CellsFile), []byte("{\"cell\":{}}\nnot JSON\n{\"cell\":{}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Runner{Out: dir, Tell: quiet, Load: noData}).Run(nil); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a bad line in the middle: %v", err)
	}
}

func TestRunReportsAMissingDataSet(t *testing.T) {
	cells := []Cell{{Dataset: "agnews", Kernel: encode.InnerSigns, Bitsum: "none", Accounting: account.ExactAccounting, Epsilon: 1, Delta: 1e-5, Runs: 1}}
	if _, err := (Runner{Out: t.TempDir(), Tell: quiet, Load: noData}).Run(cells); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no data: %v", err)
	}
}

func TestCellKeyHoldsEverything(t *testing.T) {
	base := Cell{Dataset: "a", Kernel: encode.Gaussian, Bitsum: "rr", Accounting: account.ExactAccounting, Epsilon: 1, Delta: 1e-5, Runs: 1}
	if again := base; base.key() != again.key() {
		t.Fatal("a cell has two keys")
	}
	for _, change := range []func(c *Cell){
		func(c *Cell) { c.Dataset = "b" }, func(c *Cell) { c.Kernel = encode.InnerSigns }, func(c *Cell) { c.Bandwidth = 1 },
		func(c *Cell) { c.Clip = 1 }, func(c *Cell) { c.Radius = 1 }, func(c *Cell) { c.Bitsum = "3nb" }, func(c *Cell) { c.Accounting = account.PaperAccounting },
		func(c *Cell) { c.Epsilon = 2 }, func(c *Cell) { c.Delta = 1e-6 }, func(c *Cell) { c.LabelEpsilon = 1 }, func(c *Cell) { c.Repetitions = 5 },
		func(c *Cell) { c.Seed = 1 }, func(c *Cell) { c.Runs = 2 }, func(c *Cell) { c.Queries = 1 }, func(c *Cell) { c.Words = 1 },
		func(c *Cell) { c.CostOnly = true }, func(c *Cell) { c.NearestMean = true },
	} {
		c := base
		change(&c)
		if c.key() == base.key() {
			t.Errorf("%+v has the key of %+v", c, base)
		}
		b, _ := json.Marshal(c)
		var back Cell
		if err := json.Unmarshal(b, &back); err != nil || back != c {
			t.Errorf("%+v came back as %+v: %v", c, back, err)
		}
	}
}
