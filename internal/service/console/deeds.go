package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

// deeds are who did what. They go to the program's log as it happens, and to a file where the
// console has a folder; the page shows the newest lines. A file that is full becomes the older one,
// in the place of the one that was.
type deeds struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	last   []deed
	folder string   // "": deeds are in memory alone
	file   appender // a deed a line, in JSON; nil: likewise
	size   int64    // of its whole lines
	most   int64    // bytes of one file
}

// appender is a file that is only added to.
type appender interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

// deed is one action.
type deed struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	What string    `json:"what"`
}

const (
	shownDeeds = 50
	maxDeed    = 4 << 10 // bytes of a line
	maxDeeds   = 4 << 20 // bytes of a file: some 30,000 deeds
)

// keep has deeds written to a file of a folder, which is made where there is none, and reads the
// newest ones of it and of the older one. A last line that was not written to its end is taken off:
// what it is of was not begun.
func (ds *deeds) keep(folder string) error {
	ds.folder = folder
	older, err := os.OpenFile(filepath.Join(folder, olderDeedsFile), os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(ds.recall(older), older.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", filepath.Join(folder, olderDeedsFile), err)
	}
	return ds.open(ds.recall)
}

// open goes on with the file of deeds once it is read.
func (ds *deeds) open(read func(*os.File) error) error {
	path := filepath.Join(ds.folder, deedsFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(read(f), atomicfile.SyncFolder(ds.folder)); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	ds.file = f
	return nil
}

// turn makes the file of deeds the older one, and begins another. Where that fails the next deed
// tries it again.
func (ds *deeds) turn() error {
	err := os.Rename(filepath.Join(ds.folder, deedsFile), filepath.Join(ds.folder, olderDeedsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	full := ds.file
	if err := ds.open(func(*os.File) error { return nil }); err != nil {
		return err
	}
	ds.size = 0
	return full.Close()
}

// recall reads the newest deeds.
func (ds *deeds) recall(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := max(0, info.Size()-(shownDeeds+1)*maxDeed)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	ds.size = from + int64(whole)
	if whole == 0 {
		ds.size = 0
		if from > 0 || len(text) > maxDeed {
			return errDeeds
		}
	}
	if whole < len(text) {
		if err := f.Truncate(ds.size); err != nil {
			return err
		}
	}
	lines := bytes.Split(bytes.TrimSuffix(text[:whole], []byte("\n")), []byte("\n"))
	if from > 0 {
		lines = lines[1:] // it begins before what was read
	}
	if whole == 0 {
		lines = nil
	}
	for _, line := range lines[max(0, len(lines)-shownDeeds):] {
		var d deed
		if strictjson.JSON(line, &d) != nil || d.Who == "" {
			return errDeeds
		}
		ds.last = append(ds.last, d)
	}
	ds.last = ds.last[max(0, len(ds.last)-shownDeeds):]
	return nil
}

var errDeeds = errors.New("not a file of what operators did: move it away, and another one is begun")

// add writes a deed down. Where there is a file it is on the disk when this returns, or else it is
// an error, and the file as before.
func (ds *deeds) add(who, what string) error {
	d := deed{ds.now().UTC(), who, what}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.file != nil {
		if err := ds.append(d); err != nil {
			ds.log.Error("what an operator does cannot be written down", "who", who, "what", what, "error", err)
			return errNotWritten
		}
	}
	ds.log.Info("operator", "who", who, "what", what)
	ds.last = append(ds.last, d)
	ds.last = ds.last[max(0, len(ds.last)-shownDeeds):]
	return nil
}

// done writes down how something ended that somebody began. Where that fails the log has it.
func (c *Console) done(who, what string) { _ = c.deeds.add(who, what) }

func (ds *deeds) append(d deed) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if len(line) >= maxDeed {
		return fmt.Errorf("it takes %d bytes", len(line))
	}
	if ds.size+int64(len(line)) >= ds.most {
		if err := ds.turn(); err != nil {
			return err
		}
	}
	if _, err = ds.file.Write(append(line, '\n')); err == nil {
		err = ds.file.Sync()
	}
	if err != nil {
		return errors.Join(err, ds.file.Truncate(ds.size))
	}
	ds.size += int64(len(line)) + 1
	return nil
}

// errNotWritten keeps an operator from doing what nobody would know of afterwards.
var errNotWritten = &pageError{507, "What you do could not be written down, so that it was not done.", "Look at the disk of the console's folder; its log has the reason."}

// newest lists what was done, the last first.
func (ds *deeds) newest() []deed {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	all := slices.Clone(ds.last)
	slices.Reverse(all)
	return all
}

// close ends the file.
func (ds *deeds) close() error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.file == nil {
		return nil
	}
	err := ds.file.Close()
	ds.file = nil
	return err
}
