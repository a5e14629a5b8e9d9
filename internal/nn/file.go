package nn

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/strictjson"
)

// The form of a model as bytes: the magic with its version, the length of a
// description (uint32, little endian), the description (JSON, a list of layers),
// and the numbers (float32, little endian), to the end.
const magic = "confetti-nn 1\n"

// maxDescription bounds the description of the layers.
const maxDescription = 1 << 16

// described is a layer in the description: exactly one field is there.
type described struct {
	Dense   *Dense   `json:"dense,omitempty"`
	ReLU    *ReLU    `json:"relu,omitempty"`
	Conv    *Conv    `json:"conv,omitempty"`
	MaxPool *MaxPool `json:"max_pool,omitempty"`
	Laplace *Laplace `json:"laplace,omitempty"`
}

func describe(l Layer) (described, error) {
	switch l := l.(type) {
	case Dense:
		return described{Dense: &l}, nil
	case ReLU:
		return described{ReLU: &l}, nil
	case Conv:
		return described{Conv: &l}, nil
	case MaxPool:
		return described{MaxPool: &l}, nil
	case Laplace:
		return described{Laplace: &l}, nil
	}
	return described{}, fmt.Errorf("nn: a layer of type %T has no form as bytes", l)
}

func (d described) layer() (Layer, error) {
	var found []Layer
	if d.Dense != nil {
		found = append(found, *d.Dense)
	}
	if d.ReLU != nil {
		found = append(found, *d.ReLU)
	}
	if d.Conv != nil {
		found = append(found, *d.Conv)
	}
	if d.MaxPool != nil {
		found = append(found, *d.MaxPool)
	}
	if d.Laplace != nil {
		found = append(found, *d.Laplace)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("nn: a layer is described by one kind, not %d", len(found))
	}
	return found[0], nil
}

// MarshalBinary gives the same bytes for the same model.
func (m *Model) MarshalBinary() ([]byte, error) {
	all := make([]described, len(m.Layers))
	for i, l := range m.Layers {
		var err error
		if all[i], err = describe(l); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	if len(text) > maxDescription {
		return nil, fmt.Errorf("nn: the layers take %d bytes to describe, more than %d", len(text), maxDescription)
	}
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(text)))
	b = append(b, text...)
	for _, v := range m.Params {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary wrote. Bytes may come from a stranger:
// it takes no more memory than they do, and refuses numbers that are not finite.
func (m *Model) UnmarshalBinary(b []byte) error {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return fmt.Errorf("nn: not a model of version 1: it does not begin with %q", magic)
	}
	if len(rest) < 4 {
		return fmt.Errorf("nn: the model ends within its first bytes")
	}
	size := int(binary.LittleEndian.Uint32(rest))
	if rest = rest[4:]; size > maxDescription || size > len(rest) {
		return fmt.Errorf("nn: the description of the layers is said to take %d bytes: at most %d, and %d are there", size, maxDescription, len(rest))
	}
	layers, err := layersOf(rest[:size])
	if err != nil {
		return err
	}
	params, err := fit(layers)
	if err != nil {
		return err
	}
	if rest = rest[size:]; len(rest) != 4*params {
		return fmt.Errorf("nn: the layers learn %d numbers, and %d bytes of them are there, not %d", params, len(rest), 4*params)
	}
	read := make([]float32, params)
	for i := range read {
		read[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
		if v := float64(read[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("nn: number %d of the model is not finite", i+1)
		}
	}
	m.Layers, m.Params = layers, read
	return nil
}

func layersOf(text []byte) ([]Layer, error) {
	var all []described
	if err := strictjson.JSON(text, &all); err != nil {
		return nil, fmt.Errorf("nn: the description of the layers: %w", err)
	}
	layers := make([]Layer, len(all))
	for i, one := range all {
		var err error
		if layers[i], err = one.layer(); err != nil {
			return nil, err
		}
	}
	return layers, nil
}
