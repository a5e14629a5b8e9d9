package hashchain

import (
	"fmt"
	"os"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Create makes the file of a log without groups; fs.ErrExist where there is a file.
// A log that exists has its title: one without it was damaged.
func Create(path, title string) error {
	if err := atomicfile.Create(path, Layout{Title: title}.Begin(Point{}), 0o600); err != nil {
		return fmt.Errorf("hashchain: %w", err)
	}
	return nil
}

// Open reads a log to its end and calls fn for the head and the body of each
// group, which are valid until fn returns. What a crash has torn at the end, and
// nobody was answered for, is cut off: see Torn. A body has at most so many bytes.
func Open(path, title string, most int, walk Walk, fn func(head, body []byte) error) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("hashchain: %w", err)
	}
	l, err := Layout{Title: title, Most: most}.Open(file, walk, func(g Group) error { return fn(g.Head, g.Body) })
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// Each calls fn for the groups that are there now, like Open, and changes nothing.
func (l *Log) Each(walk Walk, fn func(head, body []byte) error) error {
	return l.Groups(walk, func(g Group) error { return fn(g.Head, g.Body) })
}
