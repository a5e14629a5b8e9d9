package experiment

import (
	"bytes"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/esa"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/papers"
)

// A paper that is run with the cells of docs/results gives that page and those cells again, and every file that the page shows.
// KDE is not among them: its cells of Pure that do not exist are tried again, which takes its data sets.
func TestKeptCellsGiveThePage(t *testing.T) {
	const docs = "../../../../docs/results"
	read := func(dir, file string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
		}
		return b
	}
	for _, name := range []string{"esa", "ltn", "ldc"} {
		paper, _ := papers.Named(name)
		c := experimentRun{Name: name, All: true, Resume: true, Seed: 1, Out: t.TempDir()}
		c.Data = t.TempDir() // without a data set, so that nothing can be measured
		if err := atomicfile.Replace(filepath.Join(c.Out, name+".jsonl.gz"), read(docs, name+".jsonl.gz"), 0o644); err != nil {
			t.Fatal(err)
		}
		if name == "esa" {
			drawn(t, c.Out, paper)
		}
		if err := c.Run(terminal.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
			t.Fatal(name, err)
		}
		page := read(docs, name+".md")
		if !bytes.Equal(read(c.Out, name+".md"), page) {
			t.Errorf("%s.md is another page", name)
		}
		kept, err := paper.Kept(docs)
		again, also := paper.Kept(c.Out)
		for _, cells := range []papers.Cells{kept, again} {
			slices.SortFunc(cells, func(a, b experiments.Measured) int { return strings.Compare(a.Cell.Key(), b.Cell.Key()) })
		}
		if err != nil || also != nil || !reflect.DeepEqual(again, kept) {
			t.Errorf("%s: %d cells of %d, or others: %v %v", name, len(again), len(kept), err, also)
		}
		for _, shown := range regexp.MustCompile(`\]\(([\w-]+\.(?:svg|png))\)`).FindAllSubmatch(page, -1) {
			if file := string(shown[1]); file == "ltn-codes-mnist.png" {
				continue // the page names the command that writes it
			} else if got := read(c.Out, file); filepath.Ext(file) == ".svg" && !bytes.Equal(got, read(docs, file)) {
				t.Errorf("%s is another figure", file)
			}
		}
	}
}

// drawn leaves pictures as cells of the map leave them, so that none has to be measured: black ones of a few pixels.
func drawn(t *testing.T, dir string, paper papers.Paper) {
	var black bytes.Buffer
	if err := png.Encode(&black, image.NewGray(image.Rect(0, 0, 6, 4))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, esa.PictureFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	kept, err := paper.Kept(dir)
	names := []string{"truth-map-like"}
	for _, m := range kept {
		names = append(names, m.Cell.Key())
	}
	for _, name := range names {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, esa.PictureFolder, name+".png"), black.Bytes(), 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
