package tokenwire

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/token"
)

// What there is of CBOR (RFC 8949) in token requests and responses, in the core deterministic
// encoding of its section 4.2, in which a value has one form. It is here and no library's, as
// every device carries it: a library that reads all of CBOR is a tenth of a browser's module.
// Tests hold it to one.

// The major types that are used.
const (
	cborNumber = 0
	cborBytes  = 2
	cborArray  = 4
	cborMap    = 5
)

// cborHead appends the head of an item: its type and a number, in the shortest form.
func cborHead(b []byte, major byte, n uint64) []byte {
	switch major <<= 5; {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

// cborList begins the map of one member, 1, whose value is a list of n.
func cborList(n int) []byte {
	return cborHead(cborHead(cborHead(nil, cborMap, 1), cborNumber, 1), cborArray, uint64(n))
}

// cborReader reads items from the front. Once something is not as expected it stays so.
type cborReader struct {
	rest []byte
	bad  bool
}

// head returns the number in the head of the next item, which is of the type, in its shortest form,
// and at most so large; 0 otherwise.
func (r *cborReader) head(major byte, most uint64) uint64 {
	if r.bad || len(r.rest) == 0 || r.rest[0]>>5 != major {
		r.bad = true
		return 0
	}
	more := r.rest[0] & 31
	n, size := uint64(more), 1
	if more >= 24 {
		if more > 27 || len(r.rest) < 1+1<<(more-24) {
			r.bad = true // without a length, or cut off
			return 0
		}
		n = 0
		for _, b := range r.rest[1 : 1+1<<(more-24)] {
			n = n<<8 | uint64(b)
		}
		size += 1 << (more - 24)
	}
	if n > most || len(cborHead(nil, major, n)) != size {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// expect is head of exactly one number.
func (r *cborReader) expect(major byte, n uint64) {
	if r.head(major, n) != n {
		r.bad = true
	}
}

// sized returns the next string of bytes, which has the one length of what an issuer signs.
func (r *cborReader) sized(what, part string, i int) ([]byte, error) {
	n := r.head(cborBytes, uint64(len(r.rest)))
	if r.bad || n > uint64(len(r.rest)) {
		return nil, notCBOR(what)
	}
	if n != token.RequestSize {
		return nil, fmt.Errorf("wire: %s: %s %d has %d bytes: all have %d", what, part, i, n, token.RequestSize)
	}
	var b []byte
	b, r.rest = append(b, r.rest[:n]...), r.rest[n:]
	return b, nil
}

// notCBOR says no more: more might quote what was sent.
func notCBOR(what string) error {
	return fmt.Errorf("wire: %s: not the CBOR of one, or not in its one encoding", what)
}

// readList reads what cborList began, item by item: at least one, and nothing behind the last.
func readList(what string, data []byte, item func(i int, r *cborReader) error) error {
	if len(data) > MaxBody {
		return fmt.Errorf("wire: %s: more than %d bytes", what, MaxBody)
	}
	r := &cborReader{rest: data}
	r.expect(cborMap, 1)
	r.expect(cborNumber, 1)
	n := r.head(cborArray, maxAsks)
	if !r.bad && n == 0 {
		return fmt.Errorf("wire: %s: empty, or not in its one encoding", what)
	}
	for i := range int(n) {
		if err := item(i, r); err != nil {
			return err
		}
	}
	if r.bad || len(r.rest) > 0 {
		return notCBOR(what)
	}
	return nil
}
