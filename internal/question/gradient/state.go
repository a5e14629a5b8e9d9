package gradient

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
)

// State is what a round asks with, and what the steps of earlier rounds have left. It is
// public: all of it follows from releases.
type State struct {
	Model    *nn.Model
	Velocity []float32 // of Nesterov's momentum, as long as Model.Params
	Average  []float32 // of the models of all rounds, likewise
	Rate     float64   // of the next step
	Turns    []Turn    // the rounds so far, the first one first
}

// Turn is what a round gave.
type Turn struct {
	Respondents int     `json:"respondents"`
	Length      float64 `json:"length"`            // of the estimated mean gradient
	Noise       float64 `json:"noise"`             // standard error of each of its coordinates, but for what clipping a vector bends
	Refused     bool    `json:"refused,omitempty"` // the step led beyond the plan's bound and was not taken
}

// The form of a state as bytes: the magic with its version, the length of a description
// (uint32, little endian), the description (JSON), the length of the model and the model
// (package nn), then the numbers of velocity and average (float32, little endian).
const stateMagic = "confetti-gradient 1\n"

// maxDescription bounds the description, which has a line for each round.
const maxDescription = 16 << 20

// described is a state without its large numbers.
type described struct {
	Rate  float64 `json:"rate"`
	Turns []Turn  `json:"turns"`
}

// MarshalBinary gives the same bytes for the same state.
func (s *State) MarshalBinary() ([]byte, error) {
	text, err := json.Marshal(described{s.Rate, s.Turns})
	if err != nil {
		return nil, err
	}
	model, err := s.Model.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b := []byte(stateMagic)
	for _, part := range [][]byte{text, model} {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	for _, numbers := range [][]float32{s.Velocity, s.Average} {
		for _, v := range numbers {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. It takes no more memory than the bytes do,
// and refuses numbers that are not finite.
func (s *State) UnmarshalBinary(b []byte) error {
	rest, ok := bytes.CutPrefix(b, []byte(stateMagic))
	if !ok {
		return fmt.Errorf("gradient: not a state of version 1: it does not begin with %q", stateMagic)
	}
	text, rest, err := part(rest, maxDescription)
	if err != nil {
		return err
	}
	model, rest, err := part(rest, len(rest))
	if err != nil {
		return err
	}
	var d described
	if err := json.Unmarshal(text, &d); err != nil || !(d.Rate > 0) {
		return errors.New("gradient: the state's description is not one in its form")
	}
	read := State{Model: new(nn.Model), Rate: d.Rate, Turns: d.Turns}
	if err := read.Model.UnmarshalBinary(model); err != nil {
		return err
	}
	n := len(read.Model.Params)
	if len(rest) != 2*4*n {
		return fmt.Errorf("gradient: the state ends with %d bytes where velocity and average of %d numbers are due", len(rest), n)
	}
	numbers := make([]float32, 2*n)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
		if numbers[i]-numbers[i] != 0 {
			return errors.New("gradient: a number of the state is not finite")
		}
	}
	read.Velocity, read.Average = numbers[:n:n], numbers[n:]
	if again, err := read.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
		return errors.New("gradient: the state is not in its one form")
	}
	*s = read
	return nil
}

// part reads a length of at most so much, and so many bytes.
func part(b []byte, most int) (text, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errors.New("gradient: the state ends too soon")
	}
	n := int(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > most || n > len(b) {
		return nil, nil, fmt.Errorf("gradient: a part of the state is said to take %d bytes: at most %d, and %d are there", n, most, len(b))
	}
	return b[:n], b[n:], nil
}

// WithState returns the question with the model of a round.
func (q *Question) WithState(state []byte) (question.Question, error) {
	s := new(State)
	if err := s.UnmarshalBinary(state); err != nil {
		return nil, err
	}
	if !same(s.Model, q.layers) {
		return nil, fmt.Errorf("gradient: the state's model is not %s for examples of %d numbers in %d classes", q.ask.Model, q.ask.Dimension, len(q.ask.Classes))
	}
	return q.At(s), nil
}

// At returns the question with a state that a round of it has left.
func (q *Question) At(s *State) *Question {
	return &Question{plan: q.plan, ask: q.ask, layers: q.layers, report: q.report, state: s}
}

// start returns the state of the first round.
func (q *Question) start() (*State, error) {
	m, err := q.first()
	if err != nil {
		return nil, err
	}
	return &State{Model: m, Velocity: make([]float32, len(m.Params)), Average: append([]float32(nil), m.Params...), Rate: q.ask.Step.Rate, Turns: []Turn{}}, nil
}

// Next returns the state with the model that a round has learned, or the first model.
func (q *Question) Next(m question.Model) ([]byte, bool, error) {
	if m == nil {
		s, err := q.start()
		if err != nil {
			return nil, false, err
		}
		b, err := s.MarshalBinary()
		return b, false, err
	}
	model, ok := m.(*Model)
	if !ok {
		return nil, false, fmt.Errorf("gradient: no round goes on from a %T", m)
	}
	b, err := model.State.MarshalBinary()
	return b, false, err
}
