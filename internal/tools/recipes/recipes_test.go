// Package recipes follows docs/recipes.md and docs/recipes-questions.md: each recipe's toy, and each recipe with one step left out.
package recipes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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

// tree is a copy of the module in which a recipe is followed.
type tree struct {
	from, dir string
	changed   map[string]bool // files that are not as they were
}

// grow links all files of the module into an empty folder, but for what no Go program is made of.
func grow(t *testing.T) *tree {
	t.Helper()
	from, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	w := &tree{from, t.TempDir(), map[string]bool{}}
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(w.dir, name)
		switch {
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "lab", "deploy", "out"}, d.Name())):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		if os.Link(path, to) == nil {
			return nil
		}
		text, err := os.ReadFile(path) // the copy is on another disk
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// write makes the tree what these edits make of the module.
func (w *tree) write(edits []edit) error {
	texts := map[string]string{}
	for _, e := range edits {
		text, seen := texts[e.file]
		if !seen {
			was, err := os.ReadFile(filepath.Join(w.from, e.file))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			text = string(was)
		}
		switch {
		case e.old == "" && text != "":
			return fmt.Errorf("%s is there already", e.file)
		case e.old == "":
			text = e.new
		case strings.Count(text, e.old) != 1:
			return fmt.Errorf("%s has %d times, and not once:\n%s", e.file, strings.Count(text, e.old), e.old)
		default:
			text = strings.Replace(text, e.old, e.new, 1)
		}
		texts[e.file] = text
	}
	for file := range w.changed {
		if _, again := texts[file]; again {
			continue
		}
		if err := os.Remove(filepath.Join(w.dir, file)); err != nil {
			return err
		}
		if text, err := os.ReadFile(filepath.Join(w.from, file)); err == nil {
			if err := os.WriteFile(filepath.Join(w.dir, file), text, 0o644); err != nil {
				return err
			}
		}
		delete(w.changed, file)
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		to := filepath.Join(w.dir, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // a link is the module's own file
			return err
		}
		if err := os.WriteFile(to, []byte(texts[file]), 0o644); err != nil {
			return err
		}
		w.changed[file] = true
	}
	return nil
}

// run types commands in the tree until one fails.
func (w *tree) run(commands []string) (output string, err error) {
	for _, c := range commands {
		cmd := exec.Command("sh", "-c", strings.Replace(c, "go test ", "go test -trimpath -ldflags=-w -vet=off ", 1))
		cmd.Dir = w.dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		text, err := cmd.CombinedOutput()
		output += string(text)
		if err != nil {
			return output, err
		}
	}
	return output, nil
}

// named matches what finds that a step was forgotten where it is one test.
var named = regexp.MustCompile(`^Test\w+$`)

// folder matches a package that a command tests.
var folder = regexp.MustCompile(`\./[\w/]+`)

// only returns the commands with that test alone, if it is one, of those whose packages have it now. What has it nowhere
// is looked for everywhere.
func (w *tree) only(commands []string, test string) (narrow []string) {
	if !named.MatchString(test) {
		return commands
	}
	var all []string
	for _, c := range commands {
		c, _, _ = strings.Cut(c, " -run ")
		one := c + " -run '^" + test + "$'"
		all = append(all, one)
		if slices.ContainsFunc(folder.FindAllString(c, -1), func(dir string) bool { return w.has(dir, "func "+test+"(") }) {
			narrow = append(narrow, one)
		}
	}
	if len(narrow) == 0 {
		return all
	}
	return narrow
}

// has reports whether a test of a package has a text.
func (w *tree) has(dir, text string) bool {
	files, _ := filepath.Glob(filepath.Join(w.dir, dir, "*_test.go"))
	return slices.ContainsFunc(files, func(name string) bool {
		has, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(has), text)
	})
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
				if out, err := w.run(w.only(r.tests, s.finds)); err == nil || !strings.Contains(out, s.finds) {
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
				if out, err := w.run(w.only(r.tests, b.finds)); err == nil || !strings.Contains(out, b.finds) {
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

// What is written in the copy is not written in the module, and is gone after.
func TestTheTreeIsACopy(t *testing.T) {
	w := grow(t)
	before, err := os.ReadFile("../../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.write([]edit{{"doc.go", "package confetti\n", "package other\n"}, {"new.go", "", "package confetti\n"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "doc.go"))
	if err != nil || !bytes.HasSuffix(text, []byte("package other\n")) {
		t.Errorf("%q, %v", text, err)
	}
	if after, err := os.ReadFile("../../../doc.go"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the module's own file is changed: %v", err)
	}
	if err := w.write(nil); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(w.dir, "doc.go"))
	if _, gone := os.Stat(filepath.Join(w.dir, "new.go")); err != nil || !bytes.Equal(again, before) || gone == nil {
		t.Errorf("%q, %v, %v", again, err, gone)
	}
	if w.write([]edit{{"doc.go", "", "package other\n"}}) == nil || w.write([]edit{{"doc.go", "nowhere\n", ""}}) == nil {
		t.Error("an edit that fits nothing passes")
	}
}
