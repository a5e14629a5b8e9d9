package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/confetti-dp/confetti/internal/strict"
)

// JSONFile and PageFile are the names of a release's files.
const (
	JSONFile = "release.json"
	PageFile = "release.html"
)

// Schema is the version of the JSON form. It grows when a key changes meaning or
// goes away; a reader refuses any version but its own.
const Schema = 2

// What a page of a release has for whoever verifies it: the text before and behind the program
// that drew it, in its first line, and the name of the metadata that has the SHA-256 of the JSON.
const (
	PageBegins = "<!-- drawn by "
	PageBegan  = " -->"
	DigestName = "confetti-release-sha256"
)

// maxJSON bounds what Read will take into memory; a release of a thousand classes is a few MB.
const maxJSON = 64 << 20

// document is the form on disk. Keys whose absence would read as the better claim
// (data of people, epsilon 0) shadow the plain ones as pointers, so that it shows.
type document struct {
	Schema    int   `json:"schema"`
	Synthetic *bool `json:"synthetic"`
	Release
}

// WriteJSON writes the release, indented, with stable keys. It refuses one that
// does not pass Validate.
func (r Release) WriteJSON(w io.Writer) error {
	if err := r.Validate(); err != nil {
		return err
	}
	r.Created = r.Created.UTC()
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(document{Schema, &r.Synthetic, r}); err != nil {
		return fmt.Errorf("writing the release as JSON: %w", err)
	}
	return nil
}

// Read reads what WriteJSON wrote. Unknown keys, another schema, text after the
// document and releases that do not pass Validate are errors.
func Read(r io.Reader) (Release, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	if len(data) > maxJSON {
		return Release{}, fmt.Errorf("reading the release: larger than %d MB, so it is not one of ours", maxJSON>>20)
	}
	// The version comes first, so that a newer file is called newer and not malformed.
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Release{}, fmt.Errorf("reading the release: not a JSON release: %w", err)
	}
	if version.Schema != Schema {
		return Release{}, fmt.Errorf("reading the release: schema %d, but this version reads schema %d: use the confetti that wrote it", version.Schema, Schema)
	}
	var d document
	if err := strict.JSON(data, &d); err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	if d.Synthetic == nil {
		return Release{}, errors.New("reading the release: it does not say whether it is synthetic")
	}
	d.Release.Synthetic = *d.Synthetic
	if err := d.Release.Validate(); err != nil {
		return Release{}, fmt.Errorf("reading the release: %w", err)
	}
	return d.Release, nil
}
