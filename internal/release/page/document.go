package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/release"
)

//go:embed document.html
var documentHTML string

// The pieces are those of a release's page.
var documentPage = template.Must(template.Must(releasePage.Clone()).New("document").Parse(documentHTML))

// WriteDocument writes the document as one page that needs nothing else. It
// refuses one that does not pass Validate.
func WriteDocument(w io.Writer, d release.Document) error {
	if err := d.Validate(); err != nil {
		return err
	}
	var b bytes.Buffer // the template writes in small pieces, and half a page is worse than none
	if err := documentPage.Execute(&b, d); err != nil {
		return fmt.Errorf("writing the document as a page: %w", err)
	}
	_, err := io.WriteString(w, sanitize.Page(b.String()))
	return err
}
