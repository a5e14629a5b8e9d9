package rows

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// A backup is a file of rows in a chain, whichever engine they were read from, and is restored
// into either. The shelves of plans come first and main last, so that no spending is missing
// beside a result; those of plans that closed meanwhile come once more behind main. Its last row
// says that it is whole.
const (
	backupTitle = "confetti-analyzer-backup/v1"
	lengthSize  = 4
	mostFrame   = hashchain.Head + keep.MaxValue + keep.MaxKey + 1<<10
)

var (
	errNoBackup = errors.New("analyzer: restore: the file is no backup of this version")
	errSpoilt   = errors.New("analyzer: restore: the backup is damaged or not whole: take another one")
)

// row is one of a backup; a shelf of "" ends it.
type row struct {
	shelf string
	table keep.Table
	key   string
	value []byte
}

func (r row) encode() []byte {
	b := append(binary.AppendUvarint(nil, uint64(len(r.shelf))), r.shelf...)
	b = append(b, byte(r.table))
	b = append(binary.AppendUvarint(b, uint64(len(r.key))), r.key...)
	return append(b, r.value...)
}

func parseRow(b []byte) (r row, ok bool) {
	text := func() (s string) {
		n, size := binary.Uvarint(b)
		if ok = size > 0 && n <= uint64(len(b)-max(size, 0)); ok {
			s, b = string(b[size:size+int(n)]), b[size+int(n):]
		}
		return s
	}
	if r.shelf = text(); !ok || len(b) == 0 {
		return r, false
	}
	r.table, b = keep.Table(b[0]), b[1:]
	r.key = text()
	r.value = b
	return r, ok
}

// backupWriter appends rows to a backup.
type backupWriter struct {
	to   *bufio.Writer
	walk hashchain.Walk
}

func (w *backupWriter) row(r row) error {
	group := append(w.walk.End.Append(nil), r.encode()...)
	if _, _, err := w.walk.Group(group); err != nil {
		return err
	}
	if _, err := w.to.Write(binary.BigEndian.AppendUint32(nil, uint32(len(group)))); err != nil {
		return err
	}
	_, err := w.to.Write(group)
	return err
}

// Backup writes a consistent copy of everything to a new file while the service
// goes on. The file is whole and on disk, or not there.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("analyzer: backup: %s is there already: a backup never replaces one", path)
	}
	// In the same folder, so that the last step gives it its name.
	half, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // mode 0600
	if err != nil {
		return fmt.Errorf("analyzer: backup: %w", err)
	}
	defer os.Remove(half.Name())
	err = s.dump(ctx, half)
	if err = errors.Join(err, half.Sync(), half.Close()); err != nil {
		return fmt.Errorf("analyzer: backup: %w", err)
	}
	if err := s.failpoint("rows/backup"); err != nil {
		return err
	}
	// A link, unlike a rename, never replaces what came there meanwhile.
	if err := os.Link(half.Name(), path); err != nil {
		return fmt.Errorf("analyzer: backup: %w", err)
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
}

func (s *Store) dump(ctx context.Context, file io.Writer) error {
	w := &backupWriter{to: bufio.NewWriterSize(file, 1<<20), walk: hashchain.Walk{End: hashchain.Begin(backupTitle)}}
	if _, err := w.to.WriteString(backupTitle + "\n"); err != nil {
		return err
	}
	plans, err := s.Plans(ctx)
	if err != nil {
		return err
	}
	whole := map[string]bool{} // of which no more batches came
	for _, p := range plans {
		if err := s.dumpPlan(ctx, w, p.Name); err != nil {
			return err
		}
		whole[p.Name] = !p.Closed.IsZero()
	}
	// As of one moment: no other Update of main runs meanwhile.
	var closed []string
	err = s.main.Update(ctx, func(tx keep.Tx) error {
		for t := keep.Table(1); t < ownTable; t++ {
			if err := tx.Each(t, "", func(key string, value []byte) error {
				if t == closingsTable && !whole[key] {
					closed = append(closed, key)
				}
				return w.row(row{keep.Main, t, key, value})
			}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, name := range closed {
		if err == nil {
			err = s.dumpPlan(ctx, w, name)
		}
	}
	if err == nil {
		err = w.row(row{})
	}
	return errors.Join(err, w.to.Flush())
}

// dumpPlan writes what was counted of a plan. Marks come first: what a mark speaks of was there
// before it.
func (s *Store) dumpPlan(ctx context.Context, w *backupWriter, plan string) error {
	return s.on(ctx, plan, func(shelf keep.Shelf) error {
		for _, t := range []keep.Table{marksTable, talliesTable} {
			if err := shelf.Each(ctx, t, "", func(key string, value []byte) error {
				return w.row(row{shelfPrefix + plan, t, key, value})
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// readBackup calls fn for each row of a backup, in order, or refuses the file.
func readBackup(path string, fn func(row) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("analyzer: restore: %w", err)
	}
	defer file.Close()
	status, err := file.Stat()
	if err != nil {
		return fmt.Errorf("analyzer: restore: %w", err)
	}
	r, left := bufio.NewReaderSize(file, 1<<20), status.Size()
	title := make([]byte, len(backupTitle)+1)
	if _, err := io.ReadFull(r, title); err != nil || string(title) != backupTitle+"\n" {
		if strings.HasPrefix(string(title), shelves.SQLite) {
			return fmt.Errorf("%w: it was written by an earlier version, which this one does not read", errNoBackup)
		}
		return errNoBackup
	}
	left -= int64(len(title))
	walk := hashchain.Walk{End: hashchain.Begin(backupTitle)}
	length, buf := make([]byte, lengthSize), []byte{}
	for {
		if _, err := io.ReadFull(r, length); err != nil {
			return errSpoilt
		}
		left -= lengthSize
		size := int64(binary.BigEndian.Uint32(length))
		if size > left || size > mostFrame {
			return errSpoilt
		}
		left -= size
		if int64(cap(buf)) < size {
			buf = make([]byte, size)
		}
		buf = buf[:size]
		if _, err := io.ReadFull(r, buf); err != nil {
			return errSpoilt
		}
		_, text, err := walk.Group(buf)
		if err != nil {
			return errSpoilt
		}
		one, ok := parseRow(text)
		switch {
		case !ok:
			return errSpoilt
		case one.shelf == "" && (left > 0 || one.table != 0):
			return errSpoilt
		case one.shelf == "":
			return nil
		}
		if err := fn(one); err != nil {
			return err
		}
	}
}

// check refuses a row that no analyzer has written.
func (r row) check() error {
	known := r.shelf == keep.Main && r.table < ownTable || strings.HasPrefix(r.shelf, shelfPrefix) && r.table <= talliesTable
	if !known || keep.CheckRow(r.table, r.key, r.value) != nil {
		return errSpoilt
	}
	return nil
}

// Restore fills the empty store that a configuration names from a backup, all or nothing: one
// that is not finished is not opened.
func Restore(ctx context.Context, c Config, path string) error {
	if err := readBackup(path, row.check); err != nil { // whole, before anything is made
		return err
	}
	return fill(ctx, c, "a restore", func(s *Store) error {
		f := filler{ctx: ctx, s: s}
		if err := readBackup(path, f.add); err != nil {
			return err
		}
		if err := f.flush(); err != nil {
			return err
		}
		var closed []string
		err := s.main.Each(ctx, closingsTable, "", func(plan string, _ []byte) error { closed = append(closed, plan); return nil })
		for _, plan := range closed {
			if err == nil {
				err = s.seal(ctx, plan)
			}
		}
		return err
	})
}

// fill opens an empty store, and lets nobody else open it before do has filled it.
func fill(ctx context.Context, c Config, what string, do func(*Store) error) error {
	s, err := open(ctx, c, true)
	if err != nil {
		return err
	}
	defer s.Close()
	err = s.main.Update(ctx, func(tx keep.Tx) error {
		for t := keep.Table(1); t < ownTable; t++ {
			if err := tx.Each(t, "", func(string, []byte) error {
				return errors.New("analyzer: the database is in use: restore into an empty one")
			}); err != nil {
				return err
			}
		}
		if _, there, err := tx.Get(ownTable, fillingKey); err != nil || there {
			return errors.Join(err, fmt.Errorf("analyzer: an earlier try was not finished: begin again with an empty folder, or database"))
		}
		tx.Put(ownTable, fillingKey, []byte(what))
		return nil
	})
	if err == nil {
		err = do(s)
	}
	if err == nil {
		err = s.write(ctx, s.main, "restore", func(tx keep.Tx) error { tx.Delete(ownTable, fillingKey); return nil })
	}
	if err != nil {
		return err
	}
	s.ledger.mu.Lock()
	s.ledger.begun = false
	s.ledger.mu.Unlock()
	return s.mendEnd(ctx) // a ledger that is damaged says so itself: nothing is spent
}

// filler writes rows by many in an Update.
type filler struct {
	ctx   context.Context
	s     *Store
	shelf string
	rows  []row
	size  int
}

func (f *filler) add(r row) error {
	if r.shelf != f.shelf || f.size+len(r.key)+len(r.value)+keep.RowMore > together*partLength {
		if err := f.flush(); err != nil {
			return err
		}
	}
	r.value = append([]byte{}, r.value...)
	f.shelf, f.rows, f.size = r.shelf, append(f.rows, r), f.size+len(r.key)+len(r.value)+keep.RowMore
	return nil
}

func (f *filler) flush() error {
	if len(f.rows) == 0 {
		return nil
	}
	shelf := f.s.main
	if f.shelf != keep.Main {
		var err error
		if shelf, err = f.s.made(f.ctx, strings.TrimPrefix(f.shelf, shelfPrefix)); err != nil {
			return err
		}
	}
	err := shelf.Update(f.ctx, func(tx keep.Tx) error {
		for _, r := range f.rows {
			tx.Put(r.table, r.key, r.value)
		}
		return nil
	})
	f.rows, f.size = nil, 0
	return err
}
