package hashchain

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
)

// File is what a log lies in.
type File interface {
	io.ReaderAt
	io.WriterAt
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
	Name() string
}

// Layout says how the file of a log looks, the same at each Open.
type Layout struct {
	Title string
	Most  int // bytes of a group's body

	// Line is how many bytes the title's line has, which spaces fill; 0: as many as the title
	// and a line break. Only a log with such a line may go on where another one ended.
	Line int

	// Ahead is how many zeros may stand behind the last group while the log is open. A group that
	// is written over zeros needs half of the time of one that makes the file longer, since the
	// disk has to note no new length.
	Ahead int
}

// Group is a group in the file of a log. Head and Body are valid until the function that was
// given it returns.
type Group struct {
	Number     uint64
	At         int64 // where the body begins
	Head, Body []byte
}

// Begin returns the first bytes of a log whose groups follow a point of another chain of that
// title; the zero Point: whose groups are the first.
func (layout Layout) Begin(from Point) []byte {
	line := []byte(layout.Title)
	if from != (Point{}) {
		text, err := from.MarshalText()
		if err != nil {
			panic("hashchain: " + err.Error()) // a number and a digest always encode
		}
		line = append(append(line, ' '), text...)
	}
	if more := layout.Line - 1 - len(line); more > 0 {
		line = append(line, bytes.Repeat([]byte(" "), more)...)
	}
	return append(line, '\n')
}

// begin reads the first line of a log. Where it is damaged, the size and the point are of a
// chain whose first group should follow.
func (layout Layout) begin(r io.Reader) (size int64, from Point, err error) {
	line := make([]byte, len(layout.Begin(Point{})))
	size, from = int64(len(line)), Begin(layout.Title)
	damaged := fmt.Errorf("%w: it does not begin with %q", ErrDamaged, layout.Title)
	if _, err := io.ReadFull(r, line); ended(err) {
		return size, from, damaged
	} else if err != nil {
		return 0, from, err
	}
	if bytes.Equal(line, layout.Begin(Point{})) {
		return size, from, nil
	}
	text, titled := bytes.CutPrefix(line, []byte(layout.Title+" "))
	var at Point
	if !titled || at.UnmarshalText(bytes.TrimRight(text, " \n")) != nil || !bytes.Equal(line, layout.Begin(at)) {
		return size, from, damaged
	}
	return size, at, nil
}
