package prio3

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cloudflare/circl/vdaf/prio3/arith/fp128"
)

// Vector is an aggregator's share of a vector, or of the sum of some: without the
// other's it tells nothing. The zero Vector is the sum of none.
type Vector struct{ elements fp128.Vec }

// Add adds another share, of the same aggregator and length.
func (v *Vector) Add(other Vector) error {
	if v.elements == nil {
		v.elements = append(v.elements, other.elements...)
		return nil
	}
	if len(v.elements) != len(other.elements) {
		return fmt.Errorf("prio3: shares of vectors of %d and %d numbers do not add up", len(v.elements), len(other.elements))
	}
	v.elements.AddAssign(other.elements)
	return nil
}

// AddNoise adds a number to each element, negative ones too.
func (v *Vector) AddNoise(noise []int64) error {
	if len(v.elements) != len(noise) {
		return fmt.Errorf("prio3: noise for %d numbers of a vector of %d", len(noise), len(v.elements))
	}
	for i, x := range noise {
		var e, minus fp128.Fp
		negative := uint64(x) >> 63
		set(&e, (uint64(x)^-negative)+negative)
		set(&minus, 2*negative)
		minus.MulAssign(&e)
		e.SubAssign(&minus)
		v.elements[i].AddAssign(&e)
	}
	return nil
}

// MarshalBinary gives 16 bytes for each number, little endian.
func (v Vector) MarshalBinary() ([]byte, error) { return appendVec(nil, v.elements), nil }

// UnmarshalBinary reads what MarshalBinary wrote.
func (v *Vector) UnmarshalBinary(b []byte) error {
	elements, err := readVec(b)
	if err != nil {
		return err
	}
	v.elements = elements
	return nil
}

// Open adds the two aggregators' shares of a sum. It fails if a number is not within
// 2^62 of zero: the shares are not of one sum.
func Open(leader, helper Vector) ([]int64, error) {
	if len(leader.elements) != len(helper.elements) {
		return nil, fmt.Errorf("prio3: shares of sums of %d and %d numbers", len(leader.elements), len(helper.elements))
	}
	var shift fp128.Fp
	set(&shift, 1<<62)
	sums := make([]int64, len(leader.elements))
	for i := range sums {
		e := leader.elements[i]
		e.AddAssign(&helper.elements[i])
		e.AddAssign(&shift)
		n, err := e.GetUint64()
		if err != nil || n >= 1<<63 {
			return nil, errors.New("prio3: the shares are not those of one sum")
		}
		sums[i] = int64(n) - 1<<62
	}
	return sums, nil
}

// set is SetUint64, which does not fail.
func set(e *fp128.Fp, x uint64) {
	if err := e.SetUint64(x); err != nil {
		panic("prio3: " + err.Error())
	}
}

// appendVec writes elements as 16 bytes each, little endian.
func appendVec(b []byte, v fp128.Vec) []byte {
	at := len(b)
	b = append(b, make([]byte, element*len(v))...)
	one := fp128.Fp{1}
	for i := range v { // a product with the plain 1 takes an element out of Montgomery's form
		var plain fp128.Fp
		plain.Mul(&v[i], &one)
		binary.LittleEndian.PutUint64(b[at+element*i:], plain[0])
		binary.LittleEndian.PutUint64(b[at+element*i+8:], plain[1])
	}
	return b
}

// readVec reads elements; it refuses numbers that are not below the modulus.
func readVec(b []byte) (fp128.Vec, error) {
	if len(b)%element != 0 {
		return nil, fmt.Errorf("prio3: %d bytes are not elements of %d", len(b), element)
	}
	v := make(fp128.Vec, len(b)/element)
	if err := v.UnmarshalBinary(b); err != nil {
		return nil, errors.New("prio3: a number is not an element of the field")
	}
	return v, nil
}
