package console

import (
	"fmt"
	"html/template"
	"strings"

	"rsc.io/qr"
)

// picture returns a QR code, for a page and for a terminal.
func picture(text string) (*qr.Code, error) { return qr.Encode(text, qr.M) }

// Drawn returns the address as a QR code of half blocks, for a dark or a light terminal.
func (r *Poll) Drawn() (string, error) {
	code, err := picture(r.Address)
	if err != nil {
		return "", fmt.Errorf("console: %w", err)
	}
	var b strings.Builder
	const margin = 2
	black := func(x, y int) bool { return x >= 0 && y >= 0 && x < code.Size && y < code.Size && code.Black(x, y) }
	for y := -margin; y < code.Size+margin; y += 2 {
		b.WriteString("  \x1b[30;107m") // black on white, whatever the terminal's own colours
		for x := -margin; x < code.Size+margin; x++ {
			switch top, bottom := black(x, y), black(x, y+1); {
			case top && bottom:
				b.WriteRune('█')
			case top:
				b.WriteRune('▀')
			case bottom:
				b.WriteRune('▄')
			default:
				b.WriteRune(' ')
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), nil
}

// svg returns the code as one path.
func svg(code *qr.Code) template.HTML {
	var b strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+4, y+4)
			}
		}
	}
	size := code.Size + 8
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="QR code of the address below"><rect class="ground" width="%d" height="%d"/><path class="ink" d="%s"/></svg>`, size, size, size, size, b.String()))
}
