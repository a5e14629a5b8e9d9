// Package floats writes and reads numbers in JSON as the bytes of IEEE 754, little endian, in base64. Used by
// internal/dp/encode, internal/dp/latent, internal/learn/model and question/vector.
package floats

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
)

// Singles are numbers of four bytes each.
type Singles []float32

// MarshalJSON is base64.
func (s Singles) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 4*len(s))
	for _, x := range s {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return json.Marshal(b)
}

// UnmarshalJSON takes base64.
func (s *Singles) UnmarshalJSON(text []byte) error {
	b, err := read(text, 4)
	*s = make([]float32, len(b)/4)
	for i := range *s {
		(*s)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return err
}

// Doubles are numbers of eight bytes each.
type Doubles []float64

// MarshalJSON is base64.
func (d Doubles) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(d))
	for _, x := range d {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return json.Marshal(b)
}

// UnmarshalJSON takes base64.
func (d *Doubles) UnmarshalJSON(text []byte) error {
	b, err := read(text, 8)
	*d = make([]float64, len(b)/8)
	for i := range *d {
		(*d)[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return err
}

// read takes the bytes of numbers of one size.
func read(text []byte, size int) (b []byte, err error) {
	if err := json.Unmarshal(text, &b); err != nil || len(b)%size != 0 {
		return nil, errors.New("floats: not base64 of whole numbers")
	}
	return b, nil
}
