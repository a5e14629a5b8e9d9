package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A tally may have tens of millions of counts. It is kept in parts, each short
// enough that neither database nor service holds more than one beside the tally,
// each count as an unsigned varint: most counts are small, and take one byte or two.
const partLength = 1 << 16

// encodePart appends the counts of one part to b.
func encodePart(b []byte, n []uint64) []byte {
	for _, k := range n {
		b = binary.AppendUvarint(b, k)
	}
	return b
}

// partSum is the CRC-32C of a part and of where it stands: SQLite's pages have none.
// Parts that were written before there was one have NULL in its place.
func partSum(b Batch, part int, body []byte) int64 {
	crc := crc32.Checksum(fmt.Appendf(nil, "%s %d %d %d ", b.Plan, b.Instance, b.Crowd, part), castagnoli)
	return int64(crc32.Update(crc, castagnoli, body))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("store: a part of a tally is damaged: restore a backup")

// decodePart reads exactly len(into) counts, each in its shortest form, and
// nothing more.
func decodePart(body []byte, into []uint64) error {
	for i := range into {
		k, size := binary.Uvarint(body)
		if size <= 0 || size > 1 && body[size-1] == 0 {
			return fmt.Errorf("%w (count %d)", errDamaged, i)
		}
		into[i], body = k, body[size:]
	}
	if len(body) > 0 {
		return fmt.Errorf("%w (%d bytes too many)", errDamaged, len(body))
	}
	return nil
}
