package hashchain

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Log is a chain in a file:
//
//	title and a line break
//	length of the group (4) || CRC-32C of the length and the group (4) || group, for each
//
// A group is on disk before Append returns. The only group that a crash can tear
// is the last: a bad one with a good one behind it is damage, and the log is not
// opened. One goroutine may write, and any read.
type Log struct {
	file  *os.File
	title string
	most  int
	torn  int64
	write func(b []byte, at int64) error

	buf []byte

	mu     sync.Mutex
	size   int64
	end    Point
	broken error
}

const frameHead = 4 + 4

// ErrFull is the error of an Append for which the disk has no room. Nothing was
// kept, and a later one may succeed.
var ErrFull = errors.New("hashchain: the disk is full")

// Create makes the file of a log without groups; fs.ErrExist where there is a file.
// A log that exists has its title: one without it was damaged.
func Create(path, title string) error {
	if err := atomicfile.Create(path, []byte(title+"\n"), 0o600); err != nil {
		return fmt.Errorf("hashchain: %w", err)
	}
	return nil
}

// Open reads a log to its end and calls fn for the head and the body of each
// group, which are valid until fn returns. What a crash has torn at the end, and
// nobody was answered for, is cut off: see Torn. A body has at most so many bytes,
// the same at each Open. Of the walk, Known and Skip count.
func Open(path, title string, most int, walk Walk, fn func(head, body []byte) error) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("hashchain: %w", err)
	}
	l := &Log{file: file, title: title, most: most}
	l.write = l.writeFile
	all, err := l.open(walk, fn)
	if err == nil && l.size < all {
		l.torn = all - l.size
		err = errors.Join(file.Truncate(l.size), file.Sync())
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func (l *Log) open(walk Walk, fn func(head, body []byte) error) (all int64, err error) {
	status, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	l.size, l.end, err = l.read(status.Size(), walk, fn)
	return status.Size(), err
}

// Each calls fn for the groups that are there now, like Open, and changes nothing.
func (l *Log) Each(walk Walk, fn func(head, body []byte) error) error {
	l.mu.Lock()
	size, end := l.size, l.end
	l.mu.Unlock()
	walk.Known = end
	good, _, err := l.read(size, walk, fn)
	if err == nil && good < size && walk.Skip == nil {
		err = fmt.Errorf("%w: at byte %d, behind group %d", ErrDamaged, good, end.Number)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.file.Name(), err)
	}
	return nil
}

// read goes through the groups in so many bytes of the file, and returns where the
// last good one ends.
func (l *Log) read(all int64, walk Walk, fn func(head, body []byte) error) (at int64, end Point, err error) {
	r := bufio.NewReaderSize(nil, 1<<20)
	from := func(at int64) { r.Reset(io.NewSectionReader(l.file, at, all-at)) }
	from(0)
	title := make([]byte, len(l.title)+1)
	if _, err := io.ReadFull(r, title); err != nil && !ended(err) {
		return 0, end, err
	}
	if string(title) != l.title+"\n" && walk.Skip == nil { // each group tells by itself of what chain it is
		return 0, end, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, l.title)
	}
	at, walk.End = int64(len(title)), Begin(l.title)
	var frame []byte
	for at < all {
		frame, err = readFrame(r, frame, l.most)
		if err != nil && !errors.Is(err, errFrame) {
			return at, walk.End, err
		}
		if err != nil { // torn, if no good frame follows
			behind, number, found, err := l.find(at, all, walk.End.Number)
			if err == nil && !found && all-at > int64(frameHead+Head+l.most) {
				err = fmt.Errorf("%w: behind group %d stand %d bytes that are no group, more than a crash leaves", ErrDamaged, walk.End.Number, all-at)
				if walk.Skip != nil {
					err = walk.Skip(Gap{walk.End.Number + 1, walk.End.Number + 1}) // at least
				}
			}
			if err == nil && found && number <= walk.End.Number {
				err = fmt.Errorf("%w: group %d follows group %d", ErrDamaged, number, walk.End.Number)
			}
			if err != nil {
				return at, walk.End, fmt.Errorf("%w (byte %d)", err, at)
			}
			if !found {
				break
			}
			from(behind)
			if frame, err = readFrame(r, frame, l.most); err != nil {
				return at, walk.End, err // it was read a moment ago
			}
			if err := walk.jump(frame[frameHead:]); err != nil {
				return at, walk.End, fmt.Errorf("%w (byte %d)", err, at)
			}
			at = behind
		}
		head, body, err := walk.Group(frame[frameHead:])
		if err != nil {
			return at, walk.End, fmt.Errorf("%w (byte %d)", err, at)
		}
		if err := fn(head, body); err != nil {
			return at, walk.End, err
		}
		at += int64(len(frame))
	}
	err = walk.Finish()
	return at, walk.End, err
}

// errFrame is the error of what is no whole, good frame.
var errFrame = errors.New("hashchain: no frame")

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// readFrame reads a frame into the buffer, which it may replace.
func readFrame(r io.Reader, buf []byte, most int) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); ended(err) {
		return buf, errFrame
	} else if err != nil {
		return buf, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n < Head || n > int64(Head+most) {
		return buf, errFrame
	}
	if int64(cap(buf)) < frameHead+n {
		buf = make([]byte, frameHead+n)
	}
	buf = buf[:frameHead+n]
	copy(buf, head[:])
	if _, err := io.ReadFull(r, buf[frameHead:]); ended(err) {
		return buf, errFrame
	} else if err != nil {
		return buf, err
	}
	if checksum(buf) != binary.BigEndian.Uint32(buf[4:]) {
		return buf, errFrame
	}
	return buf, nil
}

// checksum is of all of a frame but itself.
func checksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[:4], castagnoli), castagnoli, frame[frameHead:])
}

// find looks for a good frame behind what is none at a byte, wherever it begins.
// last is the number of the group before.
func (l *Log) find(at, all int64, last uint64) (behind int64, number uint64, found bool, err error) {
	const step = 1 << 20
	const need = frameHead + 9 // as far as the number
	window := make([]byte, step+need)
	farthest := last + uint64(all-at)/(frameHead+Head) + 1
	for begin := at + 1; begin < all; begin += step {
		n, err := l.file.ReadAt(window[:min(int64(len(window)), all-begin)], begin)
		if err != nil && !ended(err) {
			return 0, 0, false, err
		}
		for i := 0; i < step && i+need <= n; i++ {
			behind, length := begin+int64(i), int64(binary.BigEndian.Uint32(window[i:]))
			number := numberOf(window[i+frameHead:])
			if window[i+frameHead] != version || length < Head || length > int64(Head+l.most) || behind+frameHead+length > all || number == 0 || number > farthest {
				continue
			}
			_, err := readFrame(io.NewSectionReader(l.file, behind, frameHead+length), nil, l.most)
			if !errors.Is(err, errFrame) {
				return behind, number, err == nil, err
			}
		}
	}
	return 0, 0, false, nil
}

// Append puts a group with that body on disk. After another error than ErrFull
// nobody knows what is on disk: every later Append fails, until the log is opened
// again.
func (l *Log) Append(body []byte) error {
	if err := l.Broken(); err != nil {
		return err
	}
	if len(body) > l.most {
		return fmt.Errorf("hashchain: a body of %d bytes: the limit is %d", len(body), l.most)
	}
	l.buf = append(l.end.Append(append(l.buf[:0], make([]byte, frameHead)...)), body...)
	binary.BigEndian.PutUint32(l.buf, uint32(len(l.buf)-frameHead))
	binary.BigEndian.PutUint32(l.buf[4:], checksum(l.buf))
	if err := l.write(l.buf, l.size); err != nil {
		if (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) && l.file.Truncate(l.size) == nil && l.file.Sync() == nil {
			return ErrFull
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.broken = fmt.Errorf("hashchain: the log cannot be written until it is opened again: %w", err)
		return l.broken
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size, l.end = l.size+int64(len(l.buf)), l.end.behind(l.buf[frameHead:])
	return nil
}

func (l *Log) writeFile(b []byte, at int64) error {
	if _, err := l.file.WriteAt(b, at); err != nil {
		return err
	}
	return l.file.Sync()
}

// Retitle writes the title again, where a walk with Skip has passed over damage to it.
func (l *Log) Retitle() error {
	if err := l.write([]byte(l.title+"\n"), 0); err != nil {
		return fmt.Errorf("hashchain: %w", err)
	}
	return nil
}

// End returns the point behind the last group.
func (l *Log) End() Point {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Broken is why nothing can be appended until the log is opened again.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Torn returns how many bytes Open has cut off.
func (l *Log) Torn() int64 { return l.torn }

// Close lets go of the file.
func (l *Log) Close() error { return l.file.Close() }
