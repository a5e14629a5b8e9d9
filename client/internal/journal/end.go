package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strconv"
	"strings"
)

// endName says how far the ledger had come: how many bytes, the CRC-32C of them, and
// one of the line itself. A ledger that lost its last lines, or all of them, or is an
// older copy, would have the device say a second thing, and spend again what it has
// spent. What it says may be behind the ledger, never ahead of it.
const endName = "ledger.end"

func endLine(size int, sum uint32) []byte {
	line := fmt.Appendf(nil, "%d %08x", size, sum)
	return fmt.Appendf(line, " %08x\n", crc32.Checksum(line, Castagnoli))
}

// Reached writes down how far the journal has come. If it cannot, the journal itself is
// none the worse.
func (j *Journal) Reached() {
	line := endLine(j.size, j.crc)
	if there, err := j.store.Load(endName); err != nil || string(there) != string(line) {
		_ = j.store.Replace(endName, line)
	}
}

// checkEnd compares the good bytes of a ledger with how far it had come, where that is
// known, and returns their CRC-32C.
func checkEnd(s Store, good []byte) (crc uint32, err error) {
	text, err := s.Load(endName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("client: %w", err)
	}
	bytes, sum, _ := strings.Cut(string(text), " ")
	sum, _, _ = strings.Cut(sum, " ")
	size, noSize := strconv.Atoi(bytes)
	then, noSum := strconv.ParseUint(sum, 16, 32)
	if err != nil || noSize != nil || noSum != nil || size < 0 || string(endLine(size, uint32(then))) != string(text) {
		return crc32.Checksum(good, Castagnoli), nil // the ledger is the better witness
	}
	if size > len(good) {
		return 0, ErrDamaged
	}
	if crc = crc32.Checksum(good[:size], Castagnoli); crc != uint32(then) {
		return 0, ErrDamaged
	}
	return crc32.Update(crc, Castagnoli, good[size:]), nil
}
