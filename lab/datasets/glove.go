package datasets

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
)

// WordVectors are words with a public vector each.
type WordVectors struct {
	Words    []string
	X        blas32.General // a row for each word
	Checksum string         // of the file that they were read from
}

// maxWordDimension is more numbers than any published vectors have.
const maxWordDimension = 1 << 12

// LoadWordVectors reads the vectors of glove in the data folder: a line for each word, its
// numbers behind it with a space before each.
func LoadWordVectors(dir string) (*WordVectors, error) {
	path := filepath.Join(dir, "glove", "glove.twitter.25d.12k.txt.gz")
	w := &WordVectors{}
	err := plainFile(path, w.read)
	if err == nil {
		w.Checksum, err = dataset.Checksum(path)
	}
	if err != nil {
		return nil, fmt.Errorf("word vectors: %w", err)
	}
	return w, nil
}

func (w *WordVectors) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		numbers := strings.Fields(rest)
		if len(w.Words) == 0 {
			w.X.Cols, w.X.Stride = len(numbers), max(1, len(numbers))
		}
		if word == "" || len(numbers) == 0 || len(numbers) > maxWordDimension || len(numbers) != w.X.Cols || len(w.Words) == maxWordLines {
			return fmt.Errorf("line %d is not a word and as many numbers as the first line has, 1 to %d", len(w.Words)+1, maxWordDimension)
		}
		for _, n := range numbers {
			x, err := strconv.ParseFloat(n, 32)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("line %d: %.20q is no number", len(w.Words)+1, n)
			}
			w.X.Data = append(w.X.Data, float32(x))
		}
		w.Words = append(w.Words, word)
	}
	w.X.Rows = len(w.Words)
	if err := lines.Err(); err != nil {
		return err
	}
	if len(w.Words) == 0 {
		return fmt.Errorf("there is no word in it")
	}
	return nil
}
