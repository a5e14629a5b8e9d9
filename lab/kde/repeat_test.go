package kde

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// Classes of another size hold the records of the set in their order, again and again, and as many
// of each class.
func TestRecordsAreRepeated(t *testing.T) {
	load := func(string) (*dataset.Set, error) {
		return dataset.Generate(1, dataset.GenerateOptions{Train: 300, Test: 60})
	}
	small, err := loadRecords(generated, 1, load)
	if err != nil {
		t.Fatal(err)
	}
	large, err := loadRecords("synthetic@3000", 1, load)
	if err != nil {
		t.Fatal(err)
	}
	if large.Name != "synthetic@3000" || large.Dimension() != small.Dimension() {
		t.Errorf("%s of dimension %d", large.Name, large.Dimension())
	}
	var of [][]int // rows of each class in the small one
	for class := range small.Classes {
		of = append(of, nil)
		for i, y := range small.Train.Y {
			if y == class {
				of[class] = append(of[class], i)
			}
		}
	}
	for class, n := range large.Train.Counts(len(large.Classes)) {
		if n != 3000 {
			t.Errorf("class %d has %d respondents", class, n)
		}
	}
	seen := make([]int, len(of))
	for i, class := range large.Train.Y {
		want := slices.Clone(small.row(of[class][seen[class]%len(of[class])]))
		if seen[class]++; !slices.Equal(want, large.row(i)) {
			t.Fatalf("respondent %d of class %d holds another record", i, class)
		}
	}
}

func TestNamesOfRepeatedSets(t *testing.T) {
	for name, want := range map[string]string{"agnews_lsa256@30000": "agnews_lsa256", "agnews": "agnews", "agnews@0": "agnews@0", "agnews@x": "agnews@x", "agnews@99999999": "agnews@99999999"} {
		if got := base(name); got != want {
			t.Errorf("%s is of %s, want %s", name, got, want)
		}
	}
	if takes, folder := Kind.Takes("agnews@100"); !takes || !folder {
		t.Error("a set of another size is not taken")
	}
	if takes, _ := Kind.Takes("cats@100"); takes {
		t.Error("cats are taken")
	}
	if deltaOf("agnews_lsa256@30000") != 1e-6 || deltaOf("agnews_lsa256") != 1e-5 || deltaOf("sst2@100") != 1e-5 {
		t.Error("deltas are not KDE's")
	}
	for _, s := range Specs() {
		if s.Name != "table3" {
			continue
		}
		cells := s.Cells(experiments.Options{Seed: 1})
		if d := cells[0].Density; cells[0].Dataset != "agnews_lsa256@30000" || d.Repetitions != 768 || d.Delta != 1e-6 {
			t.Errorf("Table 3 is measured on %s with %d features at delta %g", cells[0].Dataset, d.Repetitions, d.Delta)
		}
	}
}

// What KDE prints is found by kernel, bitsum and both epsilons, and the rows that are a misprint are not.
func TestPrintedNumbers(t *testing.T) {
	if mean, std, ok := Printed("table3", "gaussian", "rr", 4.5, 0); !ok || mean != 66.8 || std != 1.1 {
		t.Error(mean, std, ok)
	}
	if mean, _, ok := Printed("table5", "ip-identity", "3nb", 4.7, 3); !ok || mean != 25.3 {
		t.Error(mean, ok)
	}
	if _, _, ok := Printed("table4", "ip-identity", "3nb", 2, 0); ok {
		t.Error("a misprint is compared with")
	}
	if _, _, ok := Printed("table3", "gaussian", "rr", 3, 0); ok {
		t.Error("a number that is not printed was found")
	}
}
