package table

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds a text, in bytes.
const maxLine = 1 << 20

// ReadLines reads texts, one a line, from a file that may be gzipped. Empty lines are left
// out.
func ReadLines(path string) ([]string, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := decodeLines(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return lines, nil
}

func decodeLines(r io.Reader) (lines []string, err error) {
	text, err := Text(r)
	if err != nil {
		return nil, err
	}
	in := bufio.NewScanner(text)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		if line := strings.TrimSpace(in.Text()); line != "" {
			lines = append(lines, line)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(lines)+1, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no text in it")
	}
	return lines, nil
}
