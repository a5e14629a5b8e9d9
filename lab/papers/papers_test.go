package papers

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/lab/ltn"
	"github.com/confetti-dp/confetti/release"
)

const docs = "../../docs/results"

// The pages in the tree are those that their cells give, to the byte, and so are their figures: with cells as measurements
// have them one after the other, those that two share as often as they do.
func TestThePagesAreThoseOfTheirCells(t *testing.T) {
	for _, p := range All() {
		dir := t.TempDir()
		kept, err := p.Kept(docs)
		if len(kept) == 0 {
			t.Fatalf("%s has no cells: %v", p.Name, err)
		}
		at, cells := map[string]experiments.Measured{}, Cells{}
		for _, m := range kept {
			at[m.Cell.Key()] = m
		}
		for _, s := range p.Specs() {
			for _, c := range s.Cells(experiments.Options{Seed: 1}) {
				cells = append(cells, at[c.Key()])
			}
		}
		if err = p.Keep(dir, cells); err == nil {
			err = p.Write(dir, "")
		}
		if err != nil {
			t.Fatal(p.Name, err)
		}
		made, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(made) < 3 {
			t.Fatal(p.Name, made, err)
		}
		for _, file := range made {
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(filepath.Join(docs, filepath.Base(file)))
			if err != nil || filepath.Ext(file) != ".gz" && !bytes.Equal(got, kept) {
				t.Errorf("docs/results/%s is not what its cells give (%v): go run ./papers/draw", filepath.Base(file), err)
			}
		}
	}
}

// The list in the tree is that of the papers' items.
func TestTheListIsThatOfThePapers(t *testing.T) {
	dir := t.TempDir()
	if err := WriteList(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "README.md"))
	kept, missing := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil || missing != nil || !bytes.Equal(got, kept) {
		t.Errorf("docs/results/README.md is not what the papers' items give (%v, %v): go run ./papers/draw", err, missing)
	}
}

// What is kept of cells is what was measured, each once, without plans.
func TestCellsAreKept(t *testing.T) {
	p, ok := Named("ldc")
	if !ok {
		t.Fatal("no ldc")
	}
	measured := experiments.Measured{
		Cell:   experiments.Cell{Dataset: "mnist", Runs: 2, Labels: experiments.Labels{Method: experiments.UniformRR, Epsilon: 1}},
		Result: &experiments.Result{Dataset: "mnist", Users: 100, Learned: &experiments.Learned{Accuracy: 0.625, AccuracyNoPrivacy: 0.75}},
	}
	dir := t.TempDir()
	refused := experiments.Measured{Cell: experiments.Cell{Dataset: "mnist"}, Reason: "none"}
	if err := p.Keep(dir, Cells{measured, refused, measured}); err != nil {
		t.Fatal(err)
	}
	if none, err := p.Kept(t.TempDir()); none != nil || err != nil {
		t.Errorf("nobody kept anything: %v %v", none, err)
	}
	got, err := p.Kept(dir)
	if err != nil || len(got) != 1 || got[0].Result.Learned.Accuracy != 0.625 || got[0].Cell.Key() != measured.Cell.Key() {
		t.Fatalf("%+v %v", got, err)
	}
	if err := p.Write(dir, dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "measure them first") {
		t.Errorf("a page of nothing: %v", err)
	}
	if pdf, err := os.ReadFile(filepath.Join(dir, "ldc-figures.pdf")); err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Errorf("no figures for print: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ldc.md"))
	if err != nil || !strings.Contains(string(text), "| MNIST | UniformRR (local) | 1 | nobody | K/eps sqrt(d/n) | 22.6 | 12.5 |") {
		t.Errorf("%s %v", text, err)
	}
}

// A protocol has one look in every figure, and no two protocols that meet have the same.
func TestLooksAreTheirOwn(t *testing.T) {
	all := []protocol{noPrivacy, curator, holder, numbers, rotated, rrExact, rrPaper, rrUnproved, rrLocal, threeExact, threePaper, threeAuthors, pureExact, purePaper}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.look == b.look || a.words == b.words {
				t.Errorf("%s looks like %s", a.words, b.words)
			}
		}
	}
}

// Every model of ESA's tables stands in docs/gradients.md with the numbers that were measured, to half of their last digit.
func TestGradientsAreWrittenAsMeasured(t *testing.T) {
	esa, _ := Named("esa")
	cells, err := esa.Kept(docs)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/gradients.md")
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`(0\.[0-9]{3}) ± (0\.[0-9]{3})`)
	checked := 0
	for _, m := range cells {
		g := m.Cell.Gradient
		if g.Report != "direction" || g.Architecture == "linear" || g.Examples == 0 {
			continue
		}
		head := fmt.Sprintf("\n| %s | %s | ", count(m.Result.Users), count(g.Rounds))
		_, line, found := strings.Cut(string(text), head)
		line, _, _ = strings.Cut(line, "\n")
		right := false
		for _, n := range written.FindAllStringSubmatch(line, -1) {
			mean, _ := strconv.ParseFloat(n[1], 64)
			std, _ := strconv.ParseFloat(n[2], 64)
			right = right || math.Abs(mean-m.Result.Trained.Accuracy) < 0.000501 && math.Abs(std-m.Result.Trained.AccuracyStd) < 0.000501
		}
		if checked++; !found || !right {
			t.Errorf("docs/gradients.md has %q of %s, %d respondents, %d rounds; measured %.4f ± %.4f", line, m.Cell.Dataset, m.Result.Users, g.Rounds, m.Result.Trained.Accuracy, m.Result.Trained.AccuracyStd)
		}
	}
	if checked < 20 {
		t.Errorf("%d models", checked)
	}
}

func TestNumbersForReaders(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.0223: "0.0223", 13.2512: "13.3", 139.4: "139", 1853.7: "1,854", 236559063: "2.37e+08", 5e-8: "5e-08", 18: "18"} {
		if got := number(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
	if got := count(236559063); got != "236,559,063" {
		t.Error(got)
	}
	var w bytes.Buffer
	markdown(&w, release.Table{Columns: columns("a", "b", "c"), Rows: [][]release.Cell{row("x|y", "", "1"), row("z", "", "")}})
	if w.String() != "\n| a | c |\n| --- | --- |\n| x\\|y | 1 |\n| z | – |\n" {
		t.Errorf("%q", w.String())
	}
}

// Cells whose encoders are of private records stand in Table 2 with what these keep, and not among those of public
// records; joined rows, which nobody shuffles, have no central epsilon.
func TestPromisesOfRecords(t *testing.T) {
	epsilon := 2.0
	cell := func(application string, central float64) experiments.Measured {
		return experiments.Measured{
			Cell:   experiments.Cell{Dataset: "mnist", Runs: 1, Records: experiments.Records{Application: application, Mechanism: experiments.VLM, Epsilon: 8, Central: central}},
			Result: &experiments.Result{Promised: measure.Promised{Epsilon: &epsilon}, Recorded: &experiments.Recorded{AccuracyClean: 0.5, EpsilonMade: central, Claim: "differentially private"}},
		}
	}
	cells := Cells{cell(experiments.Collecting, 0), cell(experiments.Collecting, 5), cell(experiments.Joining, 0)}
	text := func(c Cells) string {
		var w bytes.Buffer
		markdown(&w, ltn.Table("", c))
		return w.String()
	}
	if got := text(noisy(cells, "mnist", experiments.Collecting, anyLevel)); strings.Contains(got, "private") || strings.Count(got, "noisy code") != 1 {
		t.Error(got)
	}
	if got := text(centrally(cells, "mnist")); !strings.Contains(got, "| 2 | differentially private, epsilon 5, delta 1e-5 |") {
		t.Error(got)
	}
	if got := text(noisy(cells, "mnist", experiments.Joining, anyLevel)); strings.Contains(got, "shuffled") {
		t.Error(got)
	}
}

// Cells that differ in their seed are one of all their runs; those of one seed are not added up, as their runs are the same.
func TestSeedsArePooled(t *testing.T) {
	cell := func(seed uint64, runs int, mean, std float64) experiments.Measured {
		return experiments.Measured{
			Cell:   experiments.Cell{Dataset: "sst2", Seed: seed, Runs: runs, Density: experiments.Density{Bitsum: "rr", Epsilon: 1}},
			Result: &experiments.Result{Accuracies: &measure.Accuracies{Accuracy: mean, AccuracyStd: std, AccuracyNoPrivacy: mean + 0.1}},
		}
	}
	got := pooled(Cells{cell(1, 2, 0.5, 0), cell(1, 3, 0.6, 0.1), cell(2, 2, 0.8, 0)})
	if len(got) != 1 || got[0].Cell.Runs != 5 {
		t.Fatalf("%+v", got)
	}
	// 0.5, 0.6, 0.7 and 0.8 twice: mean 0.68, squares 0.0324+0.0064+0.0004+2*0.0144 = 0.068 over 4.
	r := got[0].Result
	if math.Abs(r.Accuracy-0.68) > 1e-12 || math.Abs(r.AccuracyStd-math.Sqrt(0.017)) > 1e-12 || math.Abs(r.AccuracyNoPrivacy-0.78) > 1e-12 {
		t.Errorf("%+v", r.Accuracies)
	}
	words := experiments.Measured{Cell: experiments.Cell{Seed: 3, Density: experiments.Density{Bitsum: "rr", Words: 3}}, Result: &experiments.Result{Accuracies: &measure.Accuracies{}}}
	if got := pooled(Cells{words}); len(got) != 1 || got[0].Cell.Seed != 3 {
		t.Errorf("%+v", got)
	}
}

// The cells beside a page are those of its paper's measurements: each of these is there, but for those of Pure, which does not
// exist at small epsilons, and those of a set by the sentence encoder, which is there whole or not at all. No other is.
func TestTheCellsAreThoseOfTheSpecs(t *testing.T) {
	for _, p := range All() {
		kept, err := p.Kept(docs)
		if err != nil {
			t.Fatal(p.Name, err)
		}
		if faults := unlike(p.Specs(), kept); len(faults) > 0 {
			t.Errorf("%s: %d cells: %s", p.Name, len(faults), faults[0])
		}
		// A cell that goes, and one that nobody asked for, are found.
		planted := append(Cells{{Cell: experiments.Cell{Dataset: "nobody's", Runs: 1}}}, kept[1:]...)
		if faults := unlike(p.Specs(), planted); len(faults) != 2 {
			t.Errorf("%s: two planted faults, and %d found", p.Name, len(faults))
		}
	}
}

// unlike names cells of specs that are not kept, and kept ones that no spec has.
func unlike(specs []experiments.Spec, kept Cells) (faults []string) {
	of, have, sets := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, m := range kept {
		have[m.Cell.Key()], sets[m.Cell.Dataset] = true, true
	}
	for _, s := range specs {
		for _, c := range s.Cells(experiments.Options{Seed: 1}) {
			if kde.Encoded(c.Dataset) && !sets[c.Dataset] {
				of[c.Key()] = true
				continue
			}
			if !have[c.Key()] && !of[c.Key()] && c.Density.Bitsum != "pure" {
				faults = append(faults, fmt.Sprintf("%s has %s, which is not kept", s.Name, c))
			}
			of[c.Key()] = true
		}
	}
	for _, m := range kept {
		if !of[m.Cell.Key()] {
			faults = append(faults, fmt.Sprintf("%s is kept, and of no measurement", m.Cell))
		}
	}
	return faults
}
