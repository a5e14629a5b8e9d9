// Package journal keeps records in a device's store so that none is lost and no loss goes unseen. Used by client for
// the ledger.
//
// A journal is a line that names its form, what was compacted, and a line for each record since: eight hex digits of
// the CRC-32C of the rest, a blank, and the record, which has no line break. What was compacted is bytes of any form
// behind a line of that kind, which says how many they are and their CRC-32C. A record that was appended is kept. What
// a crash can leave is a torn last line, which was acknowledged to nobody: a reader passes over it and the next append
// cuts it off. A bad line before the last is damage, and nothing is written over damage.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Name is what the journal is kept under.
const Name = "ledger"

const (
	title = "confetti-ledger/v"
	// Head is the first line of a journal of this version.
	Head = "confetti-ledger/v4\n"
)

// earlier are the first lines of version 1, which kept the messages of a part without the
// dummies among them, of version 2, which kept payloads, and of version 3, which compacted
// nothing. They are read, and become this version with the next record.
var earlier = []string{"confetti-ledger/v1\n", "confetti-ledger/v2\n", "confetti-ledger/v3\n"}

// Castagnoli is the polynomial of all checksums of a device's store.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged is the error of a journal that somebody or something has changed.
var ErrDamaged = errors.New("client: the ledger is damaged: restore it, or remove the device's folder and with it the record of what was spent")

// ErrLater is the error of a journal of a version that is not known here.
var ErrLater = errors.New("client: the ledger is of a later version than this program, and nothing may be answered beside it: update the program")

// Store is what a journal needs of a device's store (client.Store).
type Store interface {
	Load(name string) ([]byte, error)
	Append(name string, at int, data []byte) error
	Replace(name string, data []byte) error
	Remove(name string) error
	Stamp(name string) (any, error)
}

// Journal is a journal as it was read or written last.
type Journal struct {
	store Store
	size  int    // its good bytes
	crc   uint32 // CRC-32C of them
	head  string // its first line
	lines int    // how many of the bytes are lines of records
}

// Size returns how many bytes it has.
func (j *Journal) Size() int { return j.size }

// Lines returns how many of its bytes are records that were not compacted.
func (j *Journal) Lines() int { return j.lines }

// Line appends the line of a record.
func Line(b, record []byte) []byte {
	return append(append(append(b, sum(record)...), record...), '\n')
}

// sum returns what stands before a record.
func sum(record []byte) []byte { return fmt.Appendf(nil, "%08x ", crc32.Checksum(record, Castagnoli)) }

// begin returns a journal of what was compacted and no record.
func begin(compacted []byte) []byte {
	return append(measure([]byte(Head), compacted), compacted...)
}

// measure appends the line before what was compacted.
func measure(b, compacted []byte) []byte {
	return Line(b, fmt.Appendf(nil, "%d %08x", len(compacted), crc32.Checksum(compacted, Castagnoli)))
}

// Parse splits a journal into what was compacted and the records since, and says how many
// bytes of it are good.
func Parse(data []byte) (compacted []byte, records [][]byte, good int, err error) {
	first, rest, found := bytes.Cut(data, []byte("\n"))
	head := string(first) + "\n"
	switch {
	case !found || !strings.HasPrefix(head, title):
		return nil, nil, 0, ErrDamaged
	case head == Head:
		if compacted, rest, err = cutCompacted(rest); err != nil {
			return nil, nil, 0, err
		}
	case !slices.Contains(earlier, head):
		return nil, nil, 0, ErrLater
	}
	good = len(data) - len(rest)
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		record, ok := parseLine(line)
		if !whole || !ok {
			if len(after) > 0 {
				return nil, nil, 0, ErrDamaged
			}
			return compacted, records, good, nil
		}
		records = append(records, record)
		good += len(line) + 1
		rest = after
	}
	return compacted, records, good, nil
}

// cutCompacted cuts off what begin writes behind the first line. All of it was written at once
// with that line, so that no crash leaves a part.
func cutCompacted(data []byte) (compacted, rest []byte, err error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	_, size, _ := bytes.Cut(line, []byte(" "))
	size, _, _ = bytes.Cut(size, []byte(" "))
	n, bad := strconv.Atoi(string(size))
	if bad != nil || n < 0 || n > len(rest) || !bytes.HasPrefix(data, measure(nil, rest[:n])) {
		return nil, nil, ErrDamaged
	}
	return rest[:n:n], rest[n:], nil
}

func parseLine(line []byte) (record []byte, ok bool) {
	if len(line) < 9 {
		return nil, false
	}
	record = line[9:]
	return record, bytes.HasPrefix(line, sum(record))
}

// Made reports whether there is a journal. It changes nothing, and needs no lock.
func Made(s Store) (bool, error) {
	_, err := s.Stamp(Name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	if _, err := s.Stamp(endName); !errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(ErrDamaged, err) // there was one
	}
	return false, nil
}

// Make makes an empty journal where there is none yet.
func Make(s Store) error {
	made, err := Made(s)
	if made || err != nil {
		return err
	}
	return s.Replace(Name, begin(nil))
}

// Read reads the journal of a store, what was compacted and the records since, and changes
// nothing; fs.ErrNotExist where there is none.
func Read(s Store) (j *Journal, compacted []byte, records [][]byte, err error) {
	data, err := s.Load(Name)
	if err != nil {
		return nil, nil, nil, err
	}
	compacted, records, size, err := Parse(data)
	if err != nil {
		return nil, nil, nil, err
	}
	good := data[:size]
	crc, err := checkEnd(s, good)
	if err != nil {
		return nil, nil, nil, err
	}
	j = &Journal{store: s, size: size, crc: crc, head: string(good[:bytes.IndexByte(good, '\n')+1])}
	for _, record := range records {
		j.lines += len(sum(record)) + len(record) + 1
	}
	return j, compacted, records, nil
}

// Append keeps one more record. A journal of an earlier version is written as one of this
// version first, with all its records.
func (j *Journal) Append(record []byte) error {
	if j.head != Head {
		data, err := j.store.Load(Name)
		if err != nil {
			return err
		}
		_, _, good, err := Parse(data)
		if err != nil {
			return err
		}
		if err := j.write(append(begin(nil), data[len(j.head):good]...)); err != nil {
			return err
		}
	}
	line := Line(nil, record)
	err := j.store.Append(Name, j.size, line)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrDamaged // it was read a moment ago
	}
	if err != nil {
		return fmt.Errorf("client: the ledger cannot be written, so that nothing leaves the device: %w", err)
	}
	j.size, j.crc, j.lines = j.size+len(line), crc32.Update(j.crc, Castagnoli, line), j.lines+len(line)
	j.Reached()
	return nil
}

// Replace puts what the caller made of all records in their place.
func (j *Journal) Replace(compacted []byte) error {
	if err := j.write(begin(compacted)); err != nil {
		return err
	}
	j.lines = 0
	return nil
}

func (j *Journal) write(data []byte) error {
	if err := j.store.Remove(endName); err != nil { // it is of another journal in a moment
		return err
	}
	if err := j.store.Replace(Name, data); err != nil {
		return err
	}
	j.size, j.crc, j.head = len(data), crc32.Checksum(data, Castagnoli), Head
	j.Reached()
	return nil
}
