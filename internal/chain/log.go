package chain

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"syscall"

	"github.com/confetti-dp/confetti/internal/durable"
)

// Log is a chain in a file:
//
//	title and a line break
//	length of the group (4) || CRC-32C of the length and the group (4) || group, for each
//
// A group is on disk before Append returns. The only group that a crash can tear
// is the last: a bad one with a good one behind it is damage, and the log is not
// opened. It is safe for one goroutine.
type Log struct {
	file   *os.File
	title  string
	most   int
	size   int64
	end    Point
	torn   int64
	broken error
	buf    []byte
	write  func(b []byte, at int64) error
}

const frameHead = 4 + 4

// ErrFull is the error of an Append for which the disk has no room. Nothing was
// kept, and a later one may succeed.
var ErrFull = errors.New("chain: the disk is full")

// Create makes the file of a log without groups; fs.ErrExist where there is a file.
// A log that exists has its title: one without it was damaged.
func Create(path, title string) error {
	if err := durable.Create(path, []byte(title+"\n"), 0o600); err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	return nil
}

// Open reads a log to its end and calls fn for the body of each group, which is
// valid until fn returns. What a crash has torn at the end, and nobody was
// answered for, is cut off: see Torn. A body has at most so many bytes, the same
// at each Open. The log must come by the point known, unless that is zero.
func Open(path, title string, most int, known Point, fn func(body []byte) error) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("chain: %w", err)
	}
	l := &Log{file: file, title: title, most: most}
	l.write = l.writeFile
	all, err := l.read(known, fn)
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

// read goes through the groups and leaves the point behind the last good one; all
// is the length of the file.
func (l *Log) read(known Point, fn func(body []byte) error) (all int64, err error) {
	status, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	all = status.Size()
	r := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, all), 1<<20)
	head := make([]byte, len(l.title)+1)
	if _, err := io.ReadFull(r, head); err != nil && !ended(err) {
		return 0, err
	}
	if string(head) != l.title+"\n" {
		return 0, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, l.title)
	}
	l.size, l.end = int64(len(head)), Begin(l.title)
	var frame []byte
	for l.size < all {
		frame, err = readFrame(r, frame, l.most)
		if err != nil && !errors.Is(err, errFrame) {
			return 0, err
		}
		if err != nil {
			if err := l.checkTorn(all); err != nil {
				return 0, err
			}
			break
		}
		body, next, err := l.end.Follow(frame[frameHead:])
		if err != nil {
			return 0, fmt.Errorf("%w (at byte %d)", err, l.size)
		}
		if err := fn(body); err != nil {
			return 0, err
		}
		l.size, l.end = l.size+int64(len(frame)), next
		if next.Number == known.Number && next != known {
			return 0, fmt.Errorf("%w: group %d is another one than it was", ErrDamaged, known.Number)
		}
	}
	if l.end.Number < known.Number {
		return 0, fmt.Errorf("%w: it ends with group %d and had %d", ErrShort, l.end.Number, known.Number)
	}
	return all, nil
}

// errFrame is the error of what is no whole, good frame.
var errFrame = errors.New("chain: no frame")

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

// checkTorn says whether what stands behind the last good group may be what a
// crash has left of one write. It is not if it is longer than a group can be, or
// if a good group stands in it, wherever it begins.
func (l *Log) checkTorn(all int64) error {
	const step = 1 << 20
	const need = frameHead + 9 // as far as the number
	window := make([]byte, step+need)
	for at := l.size + 1; at < all; at += step {
		n, err := l.file.ReadAt(window[:min(int64(len(window)), all-at)], at)
		if err != nil && !ended(err) {
			return err
		}
		for i := 0; i < step && i+need <= n; i++ {
			length, number := int64(binary.BigEndian.Uint32(window[i:])), binary.BigEndian.Uint64(window[i+frameHead+1:])
			if window[i+frameHead] != version || length < Head || length > int64(Head+l.most) || at+int64(i)+frameHead+length > all ||
				number <= l.end.Number || number-l.end.Number > uint64(all-l.size)/(frameHead+Head)+1 {
				continue
			}
			_, err := readFrame(io.NewSectionReader(l.file, at+int64(i), frameHead+length), nil, l.most)
			if err == nil {
				return fmt.Errorf("%w: at byte %d, behind group %d, stands something else than the next group, and behind it group %d is there", ErrDamaged, l.size, l.end.Number, number)
			}
			if !errors.Is(err, errFrame) {
				return err
			}
		}
	}
	if all-l.size > int64(frameHead+Head+l.most) {
		return fmt.Errorf("%w: at byte %d, behind group %d, stand %d bytes that are no group, more than a crash leaves", ErrDamaged, l.size, l.end.Number, all-l.size)
	}
	return nil
}

// Append puts a group with that body on disk. After another error than ErrFull
// nobody knows what is on disk: every later Append fails, until the log is opened
// again.
func (l *Log) Append(body []byte) error {
	if l.broken != nil {
		return l.broken
	}
	if len(body) > l.most {
		return fmt.Errorf("chain: a body of %d bytes: the limit is %d", len(body), l.most)
	}
	l.buf = append(l.end.Append(append(l.buf[:0], make([]byte, frameHead)...)), body...)
	binary.BigEndian.PutUint32(l.buf, uint32(len(l.buf)-frameHead))
	binary.BigEndian.PutUint32(l.buf[4:], checksum(l.buf))
	if err := l.write(l.buf, l.size); err != nil {
		if (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) && l.file.Truncate(l.size) == nil && l.file.Sync() == nil {
			return ErrFull
		}
		l.broken = fmt.Errorf("chain: the log cannot be written until it is opened again: %w", err)
		return l.broken
	}
	_, next, err := l.end.Follow(l.buf[frameHead:])
	if err != nil {
		panic(err) // Append made it
	}
	l.size, l.end = l.size+int64(len(l.buf)), next
	return nil
}

func (l *Log) writeFile(b []byte, at int64) error {
	if _, err := l.file.WriteAt(b, at); err != nil {
		return err
	}
	return l.file.Sync()
}

// End is the point behind the last group.
func (l *Log) End() Point { return l.end }

// Torn is how many bytes Open has cut off.
func (l *Log) Torn() int64 { return l.torn }

// Close lets go of the file.
func (l *Log) Close() error { return l.file.Close() }
