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

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

// Page writes a spec's cells into the folder: NAME.json, NAME.html and every
// figure as SVG and PNG, and what became of pictures as PNG. Provenance says by which command; its randomness is filled in.
func (s Spec) Page(dir string, cells []Measured, by release.Provenance) error {
	if len(cells) > 0 {
		by.Randomness = fmt.Sprintf("simulated from seed %d", cells[0].Cell.Seed)
	}
	doc := release.Document{
		Title: s.Title, Text: s.Paper, Created: time.Now().UTC(), Sections: s.sections(s, cells), Provenance: by,
	}
	var err error
	write := func(name string, render func(io.Writer) error) {
		if err == nil {
			err = writeWhole(filepath.Join(dir, name), render)
		}
	}
	for _, sec := range doc.Sections {
		for _, f := range sec.Figures {
			write(f.Name+".svg", func(w io.Writer) error { return page.WriteSVG(w, f) })
			write(f.Name+".png", func(w io.Writer) error { return page.WritePNG(w, f) })
		}
	}
	if s.populations && err == nil {
		var sheets map[string]picture
		sheets, err = s.sheets(dir, cells)
		for _, name := range slices.Sorted(maps.Keys(sheets)) {
			write(name, sheets[name].write)
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

// writeWhole writes a file completely or not at all, over an earlier one.
func writeWhole(path string, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	return durable.Replace(path, b.Bytes(), 0o644)
}
