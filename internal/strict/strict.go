// Package strict reads JSON that somebody else wrote: one document, all of whose members
// are known.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// JSON reads the one document that text is into what into points to. A member that into does
// not have is an error, and so is anything but white space after the document. An error may
// quote text.
func JSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON document")
	}
	return nil
}
