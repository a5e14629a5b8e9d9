package store

import (
	"fmt"
	"hash/crc32"
)

// A tally's encoding may have hundreds of megabytes. It is kept in parts, each short
// enough for a row of either database. What the bytes say is not known here. Parts
// were cut elsewhere before, and have any length.
const partLength = 1 << 17

// partSum returns the CRC-32C of a part and of where it stands: SQLite's pages have none.
// Parts that were written before there was one have NULL in its place.
func partSum(b Batch, part int, body []byte) int64 {
	crc := crc32.Checksum(fmt.Appendf(nil, "%s %d %d %d ", b.Plan, b.Instance, b.Crowd, part), castagnoli)
	return int64(crc32.Update(crc, castagnoli, body))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
