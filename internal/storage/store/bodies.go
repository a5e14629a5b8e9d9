package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// ErrReports is the error of reports whose bytes on disk are not those that were kept.
var ErrReports = errors.New("store: reports that devices sent are damaged on disk: withdraw their plan (docs/damaged-disks.md)")

// bodies are what devices sent, in files beside a SQLite file, one for each plan, to which is
// only appended: SQLite would write a body twice, into its log and from there into its pages.
// A row says where its body lies, and its CRC-32C.
//
//   - A body is in the file, and the file is synced, before the row that names it is committed:
//     what a crash leaves is at most bytes that no row names.
//   - Who appends holds the database's one lock of writers, and begins where the file ends:
//     nothing is remembered from one write to the next, and no byte belongs to two bodies.
//   - A file goes once its plan's rows are gone, or at the start after that.
type bodies struct {
	dir       string // of files that have the names of plans
	failpoint func(name string) error
	write     func(f *os.File, b []byte, at int64) error
	sync      func(f *os.File) error
}

// place is where a body lies in its plan's file; without bytes, it lies in its row.
type place struct {
	at, bytes int64
	crc       uint32
}

// planFile is what plans are called: the hex of a digest.
var planFile = regexp.MustCompile(`^[0-9A-Za-z]+$`)

func openBodies(dir string, failpoint func(string) error) (*bodies, error) {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	// Whoever made the folder, or a file in it, may have died before its name was on disk.
	err = errors.Join(err, atomicfile.SyncFolder(filepath.Dir(dir)), atomicfile.SyncFolder(dir))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return &bodies{dir, failpoint, writeAt, (*os.File).Sync}, nil
}

func writeAt(f *os.File, b []byte, at int64) error {
	_, err := f.WriteAt(b, at)
	return err
}

func (b *bodies) open(plan string, flag int) (*os.File, error) {
	if !planFile.MatchString(plan) {
		return nil, fmt.Errorf("store: %q is no name of a plan", plan)
	}
	f, err := os.OpenFile(filepath.Join(b.dir, plan), flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return f, nil
}

// appending is bodies on their way into files, within one transaction.
type appending struct {
	of    *bodies
	files map[string]*tail
}

// tail is the end of a plan's file, and where it was before the transaction.
type tail struct {
	file     *os.File
	was, end int64
}

func (b *bodies) begin() *appending { return &appending{b, map[string]*tail{}} }

// next returns where a body of the plan is put if it is put next.
func (a *appending) next(plan string, body []byte) (place, error) {
	t, here := a.files[plan]
	if !here {
		f, err := a.of.open(plan, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return place{}, err
		}
		t = &tail{file: f}
		a.files[plan] = t
		status, err := f.Stat()
		if err != nil {
			return place{}, fmt.Errorf("store: %w", err)
		}
		t.was, t.end = status.Size(), status.Size()
	}
	return place{t.end, int64(len(body)), crc32.Checksum(body, castagnoli)}, nil
}

// put writes a body to where next has said.
func (a *appending) put(plan string, body []byte) error {
	t := a.files[plan]
	if err := a.of.write(t.file, body, t.end); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	t.end += int64(len(body))
	return a.of.failpoint("store/body/written")
}

// sync puts on disk what was appended.
func (a *appending) sync() error {
	for _, t := range a.files {
		if t.end == t.was {
			continue
		}
		err := a.of.sync(t.file)
		if err == nil && t.was == 0 { // the file's name too
			err = atomicfile.SyncFolder(a.of.dir)
		}
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return a.of.failpoint("store/body/synced")
}

// close lets go of the files. What was appended is taken off again where the transaction has
// failed, which still holds the lock: there may be no room for it.
func (a *appending) close(failed bool) {
	for _, t := range a.files {
		if failed {
			t.file.Truncate(t.was) // where it cannot, no row names what stays
		}
		t.file.Close()
	}
}

// read returns the bodies of a plan at places, or ErrReports.
func (b *bodies) read(plan string, all ...place) ([][]byte, error) {
	f, err := b.open(plan, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrReports, err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := make([][]byte, len(all))
	for i, p := range all {
		if found[i], err = p.read(f, nil); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// read returns the body, in the buffer where that is long enough.
func (p place) read(f *os.File, buf []byte) ([]byte, error) {
	status, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if p.at < 0 || p.bytes < 0 || p.at > status.Size()-p.bytes {
		return nil, fmt.Errorf("%w: %s ends before byte %d", ErrReports, f.Name(), p.at+p.bytes)
	}
	buf = slices.Grow(buf[:0], int(p.bytes))[:p.bytes]
	if _, err := f.ReadAt(buf, p.at); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReports, err)
	}
	if crc32.Checksum(buf, castagnoli) != p.crc {
		return nil, fmt.Errorf("%w: %s at byte %d", ErrReports, f.Name(), p.at)
	}
	return buf, nil
}

// damaged names the plans of reports that cannot be read.
func (b *bodies) damaged(ctx context.Context, q query) (plans []string, err error) {
	var file *os.File
	var of string
	var buf []byte
	defer func() { file.Close() }()
	// Rows have the order in which they came, as their bodies have.
	err = each(ctx, q, func(r *sql.Rows) error {
		var plan string
		var p place
		if err := r.Scan(&plan, &p.at, &p.bytes, &p.crc); err != nil {
			return err
		}
		if slices.Contains(plans, plan) {
			return nil
		}
		if plan != of || file == nil {
			file.Close()
			if file, err = b.open(plan, os.O_RDONLY); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			of = plan
		}
		if file == nil {
			plans = append(plans, plan)
			return nil
		}
		if buf, err = p.read(file, buf); errors.Is(err, ErrReports) {
			plans, err = append(plans, plan), nil
		}
		return err
	}, "SELECT plan, place, bytes, crc FROM reports WHERE bytes > 0 ORDER BY rowid")
	return plans, err
}

// remove takes away a plan's file, if there is one.
func (b *bodies) remove(plan string) error {
	if !planFile.MatchString(plan) {
		return nil
	}
	err := os.Remove(filepath.Join(b.dir, plan))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = atomicfile.SyncFolder(b.dir)
	}
	if err != nil {
		return fmt.Errorf("store: the rows of reports are deleted, their file is not: %w", err)
	}
	return b.failpoint("store/body/removed")
}

// sweep removes the files of plans that have no rows any more. No transaction writes
// meanwhile.
func (b *bodies) sweep(ctx context.Context, tx *sql.Tx) error {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, f := range files {
		used, err := exists(ctx, tx, "SELECT 1 FROM reports WHERE plan = $1 LIMIT 1", f.Name())
		if err == nil && !used {
			err = b.remove(f.Name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
