package client

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
)

// endFile says how far the ledger had come: how many bytes, the CRC-32C of them, and
// one of the line itself. A ledger that lost its last lines, or all of them, or is an
// older copy, would have the device say a second thing, and spend again what it has
// spent. The file may be behind the ledger, never ahead of it.
const endFile = "ledger.end"

func endLine(size int, sum uint32) []byte {
	line := fmt.Appendf(nil, "%d %08x", size, sum)
	return fmt.Appendf(line, " %08x\n", crc32.Checksum(line, castagnoli))
}

// reached writes down how far the ledger has come. If it cannot, the ledger itself is
// none the worse.
func (f folder) reached(l *Ledger) {
	line := endLine(l.size, l.crc)
	if there, err := os.ReadFile(f.path(endFile)); err != nil || string(there) != string(line) {
		_ = f.write(line, endFile)
	}
}

// checkEnd compares the good bytes of a ledger with how far it had come, where that is
// known.
func (f folder) checkEnd(good []byte) error {
	text, err := os.ReadFile(f.path(endFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	var size int
	var sum, of uint32
	if _, err := fmt.Sscanf(string(text), "%d %x %x", &size, &sum, &of); err != nil || string(endLine(size, sum)) != string(text) {
		return nil // the ledger is the better witness
	}
	if size > len(good) || crc32.Checksum(good[:size], castagnoli) != sum {
		return errDamaged
	}
	return nil
}
