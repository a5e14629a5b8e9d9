package textpage

import (
	"bytes"
	"encoding/gob"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/confetti-dp/confetti/release"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew")

// sample is the golden release of package release, with all its words.
func sample(t testing.TB) release.Release {
	t.Helper()
	f, err := os.Open("../../../release/testdata/worded.gob")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r release.Release
	if err := gob.NewDecoder(f).Decode(&r); err != nil {
		t.Fatal(err)
	}
	r.Guarantees[0].Guarantee.Epsilon = 1129.4
	return r
}

func TestShow(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample(t)); err != nil {
		t.Fatal(err)
	}
	const name = "testdata/release.txt"
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", name, d)
	}
	if strings.ContainsFunc(b.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		t.Error("there are control codes in what should be plain text")
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if line != strings.TrimRightFunc(line, unicode.IsSpace) {
			t.Errorf("trailing blanks: %q", line)
		}
	}
}

func TestShowRefuses(t *testing.T) {
	if err := Write(&bytes.Buffer{}, release.Release{}); err == nil {
		t.Error("an empty release was shown")
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		x, longest float64
		want       string
	}{{1, 1, strings.Repeat("█", 16)}, {0.5, 1, strings.Repeat("█", 8)}, {1.0 / 128, 1, "▏"}, {15.0 / 128, 1, "█▉"}, {-1, 1, ""}, {0, 0, ""}, {1e300, 1e300, strings.Repeat("█", 16)}} {
		if got := bar(c.x, c.longest, 16); got != c.want {
			t.Errorf("bar(%v, %v) = %q, want %q", c.x, c.longest, got, c.want)
		}
	}
}

func TestWhisker(t *testing.T) {
	for _, c := range []struct {
		low, x, high, longest float64
		want                  string
	}{
		{10, 12, 15, 23, strings.Repeat("█", 10) + "├─┼──┤"},
		{0, 1, 2, 23, "├┼┤"},
		{-3, -1, 2, 23, "┼─┤"},
		{22, 23, 23, 23, strings.Repeat("█", 22) + "├┼"},
		{4.2, 4.3, 4.4, 23, bar(4.3, 23, 24)},
		{-2, -1, 0, 23, ""},
		{0, -5, 2, 23, "┼─┤"},
		{3, 9, 5, 23, "███├─┼"},
		{0, 0, 0, 0, ""},
	} {
		if got := whisker(c.low, c.x, c.high, c.longest); got != c.want {
			t.Errorf("whisker(%v, %v, %v, %v) = %q, want %q", c.low, c.x, c.high, c.longest, got, c.want)
		}
	}
}

func TestHeatInText(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		values  []float64
		want    string
	}{
		{"cells of two characters", 3, []float64{0, 1, 2, 3, 4, -5}, "    ▓▓██\n      ░░▒▒\n"},
		{"nothing above zero", 2, []float64{-1, 0}, "\n"},
		{"wide", 40, append(make([]float64, 39), 8), "    " + strings.Repeat(" ", 39) + "█\n"},
	} {
		var p printer
		p.heat(release.Grid{Columns: c.columns, Right: 1, Top: 1, Values: c.values})
		if p.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, p.String(), c.want)
		}
	}
	var p printer
	p.heat(release.Grid{Columns: 1000, Right: 1, Top: 1, Values: make([]float64, 1000*1000)})
	if lines := strings.Count(p.String(), "\n"); lines > 32 {
		t.Errorf("a large grid takes %d lines", lines)
	}
}

// Words that nobody has written are missed, and not shown as none.
func TestWordlessIsNotShown(t *testing.T) {
	var stored bytes.Buffer
	if err := sample(t).WriteJSON(&stored); err != nil {
		t.Fatal(err)
	}
	r, err := release.Read(&stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(&bytes.Buffer{}, r); err == nil || !strings.Contains(err.Error(), "title is empty: words follow from the plan") {
		t.Error(err)
	}
}
