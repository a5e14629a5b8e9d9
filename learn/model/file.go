package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/floats"
	"github.com/confetti-dp/confetti/learn/moments"
)

const (
	version  = 1
	maxBytes = 1 << 28 // of a file
)

// form is a file: JSON, with numbers as the bytes of IEEE 754, little endian, in base64. A
// file of features alone has no weights.
type form struct {
	Version  int            `json:"confetti_model,omitempty"`
	Features int            `json:"confetti_features,omitempty"`
	Title    string         `json:"title,omitempty"`
	Inputs   featuresForm   `json:"features"`
	Classes  []string       `json:"classes,omitempty"`
	Weights  floats.Doubles `json:"weights,omitempty"` // a row of scores for each feature
	Offset   floats.Doubles `json:"offset,omitempty"`
	Number   *Number        `json:"number,omitempty"`
	Promise  *Promise       `json:"promise,omitempty"`
	Tested   *Tested        `json:"tested,omitempty"`
}

type featuresForm struct {
	Image   *Size         `json:"image,omitempty"`
	Text    *textForm     `json:"text,omitempty"`
	Columns []Column      `json:"columns,omitempty"`
	Maps    []whiten.Form `json:"maps,omitempty"`
	Cut     float32       `json:"cut,omitempty"`
}

type textForm struct {
	Words      []string       `json:"words"`
	Weights    floats.Singles `json:"weights"`
	Directions floats.Singles `json:"directions"` // a row for each word
}

// Marshal is the model's file.
func (m *Model) Marshal() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(form{Version: version, Title: m.Title, Inputs: m.Features.form(), Classes: m.Classes,
		Weights: mat.DenseCopyOf(m.Linear.Weights).RawMatrix().Data, Offset: m.Linear.Offset, Number: m.Number, Promise: &m.Promise, Tested: m.Tested})
}

// Marshal is the file of features alone.
func (f *Features) Marshal() ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(form{Features: version, Inputs: f.form()})
}

func (f *Features) form() featuresForm {
	out := featuresForm{Image: f.Image, Columns: f.Columns, Cut: f.Cut}
	for _, m := range f.Maps {
		out.Maps = append(out.Maps, m.Form())
	}
	if t := f.Text; t != nil {
		out.Text = &textForm{Words: t.Words, Weights: t.Weights}
		for _, d := range t.Directions {
			out.Text.Directions = append(out.Text.Directions, d...)
		}
	}
	return out
}

// Read reads a model's file, of at most 256 MiB.
func Read(r io.Reader) (*Model, error) {
	f, err := readForm(r)
	if err != nil {
		return nil, err
	}
	if f.Version != version {
		return nil, fmt.Errorf("model: a file of version %d: this program reads version %d of models", f.Version, version)
	}
	m := &Model{Title: f.Title, Classes: f.Classes, Number: f.Number, Tested: f.Tested, Linear: moments.Linear{Offset: f.Offset}}
	if f.Promise != nil {
		m.Promise = *f.Promise
	}
	if err := m.Features.of(f.Inputs); err != nil {
		return nil, err
	}
	if d, k := m.Features.Len(), len(f.Offset); d > 0 && k > 0 && len(f.Weights) == d*k {
		m.Linear.Weights = mat.NewDense(d, k, f.Weights)
	}
	return m, m.Check()
}

// ReadFeatures reads a file of features alone, or those of a model.
func ReadFeatures(r io.Reader) (*Features, error) {
	f, err := readForm(r)
	if err != nil {
		return nil, err
	}
	if f.Version != version && f.Features != version {
		return nil, fmt.Errorf("model: a file of version %d: this program reads version %d of features", f.Features, version)
	}
	out := new(Features)
	return out, out.of(f.Inputs)
}

func readForm(r io.Reader) (f form, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return f, err
	}
	if len(text) > maxBytes {
		return f, fmt.Errorf("model: a file of more than %d bytes", maxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, errors.New("model: not a file of a model or of features")
	}
	if d.More() {
		return f, errors.New("model: something follows the file's one object")
	}
	return f, nil
}

// of takes what was read, and checks it.
func (f *Features) of(in featuresForm) error {
	*f = Features{Image: in.Image, Columns: in.Columns, Cut: in.Cut}
	for i, m := range in.Maps {
		state, ok := m.State()
		if !ok {
			return fmt.Errorf("model: map %d is no matrix for %d numbers", i+1, len(m.Mean))
		}
		f.Maps = append(f.Maps, state)
	}
	if t := in.Text; t != nil {
		n := len(t.Words)
		if n == 0 || len(t.Directions) == 0 || len(t.Directions)%n != 0 {
			return fmt.Errorf("model: %d words with %d numbers", n, len(t.Directions))
		}
		f.Text = &lsa.State{Words: t.Words, Weights: t.Weights}
		for at, wide := 0, len(t.Directions)/n; at < len(t.Directions); at += wide {
			f.Text.Directions = append(f.Text.Directions, t.Directions[at:at+wide])
		}
		if err := f.Text.Prepare(); err != nil {
			return err
		}
	}
	return f.Check()
}
