package datasets

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/dataset"
)

const (
	maxWordLines = 1 << 24
	maxWordCount = 1 << 38 // the sum of that many lines stays within an int
)

// ReadWordCounts reads a gzipped table of words as a population: a line each, of
// fields set apart by tabs, of which the first is the word and the last how many
// respondents have it.
func ReadWordCounts(path string) (*dataset.Population, error) {
	return gunzip(path, decodeWordCounts)
}

// gunzip decodes a gzipped file.
func gunzip[T any](path string, decode func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return v, fmt.Errorf("%s is not gzipped: %w", path, err)
	}
	if v, err = decode(z); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

func decodeWordCounts(r io.Reader) (*dataset.Population, error) {
	p := &dataset.Population{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		count, err := strconv.Atoi(fields[len(fields)-1])
		if len(fields) < 2 || err != nil || count < 0 || count > maxWordCount {
			return nil, fmt.Errorf("line %d is not a word, a tab and a number from 0 to %d", len(p.Names)+1, maxWordCount)
		}
		if len(p.Names) == maxWordLines {
			return nil, fmt.Errorf("more than %d lines: use fewer words", maxWordLines)
		}
		p.Names, p.Holders = append(p.Names, fields[0]), append(p.Holders, count)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if p.Respondents() == 0 {
		return nil, fmt.Errorf("nobody has a word in it")
	}
	return p, nil
}
