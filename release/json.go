package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
)

// Schema is the version of the JSON form. It grows when a key changes meaning or
// goes away; a reader refuses any version but its own.
const Schema = 1

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
	if err := strict(data, &d); err != nil {
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

func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the end of the document")
	}
	return nil
}

// JSON has no infinity, but an observer with no noise between him and the data has
// an infinite epsilon, and the release must say so.
const infinity = `"infinity"`

type extended float64

func (x extended) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 1) {
		return []byte(infinity), nil
	}
	return json.Marshal(float64(x))
}

func (x *extended) UnmarshalJSON(data []byte) error {
	if string(data) == infinity {
		*x = extended(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}

type statement struct {
	Observer  string `json:"observer"`
	Who       string `json:"who"`
	Guarantee struct {
		Epsilon           *extended `json:"epsilon"`
		Delta             *float64  `json:"delta"`
		account.Guarantee           // the other fields, under their own keys
	} `json:"guarantee"`
	Note string `json:"note,omitempty"`
}

// MarshalJSON writes an infinite epsilon as the string "infinity".
func (g GuaranteeStatement) MarshalJSON() ([]byte, error) {
	s := statement{Observer: g.Observer, Who: g.Who, Note: g.Note}
	s.Guarantee.Guarantee = g.Guarantee
	s.Guarantee.Epsilon = (*extended)(&g.Guarantee.Epsilon)
	s.Guarantee.Delta = &g.Guarantee.Delta
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote; unknown keys are errors.
func (g *GuaranteeStatement) UnmarshalJSON(data []byte) error {
	var s statement
	if err := strict(data, &s); err != nil {
		return err
	}
	if s.Guarantee.Epsilon == nil || s.Guarantee.Delta == nil {
		return errors.New("a guarantee lacks its epsilon or its delta")
	}
	*g = GuaranteeStatement{s.Observer, s.Who, s.Guarantee.Guarantee, s.Note}
	g.Guarantee.Epsilon = float64(*s.Guarantee.Epsilon)
	g.Guarantee.Delta = *s.Guarantee.Delta
	return nil
}
