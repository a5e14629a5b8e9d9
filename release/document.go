package release

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strings"
	"time"
)

//go:embed document.html
var documentHTML string

// The pieces are those of a release's page.
var documentPage = template.Must(template.Must(page.Clone()).New("document").Parse(documentHTML))

// Document is a page of results that is no release: nobody was asked, so that
// there is no plan and nobody to protect. An experiment is written up as one.
type Document struct {
	Title      string     `json:"title"`
	Text       string     `json:"text,omitempty"` // what was measured, in a sentence or two
	Created    time.Time  `json:"created"`
	Sections   []Section  `json:"sections"`
	Provenance Provenance `json:"provenance"`
}

// WriteHTML writes the document as one page that needs nothing else. It refuses
// what a release's sections may not hold.
func (d Document) WriteHTML(w io.Writer) error {
	var v validator
	v.finite(reflect.ValueOf(d), "")
	v.require(strings.TrimSpace(d.Title) != "", "title", "is empty")
	v.sections(d.Sections)
	if err := errors.Join(v.problems...); err != nil {
		return err
	}
	var b bytes.Buffer // the template writes in small pieces, and half a page is worse than none
	if err := documentPage.Execute(&b, d); err != nil {
		return fmt.Errorf("writing the document as a page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (v *validator) sections(sections []Section) {
	for i, s := range sections {
		path := fmt.Sprintf("sections[%d]", i)
		v.require(s.Title != "", path+".title", "is empty")
		v.metrics(s.Metrics, path+".metrics")
		for j, t := range s.Tables {
			v.table(t, fmt.Sprintf("%s.tables[%d]", path, j))
		}
		for j, l := range s.Lists {
			v.list(l, fmt.Sprintf("%s.lists[%d]", path, j))
		}
		for j, f := range s.Figures {
			v.figure(f, fmt.Sprintf("%s.figures[%d]", path, j))
		}
	}
}
