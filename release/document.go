package release

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Document is a page of results that is no release: nobody was asked, so that
// there is no plan and nobody to protect. An experiment is written up as one.
type Document struct {
	Title      string
	Text       string // what was measured, in a sentence or two
	Created    time.Time
	Sections   []Section
	Provenance Provenance
}

// Validate refuses what a release's sections may not hold, and a document
// without a title.
func (d Document) Validate() error {
	v := validator{worded: true, named: true}
	v.finite(reflect.ValueOf(d), "")
	v.require(strings.TrimSpace(d.Title) != "", "title", "is empty")
	v.sections(d.Sections, "sections")
	return errors.Join(v.problems...)
}

func (v *validator) sections(sections []Section, part string) {
	for i, s := range sections {
		path := fmt.Sprintf("%s[%d]", part, i)
		v.require(!v.worded || s.Title != "", path+".title", "is empty")
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
