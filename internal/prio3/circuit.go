package prio3

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/third_party/circl/vdaf/prio3/arith/fp128"
)

// MaxEncoded bounds the numbers that a vector is encoded to.
const MaxEncoded = 1 << 22

// Circuit says which vectors are allowed. A vector is encoded to numbers that must
// each be 0 or 1, and what else it must satisfy is linear in them.
type Circuit interface {
	check() error
	number() uint32 // in the draft's registry
	length() int    // of a vector
	encoded() int   // numbers
	// encode is of plain elements. It fails with an error that does not tell the vector.
	encode(vector []uint64) (fp128.Vec, error)
	// truncate is the vector of encoded numbers, or a share of it.
	truncate(encoded fp128.Vec) fp128.Vec
	// balance is zero where encoded numbers satisfy the linear condition; over shares it
	// adds up. ok is false where there is none.
	balance(encoded fp128.Vec) (sum fp128.Fp, ok bool)
}

// squaring is a circuit whose balance has in it the squares of a vector's numbers less the centre.
type squaring interface{ centre() uint64 }

var errVector = errors.New("prio3: the vector is not one that the circuit allows")

// Histogram allows vectors of Length zeros but for a single one.
type Histogram struct{ Length int }

func (h Histogram) check() error   { return checkLength(h.Length, 1) }
func (h Histogram) number() uint32 { return 4 }
func (h Histogram) length() int    { return h.Length }
func (h Histogram) encoded() int   { return h.Length }

func (h Histogram) encode(vector []uint64) (fp128.Vec, error) {
	encoded, sum, err := zeroOne(vector, h.Length)
	if err != nil || sum != 1 {
		return nil, errVector
	}
	return encoded, nil
}

func (h Histogram) truncate(encoded fp128.Vec) fp128.Vec { return encoded }

func (h Histogram) balance(encoded fp128.Vec) (sum fp128.Fp, ok bool) {
	sum = total(encoded)
	sum.SubAssign(&half) // one, shared by two
	return sum, true
}

// Multihot allows vectors of Length zeros and ones, at most Weight of them ones.
type Multihot struct{ Length, Weight int }

func (m Multihot) check() error {
	if m.Weight < 1 || m.Weight > m.Length {
		return fmt.Errorf("prio3: at most %d ones among %d numbers: give 1 to %d", m.Weight, m.Length, m.Length)
	}
	return checkLength(m.Length, 1)
}

func (m Multihot) number() uint32 { return 5 }
func (m Multihot) length() int    { return m.Length }
func (m Multihot) encoded() int   { return m.Length + bits.Len(uint(m.Weight)) }

func (m Multihot) encode(vector []uint64) (fp128.Vec, error) {
	encoded, sum, err := zeroOne(vector, m.Length)
	if err != nil || sum > uint64(m.Weight) {
		return nil, errVector
	}
	return appendRange(encoded, sum, uint64(m.Weight)), nil
}

func (m Multihot) truncate(encoded fp128.Vec) fp128.Vec { return encoded[:m.Length] }

func (m Multihot) balance(encoded fp128.Vec) (sum fp128.Fp, ok bool) {
	sum = total(encoded[:m.Length])
	said := ranged(encoded[m.Length:], uint64(m.Weight))
	sum.SubAssign(&said)
	return sum, true
}

// SumVec allows vectors of Length numbers from 0 to Max.
type SumVec struct {
	Length int
	Max    uint64
}

func (s SumVec) check() error {
	if s.Max < 1 || s.Max > 1<<32 {
		return fmt.Errorf("prio3: numbers of at most %d: give 1 to %d", s.Max, 1<<32)
	}
	return checkLength(s.Length, bits.Len64(s.Max))
}

func (s SumVec) number() uint32 { return 3 }
func (s SumVec) length() int    { return s.Length }
func (s SumVec) encoded() int   { return s.Length * bits.Len64(s.Max) }

func (s SumVec) encode(vector []uint64) (fp128.Vec, error) {
	if len(vector) != s.Length {
		return nil, errVector
	}
	beyond := uint64(0)
	encoded := make(fp128.Vec, 0, s.encoded())
	for _, x := range vector {
		beyond |= less(s.Max, x)
		encoded = appendRange(encoded, x, s.Max)
	}
	if beyond != 0 {
		return nil, errVector
	}
	return encoded, nil
}

func (s SumVec) truncate(encoded fp128.Vec) fp128.Vec {
	width := bits.Len64(s.Max)
	vector := make(fp128.Vec, s.Length)
	for i := range vector {
		vector[i] = ranged(encoded[i*width:(i+1)*width], s.Max)
	}
	return vector
}

func (s SumVec) balance(fp128.Vec) (sum fp128.Fp, ok bool) { return sum, false }

// Bounded allows vectors of Length numbers from 0 to Max, an even number, whose distances from Max/2 have squares that
// add up to at most Square. The draft has none like it: its number is one for private use.
type Bounded struct {
	Length      int
	Max, Square uint64
}

func (b Bounded) check() error {
	if b.Max < 2 || b.Max > 1<<16 || b.Max&1 != 0 {
		return fmt.Errorf("prio3: numbers of at most %d about their middle: give an even number from 2 to %d", b.Max, 1<<16)
	}
	if err := checkLength(b.Length, bits.Len64(b.Max)); err != nil {
		return err
	}
	if most := uint64(b.Length) * b.centre() * b.centre(); b.Square < 1 || b.Square > most {
		return fmt.Errorf("prio3: squares of at most %d: give 1 to %d", b.Square, most)
	}
	return nil
}

func (b Bounded) number() uint32 { return 0xffff0001 }
func (b Bounded) length() int    { return b.Length }
func (b Bounded) centre() uint64 { return b.Max / 2 }
func (b Bounded) encoded() int {
	return b.Length*bits.Len64(b.Max) + bits.Len64(b.Square)
}

func (b Bounded) encode(vector []uint64) (fp128.Vec, error) {
	encoded, err := SumVec{b.Length, b.Max}.encode(vector)
	if err != nil {
		return nil, err
	}
	sum := uint64(0) // below 2^52
	for _, x := range vector {
		d := x - b.centre()
		sum += d * d
	}
	if less(b.Square, sum) != 0 {
		return nil, errVector
	}
	return appendRange(encoded, sum, b.Square), nil
}

func (b Bounded) truncate(encoded fp128.Vec) fp128.Vec {
	return SumVec{b.Length, b.Max}.truncate(encoded)
}

// balance takes away what the vector says of its squares, which its range keeps short; the proof adds the squares.
func (b Bounded) balance(encoded fp128.Vec) (sum fp128.Fp, ok bool) {
	said := ranged(encoded[b.Length*bits.Len64(b.Max):], b.Square)
	sum.SubAssign(&said)
	return sum, true
}

func checkLength(length, width int) error {
	if length < 1 || length > MaxEncoded/width {
		return fmt.Errorf("prio3: vectors of %d numbers: give 1 to %d", length, MaxEncoded/width)
	}
	return nil
}

// zeroOne encodes a vector of zeros and ones, and adds it up. It fails for other
// lengths and numbers, without looking at one more than at another.
func zeroOne(vector []uint64, length int) (encoded fp128.Vec, sum uint64, err error) {
	if len(vector) != length {
		return nil, 0, errVector
	}
	beyond := uint64(0)
	encoded = make(fp128.Vec, length, length+64)
	for i, x := range vector {
		beyond |= x &^ 1
		sum += x & 1
		encoded[i] = fp128.Fp{x & 1}
	}
	if beyond != 0 {
		return nil, 0, errVector
	}
	return encoded, sum, nil
}

// appendRange encodes x in [0, most] as bits of which all but the last have their
// usual weights, and the last what is left of most: whatever bits somebody sets, the
// number stays in range.
func appendRange(to fp128.Vec, x, most uint64) fp128.Vec {
	width := bits.Len64(most)
	rest := uint64(1)<<(width-1) - 1
	last := less(rest, x)
	x -= (most - rest) & -last
	for i := range width - 1 {
		to = append(to, fp128.Fp{x >> i & 1})
	}
	return append(to, fp128.Fp{last})
}

// ranged returns the number that appendRange encoded.
func ranged(encoded fp128.Vec, most uint64) (x fp128.Fp) {
	last := len(encoded) - 1
	for i := range last { // by doubling from the highest
		x.AddAssign(&x)
		x.AddAssign(&encoded[last-1-i])
	}
	power := fp128.Fp{most - (1<<last - 1)}
	power.MulAssign(&square)
	power.MulAssign(&encoded[last])
	x.AddAssign(&power)
	return x
}

// less returns 1 if a < b, else 0, without a branch.
func less(a, b uint64) uint64 {
	_, borrow := bits.Sub64(a, b, 0)
	return borrow
}

// half is (p+1)/2.
var half = fp128.Fp{1, 0x7ffffffffffffff2}
