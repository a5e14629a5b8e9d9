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
		if got := bar(c.x, c.longest); got != c.want {
			t.Errorf("bar(%v, %v) = %q, want %q", c.x, c.longest, got, c.want)
		}
	}
}
