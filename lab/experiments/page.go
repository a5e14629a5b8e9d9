package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/release"
)

// Page writes a spec's cells into the folder: NAME.json, NAME.html and every
// figure as SVG and PNG, and what became of pictures as PNG. Provenance says by which command; its randomness is filled in.
func (s Spec) Page(dir string, cells []Measured, by release.Provenance) error {
	if len(cells) > 0 {
		by.Randomness = fmt.Sprintf("simulated from seed %d", cells[0].Cell.Seed)
	}
	doc := release.Document{
		Title: s.Title, Text: s.Paper, Created: time.Now().UTC(), Sections: s.Sections(s, cells), Provenance: by,
	}
	var err error
	write := func(name string, render func(io.Writer) error) {
		if err == nil {
			err = WriteWhole(filepath.Join(dir, name), render)
		}
	}
	for _, sec := range doc.Sections {
		for _, f := range sec.Figures {
			write(f.Name+".svg", func(w io.Writer) error { return page.WriteSVG(w, f) })
			write(f.Name+".png", func(w io.Writer) error { return page.WritePNG(w, f) })
		}
	}
	if s.Kind.Pictures != nil && err == nil {
		var pictures map[string]Picture
		pictures, err = s.Kind.Pictures(s, dir, cells)
		for _, name := range slices.Sorted(maps.Keys(pictures)) {
			write(name, pictures[name].Write)
		}
	}
	write(s.Name+".html", func(w io.Writer) error { return page.WriteDocument(w, doc) })
	write(s.Name+".json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Name  string     `json:"name"`
			Title string     `json:"title"`
			Cells []Measured `json:"cells"`
			release.Provenance
		}{s.Name, s.Title, cells, doc.Provenance})
	})
	return err
}

// Picture is a file that is no figure.
type Picture interface{ Write(w io.Writer) error }

// WriteWhole writes a file completely or not at all, over an earlier one.
func WriteWhole(path string, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	return atomicfile.Replace(path, b.Bytes(), 0o644)
}
