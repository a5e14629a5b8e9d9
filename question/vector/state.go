package vector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/floats"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/plan"
)

// State is what a round asks with beyond its plan: public, and named by its hash.
type State struct {
	Inputs *inputs.Map     // from an image, a text or a row of a table to features; nil: a respondent holds numbers
	Map    *whiten.State   // from these numbers to features of unit length; nil: they are taken as they are
	Point  *features.Point // where gradients are taken; nil: the round asks for none
	Passed [][]float64     // weights after each earlier round of gradients
}

// Features returns those that the public map gives, of unit length where no map cuts them; without a map
// or a state, those that are given, scaled. Of texts the features are given; numbers that do not fit
// have features of zero.
func (s *State) Features(given []float32) []float32 {
	psi := append([]float32(nil), given...)
	if s != nil && s.Inputs != nil && !s.Inputs.Texts() {
		out, err := s.Inputs.OfNumbers(psi)
		if err != nil {
			return make([]float32, s.Inputs.Len())
		}
		return s.bounded(out)
	}
	if s != nil && s.Map != nil {
		out := make([]float32, s.Map.Len())
		s.Map.Apply(psi, out)
		return out
	}
	whiten.Normalize(psi)
	return psi
}

// bounded returns features of the inputs, whatever the map gives: of unit length, or cut to that.
func (s *State) bounded(psi []float32) []float32 {
	if s.Inputs.Cut == 0 {
		whiten.Normalize(psi)
	}
	return psi
}

// form is the state in JSON: numbers as the bytes of IEEE 754, little endian, in base64.
type form struct {
	Inputs *inputs.Form `json:"inputs,omitempty"`
	Map    *whiten.Form `json:"map,omitempty"`
	Point  *pointForm   `json:"point,omitempty"`
}

type pointForm struct {
	Mean    floats.Singles   `json:"mean"`
	Whiten  floats.Singles   `json:"whiten"`
	Weights floats.Doubles   `json:"weights"`
	Passed  []floats.Doubles `json:"passed,omitempty"`
}

var errState = errors.New("vector: not a public state in its one form")

// Marshal returns the state's one form.
func (s *State) Marshal() []byte {
	var f form
	if s.Inputs != nil {
		given := s.Inputs.Form()
		f.Inputs = &given
	}
	if s.Map != nil {
		given := s.Map.Form()
		f.Map = &given
	}
	if p := s.Point; p != nil {
		f.Point = &pointForm{Mean: p.Mean, Whiten: p.Whiten.Data, Weights: p.Weights}
		for _, w := range s.Passed {
			f.Point.Passed = append(f.Point.Passed, w)
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic("vector: " + err.Error()) // numbers always encode
	}
	return text
}

// parseState reads a state for features and classes.
func parseState(text []byte, s features.Shape) (*State, error) {
	var f form
	if strictjson.JSON(text, &f) != nil {
		return nil, errState
	}
	state := &State{}
	if f.Inputs != nil {
		given, err := f.Inputs.Map()
		if err != nil {
			return nil, err
		}
		if given.Len() != s.Dimension || f.Map != nil {
			return nil, fmt.Errorf("vector: the state's inputs give other features than the plan's %d", s.Dimension)
		}
		state.Inputs = given
	}
	if m := f.Map; m != nil {
		given, ok := m.State()
		if !ok || given.Len() != s.Dimension {
			return nil, fmt.Errorf("vector: the state's map gives other features than the plan's %d", s.Dimension)
		}
		if err := given.Check(); err != nil {
			return nil, err
		}
		state.Map = given
	}
	if p := f.Point; p != nil {
		state.Point = &features.Point{Shape: s, Mean: p.Mean, Weights: p.Weights,
			Whiten: blas32.General{Rows: s.Dimension, Cols: s.Dimension, Stride: s.Dimension, Data: p.Whiten}}
		if err := state.Point.Check(); err != nil {
			return nil, err
		}
		for _, w := range p.Passed {
			if len(w) != s.GradientLen() {
				return nil, errState
			}
			state.Passed = append(state.Passed, w)
		}
	}
	if !bytes.Equal(state.Marshal(), text) {
		return nil, errState
	}
	return state, nil
}

// WithState returns the question with the public state of a round.
func (q *Question) WithState(text []byte) (question.Question, error) {
	state, err := parseState(text, shape(q.ask))
	if err != nil {
		return nil, err
	}
	if q.round.Sums == plan.SumsGradients && state.Point == nil {
		return nil, errors.New("vector: a round of gradients, and the state does not say where")
	}
	with := *q
	with.state = state
	return &with, nil
}
