// Package crosscheck holds golden vectors to a second origin: a program in another language that was written from
// the documents. Used by tests of envelope, internal/dp/encode and internal/token.
package crosscheck

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// Check has a Python script compute the vectors of files anew. A copy of a file in which
// the digit is another that digit's last group matches first must be caught. There is no
// check where there is no Python; the variable PYTHON names one.
func Check(t *testing.T, script string, digit *regexp.Regexp, files ...string) {
	t.Helper()
	python, err := exec.LookPath(cmp.Or(os.Getenv("PYTHON"), "python3"))
	if err != nil {
		t.Skip("there is no Python here: set PYTHON to one")
	}
	run := func(files ...string) ([]byte, error) {
		return exec.Command(python, append([]string{script}, files...)...).CombinedOutput()
	}
	if out, err := run(files...); err != nil {
		t.Errorf("%v:\n%.2000s", err, out)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		groups := digit.FindSubmatchIndex(text)
		if groups == nil {
			t.Fatalf("%s has no such digit", file)
		}
		at := groups[len(groups)-2]
		twin := bytes.Clone(text)
		twin[at] = '0' + (twin[at]-'0'+1)%10
		changed := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(changed, twin, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := run(changed); err == nil {
			t.Errorf("a digit of %s was changed, and nobody noticed: %s", file, out)
		}
	}
}

// Read takes the vectors of a file that such a program wrote.
func Read[V any](t *testing.T, file string) (v V) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Golden holds got to the golden file, read into want; or writes the file, and
// returns false, when asked to.
func Golden[T any](t *testing.T, update bool, file string, want *T, got T, tolerance float64) bool {
	t.Helper()
	if update {
		b, err := json.MarshalIndent(got, "", " ")
		if err == nil {
			err = os.WriteFile(file, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, want); err != nil {
		t.Fatal(err)
	}
	near := gocmp.Options{
		gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= tolerance }),
		gocmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) <= tolerance }),
	}
	if diff := gocmp.Diff(*want, got, near); diff != "" {
		t.Errorf("this differs from the vectors (-want +got):\n%s", diff)
	}
	return true
}
