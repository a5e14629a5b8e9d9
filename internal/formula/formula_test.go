package formula

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCellsRunNothing(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"tea":                   "tea",
		"=1+1":                  "'=1+1",
		"@SUM(1)":               "'@SUM(1)",
		"+cmd":                  "'+cmd",
		"-2+3":                  "'-2+3",
		"\t=1":                  "'\t=1",
		"\r=1":                  "'\r=1",
		"＝1":                    "'＝1",
		"-5":                    "-5",
		"-0.25":                 "-0.25",
		"+1e-7":                 "+1e-7",
		"-5 to -3":              "'-5 to -3",
		"-Inf":                  "'-Inf",
		"-0x1p-2":               "'-0x1p-2",
		"'=1":                   "''=1",
		"'-5":                   "''-5",
		"o'clock":               "o'clock",
		"'tis":                  "'tis",
		`=HYPERLINK("x","tea")`: `'=HYPERLINK("x","tea")`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("Quote(%q) = %q, want %q", text, got, want)
		}
		if got := Unquote(Quote(text)); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
}

// Every text comes back, no two make one cell, and no cell begins as a formula but a number.
func TestEveryTextComesBack(t *testing.T) {
	draw := rapid.StringMatching(`'{0,3}[=+\-@＝\t\r\n0-9a.e]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		text := draw.Draw(t, "text")
		cell := Quote(text)
		if got := Unquote(cell); got != text {
			t.Fatalf("%q made %q and came back as %q", text, cell, got)
		}
		if cell != "" && strings.ContainsRune(begins, []rune(cell)[0]) && !number.MatchString(cell) {
			t.Fatalf("%q made %q, which a spreadsheet runs", text, cell)
		}
	})
}

// An apostrophe that is put before formulas alone does not come back: the tests see it.
func TestAPlainApostropheDoesNotComeBack(t *testing.T) {
	naive := func(text string) string {
		if runs(text) {
			return "'" + text
		}
		return text
	}
	if Unquote(naive("'=1")) == "'=1" {
		t.Error("a text that begins with an apostrophe comes back from a writer that does not see it")
	}
	if number.MatchString(naive("-5")) {
		t.Error("a negative number stays one in a writer that does not see it")
	}
}
