package plan

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/sanitize"
)

// escapeTOML writes the characters of TOML's strings that do not show, such as those that
// turn text round, as TOML's escapes: what is shown to somebody is then what it says,
// and what is read of it is the same. A literal string, which has no escapes, becomes
// one that has. The text is the encoder's: it has no string of several lines.
func escapeTOML(text []byte) []byte {
	var b bytes.Buffer
	for len(text) > 0 {
		quote := text[0]
		end := 1
		switch quote {
		case '"', '\'':
			for ; end < len(text) && text[end] != quote; end++ {
				if quote == '"' && text[end] == '\\' {
					end++
				}
			}
			end = min(end+1, len(text))
			if bytes.ContainsFunc(text[:end], sanitize.Hidden) {
				insideTOML(&b, text[1:end-1], quote == '\'')
				break
			}
			b.Write(text[:end])
		default:
			b.WriteByte(quote)
		}
		text = text[end:]
	}
	return b.Bytes()
}

// insideTOML writes a string with its hidden characters escaped.
func insideTOML(b *bytes.Buffer, text []byte, literal bool) {
	b.WriteByte('"')
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case sanitize.Hidden(r) && r > 0xffff:
			fmt.Fprintf(b, `\U%08X`, r)
		case sanitize.Hidden(r):
			fmt.Fprintf(b, `\u%04X`, r)
		case literal && (r == '"' || r == '\\'):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.Write(text[:size])
		}
		text = text[size:]
	}
	b.WriteByte('"')
}
