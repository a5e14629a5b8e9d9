// Package strictjson reads JSON that somebody else wrote: one document, all of whose members are known. Used by
// account, client, internal and cmd/internal/card.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// JSON reads the one document that text is into what into points to. A member that into does
// not have is an error, and so is anything but white space after the document. An error may
// quote text.
func JSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Told(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON document")
	}
	return nil
}

// Told says what is wrong with a text where Go's own error speaks of its reader or of its layout of
// a time; every other error stays as it is.
func Told(err error) error {
	syntax, broken := errors.AsType[*json.SyntaxError](err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || broken && strings.HasPrefix(syntax.Error(), "unexpected end") {
		return errors.New("the text ends before the JSON document in it does: it is empty, or was cut off")
	}
	if t, ok := errors.AsType[*time.ParseError](err); ok {
		return fmt.Errorf("%q is no time: one reads 2027-01-31T18:00:00Z, with a Z for UTC or an offset such as +01:00", strings.Trim(t.Value, `"`))
	}
	return err
}
