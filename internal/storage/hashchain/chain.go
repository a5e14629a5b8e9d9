// Package hashchain keeps groups of bytes in order, each with its number and the SHA-256 of the one before, so that
// what is missing or changed is seen. Used by internal/storage/keep/journal and internal/service/analyzerd/rows.
package hashchain

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

// ErrDamaged is the error of a chain in which something is changed, missing or of another chain, as no
// crash leaves it, or that ends before a point that it had reached.
var ErrDamaged = errors.New("hashchain: damaged")

// Point is a place in a chain: how many groups have been, and the SHA-256 of the
// last. The zero Point is no place in any chain.
type Point struct {
	Number uint64
	Digest [sha256.Size]byte
}

// Begin returns where the chain of that title begins. Chains of different titles have
// no group in common.
func Begin(title string) Point { return Point{Digest: sha256.Sum256([]byte(title))} }

// Append appends to dst the head of the group that follows the point; the body
// comes behind it.
func (p Point) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, version), p.Number+1)
	return append(dst, p.Digest[:]...)
}

// behind returns the point after a group, which follows this one.
func (p Point) behind(group []byte) Point { return Point{p.Number + 1, sha256.Sum256(group)} }

// Gap is the groups from one number to another, both included, that are not in a
// chain where they should be: damaged, or gone. To is From-1 where something else
// stands between two groups and none is missing.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Walk goes along a chain from its End.
type Walk struct {
	End   Point // reached so far
	Known Point // that the chain must come by; zero: none is known

	// Skip is asked about each gap: nil goes on behind it, any other error ends the
	// walk. Without Skip every gap is ErrDamaged.
	Skip func(Gap) error
}

// Group takes the next group and returns its head and body, which alias it. The
// error is ErrDamaged, or Skip's.
func (w *Walk) Group(group []byte) (head, body []byte, err error) {
	if len(group) < Head || group[0] != version {
		return nil, nil, fmt.Errorf("%w: what follows group %d is no group", ErrDamaged, w.End.Number)
	}
	if numberOf(group) > w.End.Number+1 {
		if err := w.jump(group); err != nil {
			return nil, nil, err
		}
	}
	if number := numberOf(group); number != w.End.Number+1 {
		return nil, nil, fmt.Errorf("%w: group %d follows group %d", ErrDamaged, number, w.End.Number)
	}
	if !bytes.Equal(group[9:Head], w.End.Digest[:]) {
		return nil, nil, fmt.Errorf("%w: group %d was written behind another group %d", ErrDamaged, w.End.Number+1, w.End.Number)
	}
	return group[:Head:Head], group[Head:], w.reach(w.End.behind(group))
}

// jump goes to where a group says that it begins, past a gap.
func (w *Walk) jump(group []byte) error {
	gap := Gap{w.End.Number + 1, numberOf(group) - 1}
	if w.Skip == nil {
		return fmt.Errorf("%w: behind group %d stands what is no group, or nothing, and behind that group %d", ErrDamaged, w.End.Number, gap.To+1)
	}
	if err := w.Skip(gap); err != nil {
		return err
	}
	return w.reach(Point{gap.To, [sha256.Size]byte(group[9:Head])})
}

func (w *Walk) reach(p Point) error {
	if p.Number == w.Known.Number && p != w.Known && p.Number > 0 {
		return fmt.Errorf("%w: group %d is another one than it was", ErrDamaged, p.Number)
	}
	w.End = p
	return nil
}

// Finish checks that the chain came as far as was known, or goes there past a gap.
func (w *Walk) Finish() error {
	if w.End.Number >= w.Known.Number {
		return nil
	}
	if w.Skip == nil {
		return fmt.Errorf("%w: it ends with group %d and had %d", ErrDamaged, w.End.Number, w.Known.Number)
	}
	if err := w.Skip(Gap{w.End.Number + 1, w.Known.Number}); err != nil {
		return err
	}
	w.End = w.Known
	return nil
}

// numberOf returns the number in the head of a group.
func numberOf(group []byte) uint64 { return binary.BigEndian.Uint64(group[1:]) }

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
		return errors.New("hashchain: not a number, a digest and a checksum")
	}
	var read Point
	if _, err := fmt.Sscanf(string(fields[0]), "%d", &read.Number); err != nil {
		return errors.New("hashchain: not a number, a digest and a checksum")
	}
	hex.Decode(read.Digest[:], fields[1])
	if again, _ := read.MarshalText(); !bytes.Equal(again, text) {
		return errors.New("hashchain: the checksum of a point is another one")
	}
	*p = read
	return nil
}
