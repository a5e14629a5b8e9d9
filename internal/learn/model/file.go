package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/floats"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/strictjson"
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
	Inputs   inputs.Form    `json:"features"`
	Classes  []string       `json:"classes,omitempty"`
	Weights  floats.Doubles `json:"weights,omitempty"` // a row of scores for each feature
	Offset   floats.Doubles `json:"offset,omitempty"`
	Net      []byte         `json:"net,omitempty"` // of internal/nn, in base64
	Number   *Number        `json:"number,omitempty"`
	Promise  *Promise       `json:"promise,omitempty"`
	Tested   *Tested        `json:"tested,omitempty"`
}

// Marshal returns the model's file.
func (m *Model) Marshal() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	f := form{Version: version, Title: m.Title, Inputs: m.Features.Form(), Classes: m.Classes, Offset: m.Linear.Offset, Number: m.Number, Promise: &m.Promise, Tested: m.Tested}
	if m.Net == nil {
		f.Weights = mat.DenseCopyOf(m.Linear.Weights).RawMatrix().Data
		return json.Marshal(f)
	}
	var err error
	if f.Net, err = m.Net.MarshalBinary(); err != nil {
		return nil, err
	}
	return json.Marshal(f)
}

// MarshalFeatures returns the file of features alone.
func MarshalFeatures(m *inputs.Map) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(form{Features: version, Inputs: m.Form()})
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
	features, err := f.Inputs.Map()
	if err != nil {
		return nil, err
	}
	m.Features = *features
	if len(f.Net) > 0 {
		m.Net = new(nn.Model)
		if err := m.Net.UnmarshalBinary(f.Net); err != nil {
			return nil, fmt.Errorf("model: the network: %w", err)
		}
	}
	if d, k := m.Features.Len(), len(f.Offset); d > 0 && k > 0 && len(f.Weights) == d*k {
		m.Linear.Weights = mat.NewDense(d, k, f.Weights)
	}
	return m, m.Check()
}

// ReadFeatures reads a file of features alone, or those of a model.
func ReadFeatures(r io.Reader) (*inputs.Map, error) {
	f, err := readForm(r)
	if err != nil {
		return nil, err
	}
	if f.Version != version && f.Features != version {
		return nil, fmt.Errorf("model: a file of version %d: this program reads version %d of features", f.Features, version)
	}
	return f.Inputs.Map()
}

func readForm(r io.Reader) (f form, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return f, err
	}
	if len(text) > maxBytes {
		return f, fmt.Errorf("model: a file of more than %d bytes", maxBytes)
	}
	if strictjson.JSON(text, &f) != nil {
		return f, errors.New("model: not a file of a model or of features")
	}
	return f, nil
}
