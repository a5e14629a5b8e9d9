// Package recipes follows docs/recipes.md and docs/recipes-questions.md: each recipe's toy, and each recipe with one step left out.
package recipes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recipe is a section of a page of recipes.
type recipe struct {
	name  string
	steps []step
	tests []string // commands, that pass when all steps are taken
}

// step is what one heading says to write, and what finds that it was forgotten.
type step struct {
	name  string
	finds string
	edits []edit
}

// edit writes a file that is not there, or has one text of a file replaced by another.
type edit struct {
	file     string
	old, new string // old is empty of a new file
}

var (
	heading = regexp.MustCompile(`^(##|###) (.+)$`)
	fence   = regexp.MustCompile("^```(\\w+)(?: (\\S+))?$")
	finds   = regexp.MustCompile("Forgotten: `([^`]+)`")
)

// parse reads the recipes of a page.
func parse(page string) (all []recipe, err error) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		if m := heading.FindStringSubmatch(lines[i]); m != nil {
			switch {
			case m[1] == "##":
				all = append(all, recipe{name: m[2]})
			case len(all) == 0:
				return nil, fmt.Errorf("the step %q is of no recipe", m[2])
			default:
				r := &all[len(all)-1]
				r.steps = append(r.steps, step{name: m[2]})
			}
			continue
		}
		if len(all) == 0 || len(all[len(all)-1].steps) == 0 {
			continue
		}
		r := &all[len(all)-1]
		s := &r.steps[len(r.steps)-1]
		if m := finds.FindStringSubmatch(lines[i]); m != nil {
			s.finds = m[1]
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		var block []string
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			block = append(block, lines[i])
		}
		switch m[1] {
		case "sh":
			r.tests = append(r.tests, block...)
		case "diff":
			e := edit{file: m[2]}
			for _, line := range block {
				if old, is := strings.CutPrefix(line, "-"); is {
					e.old += old + "\n"
				} else if added, is := strings.CutPrefix(line, "+"); is {
					e.new += added + "\n"
				} else {
					kept := strings.TrimPrefix(line, " ")
					e.old, e.new = e.old+kept+"\n", e.new+kept+"\n"
				}
			}
			s.edits = append(s.edits, e)
		case "copy": // of a file that is not for reading
			text, err := os.ReadFile(filepath.Join("../../..", block[0]))
			if err != nil {
				return nil, err
			}
			s.edits = append(s.edits, edit{file: m[2], new: string(text)})
		default:
			s.edits = append(s.edits, edit{file: m[2], new: strings.Join(block, "\n") + "\n"})
		}
	}
	return slices.DeleteFunc(all, func(r recipe) bool { return len(r.tests) == 0 }), nil
}

// broken are toys that take all steps, one of them wrongly.
var broken = []struct {
	recipe, finds string
	edit
}{
	{"A randomizer", "TestEventsCoverTheLaw", edit{"internal/dp/randomize/dice.go", "favour{m.Epsilon, 1 / float64(m.K)}.event", "favour{m.Epsilon / 2, 1 / float64(m.K)}.event"}},
	{"A randomizer", "TestReportsFollowTheirLaw", edit{"internal/dp/randomize/dice.go", "m.lie()*(1+0x1p-50)", "m.lie()/2"}},
	{"A randomizer", "TestLocalByEnumeration", edit{"internal/dp/randomize/dice.go", ".local(adj", ".local(account.Removal"}},
	{"A randomizer", "TestEstimatesByEnumeration", edit{"internal/dp/randomize/dice.go", "gap: a - b}", "gap: a}"}},
	{"A randomizer", "TestDrawnCountsFollowTheirLaw", edit{"internal/dp/randomize/dice.go", "for range n {", "for range n + n%2 {"}},
	{"A randomizer", "TestOneTableCoversAll", edit{"internal/dp/randomize/dice_covering.go", "favour{m.Epsilon, ", "favour{m.Epsilon / 2, "}},
	{"A bit sum", "TestCoinsEventCoversTheLaw", edit{"internal/dp/bitsum/coins.go", "Flip: m.Lie}", "Flip: 2 * m.Lie}"}},
	{"A bit sum", "TestCoinsEstimateByEnumeration", edit{"internal/dp/bitsum/coins.go", "float64(n)*m.Lie) * scale", "float64(n)) * scale"}},
	{"A bit sum", "TestCoinsCounts", edit{"internal/dp/bitsum/coins.go", "if bit != rng", "if !bit != rng"}},
	{"An event", "TestUniformByEnumeration", edit{"internal/account/additive/uniform.go", "alone, o.Step)", "alone/2, o.Step)"}},
	{"An event", "missing method Spread", edit{"internal/account/additive/uniform.go", ") Spread() float64", ") Spreads() float64"}},
	{"A kind of question", "TestHandsGoTheWholeWay", edit{"question/hands/hands.go", "q.bit.Event(honest)", "q.bit.Event(honest / 2)"}},
	{"A kind of question", "TestHandsGoTheWholeWay", edit{"question/hands/hands.go", "up.(bool), func", "!up.(bool), func"}},
	{"A feature map", "TestGoldenLengths", edit{"internal/dp/encode/lengths/lengths.go", "len([]rune(word))", "len(word)"}},
	{"A kernel", "TestEveryKernelEstimatesItsSimilarity", edit{"internal/dp/encode/kernelmap/cauchy.go", "math.Sqrt(-math.Log1p(-scales.uniform()))", "-math.Log1p(-scales.uniform())"}},
	{"A kernel", "TestEveryKernelEstimatesItsSimilarity", edit{"internal/dp/encode/kernelmap/cauchy.go", "1 / (1 + t*t)", "1 / (1 + t)"}},
	{"A kernel", "TestSensitivityHolds", edit{"internal/dp/encode/kernelmap/dense.go", "moves: Sensitivity{Coordinates: n, Gap: 1, SumSquares: float64(n)}", "moves: Sensitivity{Coordinates: n, Gap: 1, SumSquares: float64(n) / 9}"}},
	{"An encoder", "TestGoldenCells", edit{"internal/dp/encode/signs.go", "case x < 0:", "case x <= 0:"}},
}

// all returns the edits of all steps but one; -1: of all.
func (r recipe) all(but int) (edits []edit) {
	for i, s := range r.steps {
		if i != but {
			edits = append(edits, s.edits...)
		}
	}
	return edits
}

// A toy that follows a recipe passes the recipe's tests. One that forgets a step does not, and the
// output names what the step says of it.
func TestRecipes(t *testing.T) {
	var recipes []recipe
	for _, page := range []string{"recipes.md", "recipes-questions.md"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		of, err := parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		recipes = append(recipes, of...)
	}
	if len(recipes) != 7 {
		t.Errorf("%d recipes", len(recipes))
	}
	w := grow(t)
	for _, r := range recipes {
		t.Run(r.name, func(t *testing.T) {
			if err := w.write(r.all(-1)); err != nil {
				t.Fatal(err)
			}
			if out, err := w.run(r.tests); err != nil {
				t.Fatalf("with all steps: %v\n%s", err, out)
			}
			if testing.Short() {
				t.Skip("each step is left out where the test is not short")
			}
			for i, s := range r.steps {
				if len(s.edits) == 0 {
					continue
				}
				if s.finds == "" {
					t.Errorf("%s: it is not said what finds that it is forgotten", s.name)
					continue
				}
				if err := w.write(r.all(i)); err != nil {
					t.Errorf("without %q: %v", s.name, err)
					continue
				}
				if out, err := w.sparing(w.only(r.tests, s.finds)); err == nil || !strings.Contains(out, s.finds) {
					t.Errorf("without %q: %v, and not by %s:\n%.3000s", s.name, err, s.finds, out)
				}
			}
			for _, b := range broken {
				if b.recipe != r.name {
					continue
				}
				if err := w.write(append(r.all(-1), b.edit)); err != nil {
					t.Error(err)
					continue
				}
				if out, err := w.sparing(w.only(r.tests, b.finds)); err == nil || !strings.Contains(out, b.finds) {
					t.Errorf("%s in the place of %s: %v, and not by %s:\n%.3000s", b.new, b.old, err, b.finds, out)
				}
			}
		})
	}
}

// A page is read as it stands.
func TestParse(t *testing.T) {
	page := strings.Join([]string{
		"# Recipes", "", "## A thing", "", "### Its file", "", "Say it. Forgotten: `undefined: x`.", "", "```go a/b.go", "package a", "```", "",
		"### Its name", "", "```diff c.go", " kept", "-old", "+new", "+more", "```", "", "### Tests", "", "```sh", "go test ./a", "```", "", "## Words", "", "### None", "",
	}, "\n")
	all, err := parse(page)
	if err != nil || len(all) != 1 || all[0].name != "A thing" || len(all[0].steps) != 3 || !slices.Equal(all[0].tests, []string{"go test ./a"}) {
		t.Fatalf("%+v, %v", all, err)
	}
	first, second := all[0].steps[0], all[0].steps[1]
	if first.finds != "undefined: x" || !slices.Equal(first.edits, []edit{{"a/b.go", "", "package a\n"}}) || !slices.Equal(second.edits, []edit{{"c.go", "kept\nold\n", "kept\nnew\nmore\n"}}) {
		t.Errorf("%+v", all[0].steps)
	}
	if !slices.Equal(all[0].all(0), second.edits) {
		t.Errorf("without the first step: %+v", all[0].all(0))
	}
}
