// Package ohttp carries requests by Oblivious HTTP (RFC 9458): the relay cannot read them, and the gateway does not
// know whose they are. Used by client, which seals, and internal/service/serve, whose edge has the gateway.
//
// What is sealed is a binary HTTP message (RFC 9292) of known length.
package ohttp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Field is one of a message's header, its name in lower case.
type Field struct{ Name, Value string }

// Request is what a device asks.
type Request struct {
	Method, Scheme, Authority, Path string
	Fields                          []Field
	Content                         []byte
}

// Response is what is answered.
type Response struct {
	Status  int
	Fields  []Field
	Content []byte
}

// Get returns the value of the first field of a name; empty where there is none.
func (r Response) Get(name string) string {
	for _, f := range r.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

const (
	framingRequest  = 0 // of known length (RFC 9292, section 3.3)
	framingResponse = 1

	maxControl = 4 << 10  // bytes of each part of a request's control data
	maxHeader  = 16 << 10 // bytes of a header or trailer section
	maxFields  = 64
)

// block is what the length of a message is a multiple of, in bytes: a relay cannot tell an answer of
// success from a refusal, nor one path from another, by some bytes.
const block = 1 << 10

// marshal writes the request, padded.
func (r Request) marshal() []byte {
	b := []byte{framingRequest}
	for _, part := range []string{r.Method, r.Scheme, r.Authority, r.Path} {
		b = appendText(b, part)
	}
	return appendSections(b, r.Fields, r.Content)
}

// marshal writes the response, padded.
func (r Response) marshal() []byte {
	return appendSections(appendNumber([]byte{framingResponse}, uint64(r.Status)), r.Fields, r.Content)
}

// appendSections writes what follows the control data: header, content, no trailer, padding.
func appendSections(b []byte, fields []Field, content []byte) []byte {
	var header []byte
	for _, f := range fields {
		header = appendText(appendText(header, f.Name), f.Value)
	}
	b = appendText(appendText(b, header), content)
	b = append(b, 0)
	return append(b, make([]byte, (block-len(b)%block)%block)...)
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(appendNumber(b, uint64(len(text))), text...)
}

// appendNumber writes an integer of variable length (RFC 9000, section 16).
func appendNumber(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return binary.BigEndian.AppendUint16(b, uint16(n)|1<<14)
	case n < 1<<30:
		return binary.BigEndian.AppendUint32(b, uint32(n)|1<<31)
	}
	return binary.BigEndian.AppendUint64(b, n|3<<62)
}

// reader cuts parts off a message. Once one is missing or too long, bad is set and all that follow
// are empty.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// number reads an integer of variable length, in whichever of its lengths.
func (r *reader) number() (n uint64) {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	for i, b := range r.take(1 << (r.rest[0] >> 6)) {
		if i == 0 {
			b &= 1<<6 - 1
		}
		n = n<<8 | uint64(b)
	}
	return n
}

// text reads a part that begins with its length, of at most so many bytes.
func (r *reader) text(most uint64) []byte {
	n := r.number()
	if n > most {
		r.bad = true
	}
	return r.take(n)
}

// section reads one of the sections behind the control data. A message may end before those that
// are empty (RFC 9292, section 3.8).
func (r *reader) section(most uint64) []byte {
	if len(r.rest) == 0 {
		return nil
	}
	return r.text(most)
}

// parseRequest reads a request whose content is part of b.
func parseRequest(b []byte) (Request, error) {
	r := reader{rest: b}
	if err := r.framing(framingRequest, "request"); err != nil {
		return Request{}, err
	}
	var out Request
	for _, part := range []*string{&out.Method, &out.Scheme, &out.Authority, &out.Path} {
		*part = string(r.text(maxControl))
	}
	control := out.Method + out.Scheme + out.Authority + out.Path
	if r.bad || !token(out.Method, false) || out.Path == "" || strings.ContainsFunc(control, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return Request{}, errors.New("ohttp: the request's method, scheme, authority or path is none")
	}
	var err error
	out.Fields, out.Content, err = r.sections()
	return out, err
}

// parseResponse reads a response whose content is part of b.
func parseResponse(b []byte) (Response, error) {
	r := reader{rest: b}
	if err := r.framing(framingResponse, "response"); err != nil {
		return Response{}, err
	}
	status := r.number()
	if r.bad || status < 200 || status > 599 {
		return Response{}, errors.New("ohttp: the response has no final status, from 200 to 599")
	}
	out := Response{Status: int(status)}
	var err error
	out.Fields, out.Content, err = r.sections()
	return out, err
}

func (r *reader) framing(want uint64, what string) error {
	if got := r.number(); r.bad || got != want {
		return fmt.Errorf("ohttp: not a binary HTTP %s of known length", what)
	}
	return nil
}

// sections reads header, content and trailer, whose fields are not looked at further, and the padding.
func (r *reader) sections() (fields []Field, content []byte, err error) {
	header, content, trailer := r.section(maxHeader), r.section(MaxRequest), r.section(maxHeader)
	if r.bad {
		return nil, nil, errors.New("ohttp: a section of the message is too long, or goes on behind its end")
	}
	if fields, err = parseFields(header); err == nil {
		_, err = parseFields(trailer)
	}
	if len(bytes.Trim(r.rest, "\x00")) > 0 {
		err = errors.New("ohttp: behind the message stands something else than zeros")
	}
	if err != nil {
		return nil, nil, err
	}
	return fields, content, nil
}

func parseFields(section []byte) (fields []Field, err error) {
	for r := (reader{rest: section}); len(r.rest) > 0; {
		f := Field{string(r.text(maxHeader)), string(r.text(maxHeader))}
		if r.bad || len(fields) == maxFields || !token(f.Name, true) || strings.ContainsAny(f.Value, "\x00\r\n") || strings.Trim(f.Value, " \t") != f.Value {
			return nil, fmt.Errorf("ohttp: field %d of a header is none, or one too many", len(fields)+1)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// token reports whether a text is a token of RFC 9110, section 5.6.2; of a field's name in lower case.
func token(text string, lower bool) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', strings.ContainsRune("!#$%&'*+-.^_`|~", c):
			return false
		}
		return lower || c < 'A' || c > 'Z'
	})
}
