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
		if err := os.Remove(filepath.Join(w.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was set aside
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

// chosen matches which tests of its packages a command runs.
var chosen = regexp.MustCompile(` -run '?([^' ]+)`)

// outside matches the clause of a test that stands outside its package, and declared the tests of a file.
var (
	outside  = regexp.MustCompile(`(?m)^package \w+_test$`)
	declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// spare takes the files of tests out of the tree that stand outside a package, where the command runs none of them and the
// package has none there that prepares the others: what is compiled for them alone, most of the module, is not compiled.
// The tests inside cannot name anything of theirs.
func (w *tree) spare(command string) error {
	m := chosen.FindStringSubmatch(command)
	if m == nil {
		return nil
	}
	runs, err := regexp.Compile(m[1])
	if err != nil {
		return err
	}
	for _, dir := range folder.FindAllString(command, -1) {
		files, err := filepath.Glob(filepath.Join(w.dir, dir, "*_test.go"))
		if err != nil {
			return err
		}
		var apart []string
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if !outside.Match(text) {
				continue
			}
			if slices.ContainsFunc(declared.FindAllSubmatch(text, -1), func(name [][]byte) bool { return string(name[1]) == "TestMain" || runs.Match(name[1]) }) {
				apart = nil
				break
			}
			apart = append(apart, file)
		}
		for _, file := range apart {
			name, err := filepath.Rel(w.dir, file)
			if err == nil {
				err = os.Remove(file)
			}
			if err != nil {
				return err
			}
			w.changed[name] = true
		}
	}
	return nil
}

// sparing types commands until one fails, each with the tests alone that it runs.
func (w *tree) sparing(commands []string) (output string, err error) {
	for _, c := range commands {
		if err := w.spare(c); err != nil {
			return output, err
		}
		text, err := w.run([]string{c})
		output += text
		if err != nil {
			return output, err
		}
	}
	return output, nil
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
	// Tests outside their package are spared where none of them runs, and are there again after.
	const inside, apart = "question/density/abilities_test.go", "question/density/vectors_test.go"
	for command, want := range map[string]bool{"go test ./question/density -run 'Bitsum'": false, "go test ./question/density -run 'Golden|Bitsum'": true, "go test ./question/density": true} {
		err := w.spare(command)
		_, kept := os.Stat(filepath.Join(w.dir, inside))
		_, gone := os.Stat(filepath.Join(w.dir, apart))
		if err != nil || kept != nil || (gone == nil) != want {
			t.Errorf("%s: %v, %v, %v", command, err, kept, gone)
		}
		if err := w.write(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, apart)); err != nil {
			t.Errorf("%s: what was set aside is not there again: %v", command, err)
		}
	}
	if w.write([]edit{{"doc.go", "", "package other\n"}}) == nil || w.write([]edit{{"doc.go", "nowhere\n", ""}}) == nil {
		t.Error("an edit that fits nothing passes")
	}
}
