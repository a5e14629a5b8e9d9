package release

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

func TestShow(t *testing.T) {
	var b bytes.Buffer
	if err := Show(&b, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "release.txt", b.Bytes())
	if strings.ContainsFunc(b.String(), commands) {
		t.Error("there are control codes in what should be plain text")
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if line != strings.TrimRightFunc(line, unicode.IsSpace) {
			t.Errorf("trailing blanks: %q", line)
		}
	}
}

func TestShowRefuses(t *testing.T) {
	if err := Show(&bytes.Buffer{}, Release{}); err == nil {
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
		p.heat(Grid{Columns: c.columns, Right: 1, Top: 1, Values: c.values})
		if p.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, p.String(), c.want)
		}
	}
	var p printer
	p.heat(Grid{Columns: 1000, Right: 1, Top: 1, Values: make([]float64, 1000*1000)})
	if lines := strings.Count(p.String(), "\n"); lines > 32 {
		t.Errorf("a large grid takes %d lines", lines)
	}
}

func TestCoarse(t *testing.T) {
	g := Grid{Columns: 3, Right: 3, Top: 2, Values: []float64{1, 2, 3, 4, 5, 6}}
	if got := g.Coarse(3, 2); got.Columns != 3 || len(got.Values) != 6 {
		t.Errorf("what is coarse enough became %+v", got)
	}
	got := g.Coarse(2, 1)
	if got.Columns != 2 || got.Rows() != 1 || got.Values[0] != 3 || got.Values[1] != 4.5 || got.Right != 4 || got.Top != 2 {
		t.Errorf("%+v", got)
	}
}
