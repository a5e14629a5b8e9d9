// Package sketch counts over domains that are too large to give every value a cell of its own. Used by
// question/histogram.
//
// The count-mean sketch (ESA, Table I, after Apple 2017) and the count sketch hash a declared domain to a few rows
// of cells.
//
// In both sketches a device draws one of the rows, uniformly, hashes its value to a cell of that row and sends the
// cells of the row by randomize.OneHot. Row and cell travel together inside the innermost seal, as one channel:
//
//	row := r.IntN(s.Rows())
//	sender.Randomize(r, []uint32{s.Cell(row, value)}, func(cell uint32) { send(s.Channel(row, cell)) })
//
// A device has one value: two of a set could share a cell, and no estimate here would know. With report fragments
// the row belongs to the backstop and is kept with it: a row drawn anew would be a new report.
package sketch

import (
	"fmt"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/dp/encode"
)

// maxChannels is the largest sketch, rows times cells: 2^27, of which the analyzer keeps
// 1 GiB of counts. 1,024 rows by 65,536 are half of it.
const maxChannels = 1 << 27

// rows are hash functions from values to cells, one function a row.
//
// Each is a polynomial of degree three over the integers modulo p = 2^61-1, its four
// coefficients uniform there. Values are below 2^32, so they are distinct points of the
// field, where for any four of them the map from coefficients to hashes is one to one:
// the hashes of any four values are independent and uniform. A hash h becomes the cell
// floor(h cells / 2^61), of a probability within 2/p of 1/cells: with the largest number
// of cells a relative 2^-33, which is left out of account.
type rows struct {
	coefficients [][4]uint64 // a_0 to a_3 of each row
	cells        uint64
}

const prime = 1<<61 - 1

// newRows reads the coefficients, row by row from a_0 to a_3, each the upper 61 bits of
// the next word of the stream "sketch/rows" of the seed, skipping words that give p.
func newRows(hashes, cells int, seed [32]byte) (rows, error) {
	if hashes < 1 || cells < 2 || hashes > maxChannels || cells > maxChannels || hashes*cells > maxChannels {
		return rows{}, fmt.Errorf("sketch: %d rows of %d cells: give at least 1 of 2, and at most %d in all", hashes, cells, maxChannels)
	}
	words := encode.Expand(seed, "sketch/rows")
	r := rows{coefficients: make([][4]uint64, hashes), cells: uint64(cells)}
	for i := range r.coefficients {
		for j := 0; j < 4; {
			if a := words.Uint64() >> 3; a != prime {
				r.coefficients[i][j] = a
				j++
			}
		}
	}
	return r, nil
}

// Rows returns the number of hash functions.
func (r rows) Rows() int { return len(r.coefficients) }

// Cells returns the number of cells of a row: the K of the one-hot mechanism.
func (r rows) Cells() int { return int(r.cells) }

// Channels is Rows times Cells.
func (r rows) Channels() int { return r.Rows() * r.Cells() }

// Cell returns the cell of a value in a row.
func (r rows) Cell(row int, value uint32) uint32 {
	return r.cell(&r.coefficients[row], newPoint(value))
}

// Channel returns the channel of a cell of a row, row by row.
func (r rows) Channel(row int, cell uint32) uint32 {
	if row < 0 || row >= r.Rows() || uint64(cell) >= r.cells {
		panic(fmt.Sprintf("sketch: cell %d of row %d: there are %d rows of %d", cell, row, r.Rows(), r.cells))
	}
	return uint32(row)*uint32(r.cells) + cell
}

// point is a value with its square and cube modulo p, which all rows share.
type point struct{ x, x2, x3 uint64 }

func newPoint(value uint32) point {
	x := uint64(value)
	x2 := reduce(0, x*x)
	return point{x, x2, reduce(bits.Mul64(x2, x))}
}

func (r rows) cell(a *[4]uint64, p point) uint32 {
	// Three products below 2^122 and a term below 2^61 stay below 2^124.
	hi, lo := bits.Mul64(a[1], p.x)
	hi2, lo2 := bits.Mul64(a[2], p.x2)
	hi3, lo3 := bits.Mul64(a[3], p.x3)
	lo, carry := bits.Add64(lo, lo2, 0)
	hi, _ = bits.Add64(hi, hi2, carry)
	lo, carry = bits.Add64(lo, lo3, 0)
	hi, _ = bits.Add64(hi, hi3, carry)
	lo, carry = bits.Add64(lo, a[0], 0)
	h := reduce(hi+carry, lo)
	cell, _ := bits.Mul64(h<<3, r.cells)
	return uint32(cell)
}

// reduce is hi 2^64 + lo modulo p, for hi below 2^60. Since 2^61 is 1 modulo p, the
// bits from the 61st on are added to those below.
func reduce(hi, lo uint64) uint64 {
	h := lo&prime + (hi<<3 | lo>>61) // below 2^61 + 2^63
	h = h&prime + h>>61              // below 2^61 + 8
	if h >= prime {
		h -= prime
	}
	return h
}
