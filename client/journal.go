package client

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A journal is a file of records, each one line: eight hex digits of the CRC-32C
// of the rest, a blank, and the record, which has no line break. A record that
// was appended is on the disk. What a crash can leave is a torn last line, which
// was acknowledged to nobody: a reader passes over it and the next append cuts it
// off. A bad line before the last is damage, and nothing is written over damage.
const (
	journalTitle = "confetti-ledger/v"
	journalHead  = "confetti-ledger/v3\n"

	// maxJournal bounds what is read into memory, in bytes: far above what a ledger
	// is compacted to.
	maxJournal = 1 << 30
)

// earlierHeads are of version 1, which kept the messages of a part without the dummies
// among them, and of version 2, which kept payloads. They are read, and become this version
// with the next record.
var earlierHeads = []string{"confetti-ledger/v1\n", "confetti-ledger/v2\n"}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is the error of a journal that somebody or something has changed.
var errDamaged = errors.New("client: the ledger is damaged: restore it, or remove the device's folder and with it the record of what was spent")

// errLater is the error of a journal of a version that is not known here.
var errLater = errors.New("client: the ledger is of a later version than this program, and nothing may be answered beside it: update the program")

// appendLine appends the line of a record.
func appendLine(b, record []byte) []byte {
	b = fmt.Appendf(b, "%08x ", crc32.Checksum(record, castagnoli))
	return append(append(b, record...), '\n')
}

// parseJournal splits a journal into its records and says how many bytes of it
// are good.
func parseJournal(data []byte) (records [][]byte, good int, err error) {
	first, rest, found := bytes.Cut(data, []byte("\n"))
	switch head := string(first) + "\n"; {
	case !found || !strings.HasPrefix(head, journalTitle):
		return nil, 0, errDamaged
	case head != journalHead && !slices.Contains(earlierHeads, head):
		return nil, 0, errLater
	}
	good = len(first) + 1
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		record, ok := parseLine(line)
		if !whole || !ok {
			if len(after) > 0 {
				return nil, 0, errDamaged
			}
			return records, good, nil
		}
		records = append(records, record)
		good += len(line) + 1
		rest = after
	}
	return records, good, nil
}

func parseLine(line []byte) (record []byte, ok bool) {
	if len(line) < 9 {
		return nil, false
	}
	record = line[9:]
	return record, bytes.Equal(appendLine(nil, record), append(line[:len(line):len(line)], '\n'))
}

// readJournal reads the journal at path, and returns its records and its good bytes;
// fs.ErrNotExist where there is none.
func readJournal(path string) (records [][]byte, good []byte, err error) {
	status, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if status.Size() > maxJournal {
		return nil, nil, errDamaged
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	records, size, err := parseJournal(data)
	return records, data[:size], err
}

// appendJournal puts one more record on the disk, after the good bytes. If it
// cannot, it takes back what it wrote.
func appendJournal(path string, good int, record []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errDamaged // it was read a moment ago
	}
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	err = file.Truncate(int64(good))
	if err == nil {
		_, err = file.WriteAt(appendLine(nil, record), int64(good))
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		err = errors.Join(err, file.Truncate(int64(good)), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("client: the ledger cannot be written, so that nothing leaves the device: %w", err)
	}
	return nil
}
