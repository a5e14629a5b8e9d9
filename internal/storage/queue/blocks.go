package queue

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The embedded server keeps a stream in blocks: files of records, one behind the
// other, little-endian (nats-server 2.15, filestore.go):
//
//	length of the record (4; the highest bit: it has headers) || number (8) ||
//	time (8) || length of the subject (2) || subject, headers, body || hash (8)
//
// Where one number is far above the one before, the server makes room for all between,
// before it compares the hash. A bit that changed there would take all memory of this
// process, so that the numbers are looked at before the server reads them. Whatever
// else has changed, the server finds by the hash, and whoever reads misses.
const (
	recordHead  = 4 + 8 + 8 + 2
	recordHash  = 8
	longest     = 32 << 20 // bytes of a record, for the server
	block       = 8 << 20  // bytes after which the server begins another block
	withHeaders = 1 << 31  // of a length
	deletes     = 1 << 62  // of a number: of another record, which is deleted
	deleted     = 1 << 63  // of a number: the record is

	// What is written into a block has numbers without a gap, so that the last is less
	// than so many above the first, also when some of them were deleted.
	mostNumbers = block / (recordHead + recordHash)
)

// streamsOf returns where the embedded server keeps its streams.
func streamsOf(dir string) string { return filepath.Join(dir, "jetstream", "$G", "streams") }

// checkBlocks looks at all blocks of an embedded queue that is not open. A block of
// records cannot be set aside.
func (q *Queue) checkBlocks(d Damage) error {
	entries, err := os.ReadDir(q.streams)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("queue: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // it was being dropped
			continue
		}
		how := d
		if !strings.HasPrefix(e.Name(), boxStream("")) {
			how = Refuse
		}
		errs = append(errs, q.checkStream(e.Name(), how))
	}
	return errors.Join(errs...)
}

// checkStream looks at all blocks of a stream of the embedded queue, if it is there.
// SetAside cuts off what begins with the damaged record, as the server does where a
// hash is wrong: whoever reads the stream misses it.
func (q *Queue) checkStream(stream string, d Damage) error {
	dir := filepath.Join(q.streams, stream, "msgs")
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("queue: %w", err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".blk" {
			continue
		}
		path := filepath.Join(dir, file.Name())
		bad, err := checkBlock(path)
		if bad != nil && d == Refuse {
			return fmt.Errorf("%w: %v: %s (docs/damaged-disks.md)", ErrDamaged, bad, step(stream))
		}
		if bad != nil {
			q.log.Error("a block of a box is damaged, and is cut off there", "block", bad.String())
			err = os.Truncate(path, bad.at)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the server has just replaced it
			return fmt.Errorf("queue: %w", err)
		}
	}
	return nil
}

// step returns what to do about a damaged block of a stream.
func step(stream string) string {
	if strings.HasPrefix(stream, boxStream("")) {
		return "put it back as it was, or go on without what is damaged: --set-aside"
	}
	return "put the queue's folder back as it was, or end its plans"
}

// badRecord is where a block cannot be read any further without harm.
type badRecord struct {
	path                string
	at                  int64 // in bytes
	number, last, first uint64
}

func (b *badRecord) String() string {
	return fmt.Sprintf("%s: the record at byte %d has number %d, behind number %d in a block that begins with %d", b.path, b.at, b.number, b.last, b.first)
}

// checkBlock finds the first record of a block whose number is damaged; nil: none is.
func checkBlock(path string) (*badRecord, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	status, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(f, 32<<10)
	var first, last uint64
	for at, size := int64(0), status.Size(); at+recordHead <= size; {
		var head [recordHead]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		length := int64(binary.LittleEndian.Uint32(head[:]) &^ withHeaders)
		if length < recordHead+recordHash || length > longest || at+length > size {
			return nil, nil // the server reads no further, and cuts it off there
		}
		if number := binary.LittleEndian.Uint64(head[4:]); number&deletes == 0 {
			number &^= deleted
			if first == 0 {
				first = number
			}
			if number <= last || number-first >= mostNumbers {
				return &badRecord{path, at, number, last, first}, nil
			}
			last = number
		}
		at += length
		if err := skip(f, r, at, length-recordHead); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// skip goes on at a place of a file that is so many bytes ahead of its reader.
func skip(f *os.File, r *bufio.Reader, at, ahead int64) error {
	if ahead <= int64(r.Buffered()) {
		_, err := r.Discard(int(ahead))
		return err
	}
	_, err := f.Seek(at, io.SeekStart)
	r.Reset(f)
	return err
}
