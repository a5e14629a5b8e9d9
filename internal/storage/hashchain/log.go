package hashchain

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"syscall"
)

// Log is a chain in a file:
//
//	title and a line break
//	length of the group (4) || CRC-32C of the length and the group (4) || group, for each
//	zeros, while it is open and of a layout with Ahead
//
// A group is on disk before Append returns. The only group that a crash can tear
// is the last: a bad one with a good one behind it is damage, and the log is not
// opened. One goroutine may write, and any read.
type Log struct {
	file   File
	layout Layout
	from   Point // where the chain goes on
	torn   int64
	write  func(b []byte, at int64) error

	room int64 // bytes of the file, of which zeros stand behind the last group

	mu     sync.Mutex
	size   int64
	end    Point
	broken error
}

const (
	frameHead = 4 + 4

	// Frame is how many bytes of a log stand before the body of a group.
	Frame = frameHead + Head
)

// ErrFull is the error of an Append for which the disk has no room. Nothing was
// kept, and a later one may succeed.
var ErrFull = errors.New("hashchain: the disk is full")

// Open reads the log in a file to its end and calls fn for each group, which is valid until fn
// returns. What a crash has torn at the end, and nobody was answered for, is cut off: see Torn. Of
// the walk, Known and Skip count. The file is the log's, if there is no error.
func (layout Layout) Open(file File, walk Walk, fn func(Group) error) (*Log, error) {
	l := &Log{file: file, layout: layout}
	l.write = l.writeFile
	all, err := l.open(walk, fn)
	if err == nil && l.size < all {
		l.torn = all - l.size
		if layout.Ahead > 0 {
			l.torn, err = l.written(all)
		}
	}
	if err == nil && l.size < all {
		err = errors.Join(file.Truncate(l.size), file.Sync())
	}
	l.room = l.size
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return l, nil
}

// written returns how many bytes behind the last group are not the zeros that fill a file of so
// many bytes.
func (l *Log) written(all int64) (n int64, err error) {
	tail := make([]byte, min(all-l.size, 64<<10))
	for at := l.size; at < all; at += int64(len(tail)) {
		tail = tail[:min(all-at, int64(len(tail)))]
		if _, err := l.file.ReadAt(tail, at); err != nil {
			return 0, err
		}
		if more := len(bytes.TrimRight(tail, "\x00")); more > 0 {
			n = at + int64(more) - l.size
		}
	}
	return n, nil
}

func (l *Log) open(walk Walk, fn func(Group) error) (all int64, err error) {
	status, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	_, l.from, err = l.layout.begin(io.NewSectionReader(l.file, 0, status.Size()))
	if err != nil && !errors.Is(err, ErrDamaged) {
		return 0, err
	}
	l.size, l.end, err = l.read(status.Size(), walk, fn)
	return status.Size(), err
}

// Groups calls fn for the groups that are there now, like Open, and changes nothing.
func (l *Log) Groups(walk Walk, fn func(Group) error) error {
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
func (l *Log) read(all int64, walk Walk, fn func(Group) error) (at int64, end Point, err error) {
	r := bufio.NewReaderSize(nil, int(min(1<<20, all)))
	from := func(at int64) { r.Reset(io.NewSectionReader(l.file, at, all-at)) }
	from(0)
	at, walk.End, err = l.layout.begin(r)
	if err != nil && (walk.Skip == nil || !errors.Is(err, ErrDamaged)) { // each group tells by itself of what chain it is
		return 0, end, err
	}
	if err := walk.reach(walk.End); err != nil {
		return 0, end, err
	}
	most := l.layout.Most
	var frame []byte
	for at < all {
		frame, err = readFrame(r, frame, most, all-at)
		if err != nil && !errors.Is(err, errFrame) {
			return at, walk.End, err
		}
		if err != nil { // torn, if no good frame follows
			behind, number, found, err := l.find(at, all, walk.End.Number)
			if err == nil && !found && all-at > int64(frameHead+Head+most+l.layout.Ahead) {
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
			if frame, err = readFrame(r, frame, most, all-behind); err != nil {
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
		if err := fn(Group{Number: walk.End.Number, At: at + Frame, Head: head, Body: body}); err != nil {
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

// readFrame reads a frame into the buffer, which it may replace. left is how many bytes
// there are.
func readFrame(r io.Reader, buf []byte, most int, left int64) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); ended(err) {
		return buf, errFrame
	} else if err != nil {
		return buf, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n < Head || n > int64(Head+most) || n > left-frameHead {
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
	window := make([]byte, min(step+need, all-at))
	farthest := last + uint64(all-at)/(frameHead+Head) + 1
	for begin := at + 1; begin < all; begin += step {
		n, err := l.file.ReadAt(window[:min(int64(len(window)), all-begin)], begin)
		if err != nil && !ended(err) {
			return 0, 0, false, err
		}
		for i := 0; i < step && i+need <= n; i++ {
			behind, length := begin+int64(i), int64(binary.BigEndian.Uint32(window[i:]))
			number := numberOf(window[i+frameHead:])
			if window[i+frameHead] != version || length < Head || length > int64(Head+l.layout.Most) || behind+frameHead+length > all || number == 0 || number > farthest {
				continue
			}
			_, err := readFrame(io.NewSectionReader(l.file, behind, frameHead+length), nil, l.layout.Most, frameHead+length)
			if !errors.Is(err, errFrame) {
				return behind, number, err == nil, err
			}
		}
	}
	return 0, 0, false, nil
}

// Append writes a group and syncs it before it returns. Its body stands behind Frame bytes of room. The room is filled here, so that a body
// is not copied. After another error than ErrFull nobody knows what is on disk: every later Append fails, until the log
// is opened again.
func (l *Log) Append(framed []byte) error {
	if err := l.Broken(); err != nil {
		return err
	}
	if len(framed) < Frame || len(framed)-Frame > l.layout.Most {
		return fmt.Errorf("hashchain: a body of %d bytes: the limit is %d", len(framed)-Frame, l.layout.Most)
	}
	binary.BigEndian.PutUint32(framed, uint32(len(framed)-frameHead))
	l.end.Append(framed[frameHead:frameHead])
	binary.BigEndian.PutUint32(framed[4:], checksum(framed))
	if err := l.write(framed, l.size); err != nil {
		if full(err) && l.file.Truncate(l.size) == nil && l.file.Sync() == nil {
			l.room = l.size
			return ErrFull
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.broken = fmt.Errorf("hashchain: the log cannot be written until it is opened again: %w", err)
		return l.broken
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size, l.end = l.size+int64(len(framed)), l.end.behind(framed[frameHead:])
	return nil
}

// writeFile writes bytes at the end of the log or over what is there, and syncs them. Where the
// file has to grow it grows by more, if the disk has room.
func (l *Log) writeFile(b []byte, at int64) error {
	end := at + int64(len(b))
	with, room := b, max(l.room, end)
	if ahead := min(int64(l.layout.Ahead), end/2); end > l.room && int64(len(b)) <= ahead { // a small file stays small
		with, room = append(b, make([]byte, ahead)...), end+ahead
	}
	_, err := l.file.WriteAt(with, at)
	if err != nil && full(err) && room > end {
		room = end
		_, err = l.file.WriteAt(b, at)
	}
	if err != nil {
		return err
	}
	l.room = room
	return l.file.Sync()
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Retitle writes the title again, where a walk with Skip has passed over damage to it.
func (l *Log) Retitle() error {
	from := l.from
	if from.Number == 0 {
		from = Point{}
	}
	if err := l.write(l.layout.Begin(from), 0); err != nil {
		return fmt.Errorf("hashchain: %w", err)
	}
	return nil
}

// Next returns where in the file the body of the next group will begin.
func (l *Log) Next() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size + Frame
}

// End returns the point behind the last group.
func (l *Log) End() Point {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Broken returns why nothing can be appended until the log is opened again.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Torn returns how many bytes Open has cut off.
func (l *Log) Torn() int64 { return l.torn }

// Trim cuts off the zeros behind the last group. Who writes the log calls it last.
func (l *Log) Trim() error {
	if l.Broken() != nil || l.room == l.size {
		return nil
	}
	l.room = l.size
	return l.file.Truncate(l.size)
}

// Close lets go of the file.
func (l *Log) Close() error { return l.file.Close() }
