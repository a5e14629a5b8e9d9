// Package treecode turns strings that nobody listed into sparse vectors from which frequent ones can be read
// (docs/strings.md). Used by question/strings and internal/dp/treecode/decode.
//
// A string is a path in a tree. Its bucket is a hash of the whole string. Each position says, in cells of the bucket, a
// hash of the string's beginning up to there; a few more say a hash of the whole. A small part of the length tells
// which symbols follow each other. All entries are at least zero and the norm is at most one, so two vectors are at
// most the root of SquaredDistance apart.
package treecode

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/dp/encode"
)

// SquaredDistance is the largest of two vectors: entries are at least zero, and norms at most one.
const SquaredDistance = 2

// The limits of a shape.
const (
	maxSymbols = 128 // of an alphabet, the end mark counted
	maxLongest = 256 // symbols of a string
	maxNumbers = 1 << 24
	maxHashes  = 8 // cells that one hash of 64 bits names
	maxCells   = 256
)

// Shape is all of a code but its seed.
type Shape struct {
	Alphabet string  // characters; empty: any text, whose bytes are two symbols each
	Longest  int     // characters, or bytes of any text
	Cells    int     // q of a position
	Hashes   int     // positions of each symbol
	Tail     int     // positions of the whole string
	Buckets  int     // M
	Pairs    float64 // the share of the squared length that tells which symbols follow each other
}

// Symbols returns how many different ones there are, the end mark counted.
func (s Shape) Symbols() int {
	if s.Alphabet == "" {
		return 17
	}
	return 1 + utf8.RuneCountInString(s.Alphabet)
}

// Length returns the symbols of the longest string.
func (s Shape) Length() int {
	if s.Alphabet == "" {
		return 2 * s.Longest
	}
	return s.Longest
}

// Positions returns J, how many cells of its bucket a string has.
func (s Shape) Positions() int { return s.Length()*s.Hashes + s.Tail }

// Pairing returns how many numbers tell which symbols follow each other.
func (s Shape) Pairing() int {
	if s.Pairs == 0 {
		return 0
	}
	return s.Length() * s.Symbols() * s.Symbols()
}

// Ones returns how many entries of a vector are not zero, at most.
func (s Shape) Ones() int {
	if s.Pairs == 0 {
		return s.Positions()
	}
	return s.Positions() + s.Length()
}

// Even returns the share of pairs with which all entries of a vector are alike.
func (s Shape) Even() float64 { return float64(s.Length()) / float64(s.Positions()+s.Length()) }

// Norm returns the length, in the sense of geometry, of the vector of a string of so many symbols: shorter ones have
// fewer pairs.
func (s Shape) Norm(symbols int) float64 {
	return math.Sqrt(1 - s.Pairs + s.Pairs*float64(min(symbols+1, s.Length()))/float64(s.Length()))
}

// Numbers returns the length of vectors.
func (s Shape) Numbers() int { return s.Buckets*s.Positions()*s.Cells + s.Pairing() }

// Validate says what is wrong with the shape.
func (s Shape) Validate() error {
	var errs []error
	need := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf("strings: "+format, args...))
		}
	}
	need(utf8.ValidString(s.Alphabet), "the alphabet is not valid UTF-8")
	seen := map[rune]bool{}
	for _, c := range s.Alphabet {
		need(!seen[c], "the alphabet has a character twice")
		seen[c] = true
	}
	need(s.Symbols() >= 2 && s.Symbols() <= maxSymbols, "an alphabet of %d characters: give 1 to %d, or none for any text", s.Symbols()-1, maxSymbols-1)
	need(s.Longest >= 1 && s.Length() <= maxLongest, "strings of up to %d: give 1 to %d characters, or half as many bytes", s.Longest, maxLongest)
	need(s.Cells >= 2 && s.Cells <= maxCells, "%d cells of a position: give 2 to %d", s.Cells, maxCells)
	need(s.Hashes >= 1 && s.Hashes <= maxHashes, "%d hashes of each beginning: give 1 to %d", s.Hashes, maxHashes)
	need(s.Tail >= 1 && s.Tail <= maxLongest, "%d hashes of the whole: give 1 to %d", s.Tail, maxLongest)
	need(s.Buckets >= 1 && s.Buckets <= maxNumbers, "%d buckets: give 1 to %d", s.Buckets, maxNumbers)
	need(s.Pairs >= 0 && s.Pairs <= 0.5, "a share %v of symbols that follow each other: give 0 to 1/2", s.Pairs)
	if len(errs) == 0 {
		need(s.Buckets <= (maxNumbers-s.Pairing())/(s.Positions()*s.Cells), "vectors of more than %d numbers: give fewer buckets, cells or characters", maxNumbers)
	}
	return errors.Join(errs...)
}

// Code is a shape with its seed, for any number of goroutines at once.
type Code struct {
	Shape
	runes      []rune
	index      map[rune]uint8
	root       State
	bucketSalt uint64
	cellSalt   uint64
}

// New derives the code from a public seed: of the stream "strings/tree" the root of the tree, and
// what buckets and cells are hashed with.
func New(s Shape, seed [32]byte) (*Code, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	c := &Code{Shape: s, runes: []rune(s.Alphabet), index: map[rune]uint8{}}
	for i, r := range c.runes {
		c.index[r] = uint8(i + 1)
	}
	public := encode.NewStream(seed, "strings/tree")
	c.root, c.bucketSalt, c.cellSalt = State(public.Uint64()), public.Uint64(), public.Uint64()
	return c, nil
}

// Symbols returns Shape.Symbols without counting the alphabet's characters again.
func (c *Code) Symbols() int {
	if c.Alphabet == "" {
		return c.Shape.Symbols()
	}
	return 1 + len(c.runes)
}

// State names a beginning of strings.
type State uint64

// mix returns the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// Root returns the state of the empty beginning.
func (c *Code) Root() State { return c.root }

// Next returns the state of a beginning that goes on by a symbol; 0 is the end.
func (s State) Next(symbol uint8) State { return State(mix(uint64(s) + (uint64(symbol)+1)*golden)) }

// Bucket returns that of a whole string.
func (c *Code) Bucket(whole State) int {
	high, _ := bits.Mul64(mix(uint64(whole)^c.bucketSalt), uint64(c.Buckets))
	return int(high)
}

// Salt returns what hashes of a place in a bucket begin with: places are those of symbols, and then of the tail.
func (c *Code) Salt(bucket, place int) uint64 {
	return mix(c.cellSalt + (uint64(bucket)<<16+uint64(place)+1)*golden)
}

// Hash returns the hash of a beginning at a place.
func (s State) Hash(salt uint64) uint64 { return mix(uint64(s) ^ salt) }

// Cell returns cell k of a hash: of its byte k, the lowest first.
func (c *Code) Cell(hash uint64, k int) int {
	return int(hash>>(8*uint(k))&0xff) * c.Cells >> 8
}

var (
	errSymbol = errors.New("strings: a character is not of the alphabet, or the text is not UTF-8")
	ErrLong   = errors.New("strings: the text is longer than the plan's longest")
	errEmpty  = errors.New("strings: the text is empty")
)

// Encode returns the symbols of a string, from 1.
func (c *Code) Encode(text string) ([]uint8, error) {
	var symbols []uint8
	switch {
	case text == "":
		return nil, errEmpty
	case !utf8.ValidString(text):
		return nil, errSymbol
	case c.Alphabet == "":
		for _, b := range []byte(text) {
			symbols = append(symbols, 1+b>>4, 1+b&15)
		}
	default:
		for _, r := range text {
			symbol, known := c.index[r]
			if !known {
				return nil, errSymbol
			}
			symbols = append(symbols, symbol)
		}
	}
	if len(symbols) > c.Length() {
		return nil, ErrLong
	}
	return symbols, nil
}

// Cut returns as many whole characters of a text, from the first, as strings may have.
func (c *Code) Cut(text string) string {
	characters := 0
	for i, r := range text {
		if characters == c.Longest && c.Alphabet != "" || c.Alphabet == "" && i+utf8.RuneLen(r) > c.Longest {
			return text[:i]
		}
		characters++
	}
	return text
}

// Decode returns the string of symbols, and false where devices send none such.
func (c *Code) Decode(symbols []uint8) (text string, ok bool) {
	if c.Alphabet != "" {
		for _, s := range symbols {
			text += string(c.runes[s-1])
		}
		return text, text != ""
	}
	var b []byte
	for i := 0; i+1 < len(symbols); i += 2 {
		b = append(b, (symbols[i]-1)<<4|(symbols[i+1]-1))
	}
	return string(b), len(b) > 0 && len(symbols)%2 == 0 && utf8.Valid(b)
}

// Context returns the symbol that one at a place is told beside: the one before; of bytes, for a high
// half the high half before it.
func (c *Code) Context(symbols []uint8, at int) uint8 {
	before := at - 1
	if c.Alphabet == "" && at%2 == 0 {
		before = at - 2
	}
	if before < 0 {
		return 0
	}
	return symbols[before]
}

// Ends says that a string may end before the symbol at a place.
func (c *Code) Ends(at int) bool { return c.Alphabet != "" || at%2 == 0 }

// Word returns the bucket of a string, and its cell at each position. No symbols are the reserved string.
func (c *Code) Word(symbols []uint8) (bucket int, cells []uint8) {
	states := make([]State, c.Length())
	s := c.root
	for i := range states {
		if i < len(symbols) {
			s = s.Next(symbols[i])
		} else if i == len(symbols) {
			s = s.Next(0)
		}
		states[i] = s
	}
	bucket = c.Bucket(s)
	cells = make([]uint8, 0, c.Positions())
	for i, s := range states {
		h := s.Hash(c.Salt(bucket, i))
		for k := range c.Hashes {
			cells = append(cells, uint8(c.Cell(h, k)))
		}
	}
	for i := range c.Tail {
		cells = append(cells, uint8(c.Cell(s.Hash(c.Salt(bucket, c.Length()+i)), 0)))
	}
	return bucket, cells
}

// Write writes the vector of a string; no symbols are the reserved string.
func (c *Code) Write(symbols []uint8, out []float32) {
	clear(out)
	for at, entry := range c.Entries(symbols) {
		out[at] = entry
	}
}

// Entries returns the vector of a string by its entries above zero, each with its place.
func (c *Code) Entries(symbols []uint8) iter.Seq2[int, float32] {
	return func(yield func(int, float32) bool) {
		bucket, cells := c.Word(symbols)
		at := bucket * c.Positions() * c.Cells
		entry := float32(math.Sqrt((1 - c.Pairs) / float64(c.Positions())))
		for i, cell := range cells {
			if !yield(at+i*c.Cells+int(cell), entry) {
				return
			}
		}
		if c.Pairs == 0 {
			return
		}
		at, entry = c.Buckets*c.Positions()*c.Cells, float32(math.Sqrt(c.Pairs/float64(c.Length())))
		for i := range min(len(symbols)+1, c.Length()) {
			symbol := uint8(0)
			if i < len(symbols) {
				symbol = symbols[i]
			}
			if !yield(at+c.Pair(i, c.Context(symbols, i), symbol), entry) {
				return
			}
		}
	}
}

// Pair returns the place, among the numbers of pairs, of a symbol beside its context.
func (c *Code) Pair(at int, context, symbol uint8) int {
	return (at*c.Symbols()+int(context))*c.Symbols() + int(symbol)
}
