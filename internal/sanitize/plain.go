// Package sanitize writes out characters in words of others that command a terminal, hide text or turn it round.
// Used by client/metrics, cmd/internal, cmd/confetti/internal and internal/service, wherever they show a title, a
// problem or a status.
package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns one line of words: every control character, line ends and tabs included,
// and every character that changes the direction of text or cannot be seen is
// written as an escape of Go, such as \x1b or \u202e.
func Text(s string) string { return escaped(s, "") }

// Lines is text of several lines. Those after the first are indented, so that none
// can be taken for one of the program's own.
func Lines(s string) string {
	return strings.ReplaceAll(escaped(s, "\n"), "\n", "\n  ")
}

// Page returns a whole text of the program's own, of which parts came from elsewhere: its
// lines and tabs stay.
func Page(s string) string { return escaped(s, "\n\t") }

// Cells returns a row of a table, with tabs between its cells.
func Cells(row []string) string {
	all := make([]string, len(row))
	for i, cell := range row {
		all[i] = Text(cell)
	}
	return strings.Join(all, "\t")
}

// escaped writes out what does not show, but for the characters that stay.
func escaped(s, stay string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || Hidden(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1: // no UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !Hidden(r) || strings.ContainsRune(stay, r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// Hidden says which characters do not show as themselves: controls, those that
// turn text round or end a line, and invisible ones of which words have no need.
// Joiners are part of how some languages are written, and stay.
func Hidden(r rune) bool {
	return r < ' ' || r > '~' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' ||
		unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d')
}
