// Package journal keeps records in a device's store so that none is lost and no loss goes unseen. Used by client for
// the ledger.
//
// A journal is a line that names its form, and a line for each record: eight hex digits of the CRC-32C of the rest,
// a blank, and the record, which has no line break. A record that was appended is kept. What a crash can leave is a
// torn last line, which was acknowledged to nobody: a reader passes over it and the next append cuts it off. A bad
// line before the last is damage, and nothing is written over damage.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
)

// Name is what the journal is kept under.
const Name = "ledger"

const (
	title = "confetti-ledger/v"
	// Head is the first line of a journal of this version.
	Head = "confetti-ledger/v3\n"
)

// Earlier are the first lines of version 1, which kept the messages of a part without the
// dummies among them, and of version 2, which kept payloads. They are read, and become this
// version with the next record.
var Earlier = []string{"confetti-ledger/v1\n", "confetti-ledger/v2\n"}

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
}

// Size returns how many bytes it has.
func (j *Journal) Size() int { return j.size }

// Line appends the line of a record.
func Line(b, record []byte) []byte {
	b = fmt.Appendf(b, "%08x ", crc32.Checksum(record, Castagnoli))
	return append(append(b, record...), '\n')
}

// Parse splits a journal into its records and says how many bytes of it are good.
func Parse(data []byte) (records [][]byte, good int, err error) {
	first, rest, found := bytes.Cut(data, []byte("\n"))
	switch head := string(first) + "\n"; {
	case !found || !strings.HasPrefix(head, title):
		return nil, 0, ErrDamaged
	case head != Head && !slices.Contains(Earlier, head):
		return nil, 0, ErrLater
	}
	good = len(first) + 1
	for len(rest) > 0 {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		record, ok := parseLine(line)
		if !whole || !ok {
			if len(after) > 0 {
				return nil, 0, ErrDamaged
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
	return record, bytes.Equal(Line(nil, record), append(line[:len(line):len(line)], '\n'))
}

// Make makes an empty journal where there is none yet.
func Make(s Store) error {
	if _, err := s.Stamp(Name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := s.Stamp(endName); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrDamaged, err) // there was one
	}
	return s.Replace(Name, []byte(Head))
}

// Read reads the journal of a store and its records, and changes nothing; fs.ErrNotExist
// where there is none.
func Read(s Store) (j *Journal, records [][]byte, err error) {
	data, err := s.Load(Name)
	if err != nil {
		return nil, nil, err
	}
	records, size, err := Parse(data)
	if err != nil {
		return nil, nil, err
	}
	good := data[:size]
	if err := checkEnd(s, good); err != nil {
		return nil, nil, err
	}
	return &Journal{s, size, crc32.Checksum(good, Castagnoli), string(good[:bytes.IndexByte(good, '\n')+1])}, records, nil
}

// Append keeps one more record. A journal of an earlier version is written as one of this
// version first, with all its records.
func (j *Journal) Append(record []byte) error {
	if j.head != Head {
		data, err := j.store.Load(Name)
		if err != nil {
			return err
		}
		_, good, err := Parse(data)
		if err != nil {
			return err
		}
		if err := j.write(append([]byte(Head), data[len(j.head):good]...)); err != nil {
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
	j.size, j.crc = j.size+len(line), crc32.Update(j.crc, Castagnoli, line)
	j.Reached()
	return nil
}

// Replace puts other records in the place of all.
func (j *Journal) Replace(records [][]byte) error {
	data := []byte(Head)
	for _, record := range records {
		data = Line(data, record)
	}
	return j.write(data)
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
