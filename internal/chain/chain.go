// Package chain keeps groups of bytes in the order in which they came. Each says
// its number and the SHA-256 of the one before, so that whoever knows where a
// chain ended sees whether anything in it is missing, changed or out of place. A
// Log is a chain in a file of its own; a chain may lie elsewhere too.
package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
)

// A group is
//
//	version (1) || number (8) || SHA-256 of the group before (32) || body
//
// with numbers from 1 on, big-endian.
const (
	version = 1

	// Head is the length in bytes of what stands before a group's body.
	Head = 1 + 8 + sha256.Size
)

var (
	// ErrDamaged is the error of a chain in which something is changed, missing or
	// of another chain, as no crash leaves it.
	ErrDamaged = errors.New("chain: damaged")

	// ErrShort is the error of a chain that ends before a point that it had reached.
	ErrShort = errors.New("chain: shorter than it was")
)

// Point is a place in a chain: how many groups have been, and the SHA-256 of the
// last. The zero Point is no place in any chain.
type Point struct {
	Number uint64
	Digest [sha256.Size]byte
}

// Begin is where the chain of that title begins. Chains of different titles have
// no group in common.
func Begin(title string) Point { return Point{Digest: sha256.Sum256([]byte(title))} }

// Append appends to dst the head of the group that follows the point. The body is
// appended by the caller, and Follow finds the next point.
func (p Point) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, version), p.Number+1)
	return append(dst, p.Digest[:]...)
}

// Follow checks that a group is the one after the point, and returns its body,
// which aliases it, and the point behind it. The error is ErrDamaged.
func (p Point) Follow(group []byte) (body []byte, next Point, err error) {
	if len(group) < Head || group[0] != version {
		return nil, p, fmt.Errorf("%w: what follows group %d is no group", ErrDamaged, p.Number)
	}
	if number := binary.BigEndian.Uint64(group[1:]); number != p.Number+1 {
		return nil, p, fmt.Errorf("%w: group %d follows group %d", ErrDamaged, number, p.Number)
	}
	if !bytes.Equal(group[9:Head], p.Digest[:]) {
		return nil, p, fmt.Errorf("%w: group %d was written behind another group %d", ErrDamaged, p.Number+1, p.Number)
	}
	return group[Head:], Point{p.Number + 1, sha256.Sum256(group)}, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MarshalText writes a point as number, digest and CRC-32C of both, in one line.
func (p Point) MarshalText() ([]byte, error) {
	text := fmt.Appendf(nil, "%d %x", p.Number, p.Digest)
	return fmt.Appendf(text, " %08x", crc32.Checksum(text, castagnoli)), nil
}

// UnmarshalText reads what MarshalText wrote, and nothing else.
func (p *Point) UnmarshalText(text []byte) error {
	fields := bytes.Split(text, []byte(" "))
	if len(fields) != 3 || len(fields[1]) != 2*sha256.Size {
		return errors.New("chain: not a number, a digest and a checksum")
	}
	var read Point
	if _, err := fmt.Sscanf(string(fields[0]), "%d", &read.Number); err != nil {
		return errors.New("chain: not a number, a digest and a checksum")
	}
	hex.Decode(read.Digest[:], fields[1])
	if again, _ := read.MarshalText(); !bytes.Equal(again, text) {
		return errors.New("chain: the checksum of a point is another one")
	}
	*p = read
	return nil
}
