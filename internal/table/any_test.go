package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who brings numbers to a range is given any that a file has; a word is still none, and whoever does not is given none.
func TestNumbersThatAreNotFinite(t *testing.T) {
	dir, nan, inf := t.TempDir(), float32(math.NaN()), float32(math.Inf(1))
	type row struct {
		A, B float64
	}
	rows := []row{{math.NaN(), math.Inf(-1)}, {1e300, -3e38}}
	files := map[string][]byte{
		"any.csv": []byte("a,b\nNaN,-Inf\n1e400,-3e38\n"),
		"any.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", []float64{rows[0].A, rows[0].B, rows[1].A, rows[1].B}),
	}
	for name, file := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadRecords(path, Choice{Any: true})
		if err != nil || fmt.Sprint(got.X.Data) != fmt.Sprint([]float32{nan, -inf, inf, -3e38}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if _, err := ReadRecords(path, Choice{}); err == nil || !strings.Contains(err.Error(), "finite") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodeCSV(strings.NewReader("a,b\n1,word\n"), Choice{Any: true}); err == nil || strings.Contains(err.Error(), "word") {
		t.Errorf("a word: %v", err)
	}
}

// A line that has no end takes no memory, zipped or not.
func TestALineWithoutAnEndIsRefused(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("a,b\n1,"), io.LimitReader(zeros{}, 4*maxRow))
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.Copy(w, io.MultiReader(strings.NewReader("a,b\n1,"), io.LimitReader(zeros{}, 4*maxRow))); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]io.Reader{"text": endless, "zipped": &zipped} {
		if _, err := decodeCSV(from, Choice{}); err == nil || !strings.Contains(err.Error(), "a row is longer than") {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := "a,b\n1," + strings.Repeat(" ", maxRow/2) + "2\n"
	if got, err := decodeCSV(strings.NewReader(long+long[4:]), Choice{}); err != nil || got.X.Rows != 2 {
		t.Errorf("two long lines: %v", err)
	}
}

// A quoted cell that goes on over many lines takes no more than a row may have.
func TestAQuotedCellWithoutAnEndIsRefused(t *testing.T) {
	for name, start := range map[string]string{"of two columns": "a,b\n1,\"", "of one": "a\n\"", "of one, after quotes": "a\n\"x\"\n\"\"\"\"\n\"one \"\"two\"\" "} {
		read := &counted{from: io.MultiReader(strings.NewReader(start), io.LimitReader(lines{}, 4*maxRow))}
		in, err := NewCSV(read)
		for err == nil {
			_, _, err = in.Read()
		}
		if !strings.Contains(err.Error(), "a row is longer than") || read.n > 2*maxRow {
			t.Errorf("%s: %v, after %d bytes", name, err, read.n)
		}
	}
	many := "a,b\n" + strings.Repeat("\"x\ny \"\"z\"\"\n\",1\n", maxRow/8)
	in, err := NewCSV(strings.NewReader(many))
	for n := 0; err == nil; n++ {
		if _, _, err = in.Read(); err == io.EOF && n != maxRow/8 {
			t.Errorf("%d rows of %d", n, maxRow/8)
		}
	}
	if err != io.EOF {
		t.Errorf("rows of several lines: %v", err)
	}
}

// counted counts what is read.
type counted struct {
	from io.Reader
	n    int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += n
	return n, err
}

// lines are ends of lines alone.
type lines struct{}

func (lines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
