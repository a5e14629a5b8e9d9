package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/confetti-dp/confetti/internal/service/shelves"
)

// A backup of an earlier version is a file of SQLite as "VACUUM INTO" writes it: without free
// pages and without a log. What is read of it here are whole tables, in the order of their rows.

var errNoSQLite = errors.New("analyzer: import: the file is no backup of an earlier version, or is damaged: take another one")

// sqliteFile is such a file.
type sqliteFile struct {
	file  *os.File
	pages int
	page  int          // bytes of a page
	use   int          // of them, that hold something
	seen  map[int]bool // pages of the tree that is read: none comes twice
}

// mostBackup is how many bytes of a backup are read.
const mostBackup = 4 << 30

// openSQLite opens such a file, which the caller closes, and refuses what does not begin as one.
func openSQLite(path string) (f sqliteFile, err error) {
	if f.file, err = os.Open(path); err != nil {
		return f, fmt.Errorf("analyzer: import: %w", err)
	}
	defer func() {
		if err != nil {
			f.file.Close()
		}
	}()
	status, err := f.file.Stat()
	if err != nil {
		return f, fmt.Errorf("analyzer: import: %w", err)
	}
	head := make([]byte, 100)
	if _, err := f.file.ReadAt(head, 0); err != nil || status.Size() > mostBackup || string(head[:len(shelves.SQLite)]) != shelves.SQLite {
		return f, errNoSQLite
	}
	if f.page = int(binary.BigEndian.Uint16(head[16:])); f.page == 1 {
		f.page = 1 << 16
	}
	f.use = f.page - int(head[20])
	if f.page < 512 || f.page&(f.page-1) != 0 || f.use < 480 || status.Size()%int64(f.page) != 0 {
		return f, errNoSQLite
	}
	f.pages = int(status.Size()) / f.page
	return f, nil
}

// at returns the page of a number.
func (f sqliteFile) at(number int) ([]byte, error) {
	if number < 1 || number > f.pages {
		return nil, errNoSQLite
	}
	page := make([]byte, f.page)
	if _, err := f.file.ReadAt(page, int64(number-1)*int64(f.page)); err != nil {
		return nil, fmt.Errorf("analyzer: import: %w", err)
	}
	return page, nil
}

// table calls fn for the values of each row of a table: nil, int64, float64, string or []byte.
func (f sqliteFile) table(name string, fn func(values []any) error) error {
	root := 0
	f.seen = map[int]bool{}
	err := f.tree(1, 0, func(values []any) error {
		if len(values) < 4 || values[0] != "table" || values[1] != name {
			return nil
		}
		n, ok := values[3].(int64)
		if !ok || root != 0 || n < 2 || n > math.MaxInt32 {
			return errNoSQLite
		}
		root = int(n)
		return nil
	})
	if err == nil && root == 0 {
		err = errNoSQLite
	}
	if err != nil {
		return err
	}
	f.seen = map[int]bool{}
	return f.tree(root, 0, fn)
}

// deepest is how deep a tree may be: one of pages of 512 bytes and 4 GiB is not so deep.
const deepest = 20

// Kinds of pages of a table.
const (
	interiorPage = 5
	leafPage     = 13
)

// tree calls fn for each row of the tree below a page.
func (f sqliteFile) tree(number, depth int, fn func([]any) error) error {
	if depth > deepest || f.seen[number] {
		return errNoSQLite
	}
	page, err := f.at(number)
	if err != nil {
		return err
	}
	f.seen[number] = true
	head, size := 0, 8
	if number == 1 {
		head = 100
	}
	kind, cells := page[head], int(binary.BigEndian.Uint16(page[head+3:]))
	if kind == interiorPage {
		size = 12
	} else if kind != leafPage {
		return errNoSQLite
	}
	if head+size+2*cells > len(page) {
		return errNoSQLite
	}
	for i := range cells {
		at := int(binary.BigEndian.Uint16(page[head+size+2*i:]))
		if at+4 > len(page) {
			return errNoSQLite
		}
		if kind == interiorPage {
			err = f.tree(int(binary.BigEndian.Uint32(page[at:])), depth+1, fn)
		} else {
			var record []byte
			if record, err = f.record(page[at:f.use]); err == nil {
				err = withValues(record, fn)
			}
		}
		if err != nil {
			return err
		}
	}
	if kind == interiorPage {
		return f.tree(int(binary.BigEndian.Uint32(page[head+8:])), depth+1, fn)
	}
	return nil
}

// record returns the content of a cell, which may go on in other pages.
func (f sqliteFile) record(cell []byte) ([]byte, error) {
	length, n := sqliteNumber(cell)
	_, m := sqliteNumber(cell[n:])
	if n == 0 || m == 0 || length > uint64(f.pages)*uint64(f.page) {
		return nil, errNoSQLite
	}
	cell, size := cell[n+m:], int(length)
	local := size
	if most := f.use - 35; size > most {
		least := (f.use-12)*32/255 - 23
		if local = least + (size-least)%(f.use-4); local > most {
			local = least
		}
	}
	if local == size {
		if size > len(cell) {
			return nil, errNoSQLite
		}
		return cell[:size], nil
	}
	if local+4 > len(cell) {
		return nil, errNoSQLite
	}
	record := append([]byte{}, cell[:local]...)
	next := int(binary.BigEndian.Uint32(cell[local:]))
	for len(record) < size {
		page, err := f.at(next)
		if err != nil {
			return nil, err
		}
		next = int(binary.BigEndian.Uint32(page))
		record = append(record, page[4:min(f.use, 4+size-len(record))]...)
	}
	return record, nil
}

// withValues calls fn for the values of a record.
func withValues(record []byte, fn func([]any) error) error {
	headSize, n := sqliteNumber(record)
	if n == 0 || headSize > uint64(len(record)) || headSize < uint64(n) {
		return errNoSQLite
	}
	kinds, content := record[n:headSize], record[headSize:]
	var values []any
	for len(kinds) > 0 {
		kind, n := sqliteNumber(kinds)
		if n == 0 {
			return errNoSQLite
		}
		kinds = kinds[n:]
		value, size, ok := sqliteValue(kind, content)
		if !ok {
			return errNoSQLite
		}
		values, content = append(values, value), content[size:]
	}
	return fn(values)
}

// sqliteValue reads a value of a kind.
func sqliteValue(kind uint64, content []byte) (value any, size int, ok bool) {
	switch {
	case kind == 0:
		return nil, 0, true
	case kind == 8 || kind == 9:
		return int64(kind - 8), 0, true
	case kind == 10 || kind == 11:
		return nil, 0, false
	case kind >= 12:
		if kind-12 > 2*uint64(len(content))+1 {
			return nil, 0, false
		}
		size = int(kind-12) / 2
	default:
		size = [...]int{0, 1, 2, 3, 4, 6, 8, 8}[kind]
	}
	if size > len(content) {
		return nil, 0, false
	}
	b := content[:size]
	switch {
	case kind >= 12 && kind%2 == 1:
		return string(b), size, true
	case kind >= 12:
		return b, size, true
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	if kind == 7 {
		return math.Float64frombits(uint64(n)), size, true
	}
	return n, size, true
}

// sqliteNumber reads a number of 1 to 9 bytes; n is 0 where there is none.
func sqliteNumber(b []byte) (x uint64, n int) {
	for n < len(b) && n < 8 {
		x = x<<7 | uint64(b[n]&0x7f)
		n++
		if b[n-1] < 0x80 {
			return x, n
		}
	}
	if n < 8 || n == len(b) {
		return 0, 0
	}
	return x<<8 | uint64(b[8]), 9
}
