package inputs

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode/cosines"
	"github.com/confetti-dp/confetti/internal/dp/encode/hashedwords"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/dp/encode/scattering"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/floats"
)

// Form is a map as files have it.
type Form struct {
	Image      *Size         `json:"image,omitempty"`
	Scattering bool          `json:"scattering,omitempty"`
	Text       *textForm     `json:"text,omitempty"`
	Words      *wordsForm    `json:"words,omitempty"`
	Columns    []Column      `json:"columns,omitempty"`
	Cosines    *cosinesForm  `json:"cosines,omitempty"`
	Maps       []whiten.Form `json:"maps,omitempty"`
	Cut        float32       `json:"cut,omitempty"`
}

type textForm struct {
	Words      []string       `json:"words"`
	Weights    floats.Singles `json:"weights"`
	Directions floats.Singles `json:"directions"` // a row for each word
	Singular   bool           `json:"singular,omitempty"`
}

type wordsForm struct {
	Places int            `json:"places"`
	Half   float32        `json:"half"`
	Common []string       `json:"common,omitempty"`
	Shares floats.Singles `json:"shares,omitempty"`
}

type cosinesForm struct {
	Directions floats.Singles `json:"directions"` // a row for each cosine
	Phases     floats.Singles `json:"phases"`
}

// Form returns the map's.
func (m *Map) Form() Form {
	out := Form{Image: m.Image, Scattering: m.Scatter != nil, Columns: m.Columns, Cut: m.Cut}
	for _, w := range m.Maps {
		out.Maps = append(out.Maps, w.Form())
	}
	if t := m.Text; t != nil {
		out.Text = &textForm{Words: t.Words, Weights: t.Weights, Singular: t.Singular}
		for _, d := range t.Directions {
			out.Text.Directions = append(out.Text.Directions, d...)
		}
	}
	if w := m.Words; w != nil {
		out.Words = &wordsForm{w.Places, w.Half, w.Common, w.Shares}
	}
	if c := m.Cosines; c != nil {
		out.Cosines = &cosinesForm{c.Directions, c.Phases}
	}
	return out
}

// State returns the public state of a round that asks for vectors with this map alone.
func (m *Map) State() []byte {
	text, err := json.Marshal(struct {
		Inputs Form `json:"inputs"`
	}{m.Form()})
	if err != nil {
		panic("inputs: " + err.Error()) // numbers always encode
	}
	return text
}

// Map returns the one of a form, checked.
func (f Form) Map() (*Map, error) {
	m := &Map{Image: f.Image, Columns: f.Columns, Cut: f.Cut}
	for i, w := range f.Maps {
		state, ok := w.State()
		if !ok {
			return nil, fmt.Errorf("inputs: map %d is no matrix for %d numbers", i+1, len(w.Mean))
		}
		m.Maps = append(m.Maps, state)
	}
	if f.Scattering {
		if f.Image == nil {
			return nil, errors.New("inputs: scattering is of images: give their size")
		}
		var err error
		if m.Scatter, err = scattering.New(f.Image.Width, f.Image.Height); err != nil {
			return nil, err
		}
	}
	if w := f.Words; w != nil {
		m.Words = &hashedwords.Map{Places: w.Places, Half: w.Half, Common: w.Common, Shares: w.Shares}
		if err := m.Words.Prepare(); err != nil {
			return nil, err
		}
	}
	if c := f.Cosines; c != nil {
		m.Cosines = &cosines.Map{Directions: c.Directions, Phases: c.Phases}
	}
	if t := f.Text; t != nil {
		var err error
		if m.Text, err = t.state(); err != nil {
			return nil, err
		}
	}
	return m, m.Check()
}

func (t *textForm) state() (*lsa.State, error) {
	n := len(t.Words)
	if n == 0 || len(t.Directions) == 0 || len(t.Directions)%n != 0 {
		return nil, fmt.Errorf("inputs: %d words with %d numbers", n, len(t.Directions))
	}
	s := &lsa.State{Words: t.Words, Weights: t.Weights, Singular: t.Singular}
	for at, wide := 0, len(t.Directions)/n; at < len(t.Directions); at += wide {
		s.Directions = append(s.Directions, t.Directions[at:at+wide])
	}
	return s, s.Prepare()
}
