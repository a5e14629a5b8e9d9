package prio3

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

// Vector is an aggregator's share of a vector, or of the sum of some: without the
// other's it tells nothing. The zero Vector is the sum of none.
type Vector struct{ elements fp128.Vec } // plain

// Add adds another share, of the same aggregator and length.
func (v *Vector) Add(other Vector) error {
	if v.elements == nil {
		v.elements = append(v.elements, other.elements...)
		return nil
	}
	if len(v.elements) != len(other.elements) {
		return fmt.Errorf("prio3: shares of vectors of %d and %d numbers do not add up", len(v.elements), len(other.elements))
	}
	accumulate(v.elements, other.elements)
	return nil
}

// AddTimes adds another share so many times.
func (v *Vector) AddTimes(other Vector, times uint64) error {
	var by, product fp128.Fp
	if err := by.SetUint64(times); err != nil {
		return err
	}
	more := make(fp128.Vec, len(other.elements))
	for i := range more {
		product.Mul(&other.elements[i], &by)
		more[i] = product
	}
	return v.Add(Vector{more})
}

// Spread adds to each number those before it, each as many times as the weight of its distance says, from its own on.
func (v *Vector) Spread(weights []int64) error {
	by := make(fp128.Vec, min(len(weights), len(v.elements)))
	for i := range by {
		if weights[i] < 0 {
			return fmt.Errorf("prio3: a weight of %d: weights are not negative", weights[i])
		}
		if err := by[i].SetUint64(uint64(weights[i])); err != nil {
			return err
		}
	}
	sum := make(fp128.Vec, len(v.elements))
	var product fp128.Fp
	for i := range sum {
		for distance := range by[:min(len(by), i+1)] {
			product.Mul(&v.elements[i-distance], &by[distance])
			sum[i].AddAssign(&product)
		}
	}
	v.elements = sum
	return nil
}

// AddNoise adds a number to each element, negative ones too.
func (v *Vector) AddNoise(noise []int64) error {
	if len(v.elements) != len(noise) {
		return fmt.Errorf("prio3: noise for %d numbers of a vector of %d", len(noise), len(v.elements))
	}
	for i, x := range noise {
		negative := -(uint64(x) >> 63) // all bits, or none
		size := (uint64(x) ^ negative) - negative
		v.elements[i].AddAssign(&fp128.Fp{size &^ negative})
		v.elements[i].SubAssign(&fp128.Fp{size & negative})
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
	shift := fp128.Fp{1 << 62}
	sums := make([]int64, len(leader.elements))
	for i := range sums {
		e := leader.elements[i]
		e.AddAssign(&helper.elements[i])
		e.AddAssign(&shift)
		if e[1] != 0 || e[0] >= 1<<63 {
			return nil, errors.New("prio3: the shares are not those of one sum")
		}
		sums[i] = int64(e[0]) - 1<<62
	}
	return sums, nil
}
