package tally

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Sums are numbers that aggregators have added up, with noise of theirs, so that some may
// be below zero. No message is counted.
type Sums struct{ N []int64 }

// NewSums returns so many zeros.
func NewSums(n int) *Sums { return &Sums{make([]int64, n)} }

// SumsOf returns the sums, where these are of vectors of such a length.
func SumsOf(sums []int64, length int) (*Sums, error) {
	if len(sums) != length {
		return nil, fmt.Errorf("tally: sums of %d numbers: the plan's vectors have %d", len(sums), length)
	}
	return &Sums{slices.Clone(sums)}, nil
}

// Add refuses every message.
func (s *Sums) Add([]byte) error { return errStranger }

// Merge adds others of the same length, whose sums fit their integers.
func (s *Sums) Merge(t Tally) error {
	other, ok := t.(*Sums)
	if !ok || len(s.N) != len(other.N) {
		return unlike(s, t)
	}
	for i, n := range other.N {
		if sum := s.N[i] + n; (sum > s.N[i]) != (n > 0) && n != 0 {
			return errOverflow
		}
	}
	for i, n := range other.N {
		s.N[i] += n
	}
	return nil
}

// String says how many, and none of them.
func (s *Sums) String() string { return fmt.Sprintf("%d sums", len(s.N)) }

// MarshalBinary writes each as a signed varint.
func (s *Sums) MarshalBinary() ([]byte, error) {
	var b []byte
	for _, n := range s.N {
		b = binary.AppendVarint(b, n)
	}
	return b, nil
}

// UnmarshalBinary reads as many as there are here, each in its shortest form, and nothing
// more.
func (s *Sums) UnmarshalBinary(data []byte) error {
	for i := range s.N {
		n, size := binary.Varint(data)
		if size <= 0 || size > 1 && data[size-1] == 0 {
			return fmt.Errorf("%w (sum %d)", errEncoding, i)
		}
		s.N[i], data = n, data[size:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w (%d bytes too many)", errEncoding, len(data))
	}
	return nil
}
