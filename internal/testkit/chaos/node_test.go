package chaos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
)

var errCrash = errors.New("chaos: a crash")

// node is a service, or a device, with a disk. It crashes at a failpoint or
// between requests: the disk is copied as it is at that moment, and everything
// that the old process does afterwards goes nowhere.
type node struct {
	w    *world
	name string
	dir  string // the disk of the running process
	lost string // of one that crashed, as it was then; "" while it runs
	runs int

	armed  map[string]int // failpoints to crash at, and how many times they are passed before
	torn   int            // how many bytes of a half-written record the crash leaves
	past   []string       // copies of the disk, whole, from when it was stopped before
	offset time.Duration
	room   int64 // bytes that a hop's queue may use; 0: as it likes
	writes int   // for which an aggregator's disk has room; negative: for all

	process
	handler http.Handler
}

func (n *node) now() time.Time { return n.w.now.Add(n.offset) }

func (n *node) up() bool { return n.lost == "" }

// failpoint is given to every service.
func (n *node) failpoint(name string) error {
	if !n.up() {
		return errCrash
	}
	left, armed := n.armed[name]
	if !armed || left > 0 {
		if armed {
			n.armed[name]--
		}
		return nil
	}
	delete(n.armed, name)
	seen.add("crash of " + n.kind() + " at " + name)
	n.crash()
	return errCrash
}

// kind is the role of a node.
func (n *node) kind() string {
	switch {
	case strings.HasPrefix(n.name, "device"):
		return "device"
	case strings.HasPrefix(n.name, "hop") && strings.HasSuffix(n.name, ".0"):
		return "entry"
	case strings.HasPrefix(n.name, "hop"):
		return "hop"
	}
	return n.name
}

// crash ends the process as kill -9 does.
func (n *node) crash() {
	if !n.up() {
		return
	}
	n.runs++
	n.w.say("%s crashes", n.name)
	n.lost = filepath.Join(n.w.dir, fmt.Sprintf("%s-%d", n.name, n.runs))
	if err := copyDisk(n.dir, n.lost); err != nil {
		n.w.broken = errors.Join(n.w.broken, err)
	}
	if n.torn > 0 {
		if err := tear(n.lost, n.torn); err != nil {
			n.w.broken = errors.Join(n.w.broken, err)
		}
		n.torn = 0
	}
}

// restart brings a crashed node up again on what was on its disk.
func (n *node) restart() {
	if n.up() {
		return
	}
	n.w.say("%s starts again", n.name)
	n.writes = -1 // its operator has made room
	n.end()
	if err := os.RemoveAll(n.dir); err != nil {
		n.w.broken = errors.Join(n.w.broken, err)
	}
	n.dir, n.lost = n.lost, ""
	if err := n.start(); err != nil {
		n.w.violation("%s does not start again: %v", n.name, err)
	}
}

func (n *node) start() (err error) {
	if n.kind() == "device" { // it opens its folder each time
		return nil
	}
	planLog := ""
	if n.w.shape.logged {
		planLog = address("log")
	}
	n.process, err = launch(n.name, setting{
		planLog: planLog,
		ring:    n.w.ring, publishers: n.w.publishers, dir: n.dir, room: n.room, writes: &n.writes, lies: &n.w.lies, now: n.now, failpoint: n.failpoint, network: n.w.net.from(n.name),
	})
	if err != nil {
		return err
	}
	n.handler, err = serve.New(n.config)
	return err
}

// copyDisk copies a folder of a process that does nothing just now but tidy up
// behind itself: a file that goes away meanwhile is gone.
func copyDisk(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rest), 0o700)
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rest), b, 0o600)
	})
}

// tear leaves the first bytes of a record at the end of every file of a disk that
// grows by records: a write that the crash cut short, which nobody had acknowledged.
func tear(dir string, most int) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		record := recordOf(filepath.Base(path))
		if record == nil {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		half := record(b)
		if len(half) < 2 {
			return nil
		}
		half = half[:min(most, len(half)-1)]
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(half)
		return errors.Join(err, f.Close())
	})
}

// recordOf finds the first record in the files of a kind; nil for files that do
// not grow by records.
func recordOf(name string) func([]byte) []byte {
	after := func(header, size int) func([]byte) []byte {
		return func(b []byte) []byte {
			if len(b) < header+size {
				return nil
			}
			return b[header : header+size]
		}
	}
	switch {
	case strings.HasSuffix(name, "-wal"): // of SQLite: a header, then pages of 4096 bytes with headers of 24
		return after(32, 24+4096)
	case strings.HasSuffix(name, ".rows"): // of a shelf: a line, then groups with a length of four bytes
		return func(b []byte) []byte {
			_, rest, _ := bytes.Cut(b, []byte("\n"))
			if len(rest) < 4 {
				return nil
			}
			return after(0, 8+int(binary.BigEndian.Uint32(rest)))(rest)
		}
	case name == "ledger":
		return func(b []byte) []byte {
			_, rest, _ := bytes.Cut(b, []byte("\n"))
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			return line
		}
	}
	return nil
}
