package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func TestWhatCommandsATerminalIsWrittenOut(t *testing.T) {
	for in, want := range map[string]string{
		"What do people read?": "What do people read?",
		"Qué, что, 何, نمی\u200cخواهم 👩\u200d🔬": "Qué, что, 何, نمی\u200cخواهم 👩\u200d🔬",
		"\x1b]0;owned\x07\x1b[2J":              `\x1b]0;owned\x07\x1b[2J`,
		"\x1b]52;c;eA==\x07":                   `\x1b]52;c;eA==\x07`,
		"a\r\nb\tc":                            `a\x0d\x0ab\x09c`,
		"\u009b31m":                            `\u009b31m`,
		"exe.\u202etxt":                        `exe.\u202etxt`,
		"a\u2066b\u2069":                       `a\u2066b\u2069`,
		"\ufeffa\u2028b\u00adc":                `\ufeffa\u2028b\u00adc`,
		"\U000e0041":                           `\U000e0041`,
		"\xff\xfe":                             `\xff\xfe`,
		"�":                                    "�",
		"":                                     "",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q is shown as %q, not %q", in, got, want)
		}
	}
	if got := Lines("2 problems:\n  - a\x1b\n$ rm\r\n"); got != "2 problems:\n    - a\\x1b\n  $ rm\\x0d\n  " {
		t.Errorf("lines: %q", got)
	}
	if got := Cells([]string{"a\tb", "c"}); got != "a\\x09b\tc" {
		t.Errorf("cells: %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b]0;owned\x07\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		costlimit.Heap(t, costlimit.Factor, len(s), func() {
			one, several := Text(s), Lines(s)
			for _, r := range one + strings.ReplaceAll(several, "\n  ", "") {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
					t.Errorf("%q is left in %q", r, s)
				}
			}
			if !utf8.ValidString(one + several) {
				t.Error("no UTF-8")
			}
		})
	})
}
