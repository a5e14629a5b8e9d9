// Package keep says what services need of a disk: rows under keys, in tables, on shelves that are forgotten whole.
// Used by internal/storage, whose engines write rows, and by services.
//
// Roles say what their tables mean. What Insert, Seal and Update have returned nil for is on disk. Package keeptest
// holds every engine to what stands here.
package keep

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

var (
	// ErrTaken is the error of a key under which something else is kept.
	ErrTaken = errors.New("keep: the key is taken by another content")

	// ErrSealed is the error of an Insert behind Seal.
	ErrSealed = errors.New("keep: the shelf is sealed")

	// ErrFull is the error of a write for which there is no room. Nothing was written,
	// and a later write may succeed.
	ErrFull = errors.New("keep: no room left: give the store more disk")

	// ErrDamaged is the error of what is changed or missing, as no crash leaves it. The
	// error names it.
	ErrDamaged = errors.New("keep: damaged")

	// ErrUnavailable is the error of a store that does not answer, or is closed. After a
	// write nobody knows whether it was written.
	ErrUnavailable = errors.New("keep: the store does not answer")

	// ErrMissing is the error of a name under which no shelf was ever made.
	ErrMissing = errors.New("keep: no shelf of that name was made")

	// ErrExists is the error of a Create whose shelf is there already.
	ErrExists = errors.New("keep: a shelf of that name is there")

	// ErrDropped is the error of a shelf that was dropped, for good.
	ErrDropped = errors.New("keep: the shelf was dropped")
)

const (
	// Main is the shelf of a service itself. It is made with the store, by the engine's
	// own function and never by a start. Open gives it; Create and Drop refuse it.
	Main = "main"

	// MaxKey is the most bytes of a row's key, which has one at least.
	MaxKey = 1 << 10

	// MaxValue is the most bytes of a row's value, which may be empty.
	MaxValue = 16 << 20

	// MaxCall is the most bytes of all rows of one Insert or Update, keys and values
	// together and RowMore for each row. A deleted row counts too.
	MaxCall = MaxValue + 64<<10

	// RowMore is how many bytes a row counts beside its key and its value.
	RowMore = 64
)

// Table is a table of a shelf, 1 to 15. None is ever given a second meaning.
type Table byte

// Row goes to Insert. Count counts rows by their Tag.
type Row struct {
	Table Table
	Key   string // any bytes
	Tag   uint32
	Value []byte
}

// Store holds shelves. One process opens a folder; any number open a database. It and its
// shelves are safe for concurrent use.
//
// The name of a shelf is 1 to 128 letters, digits, - and _.
type Store interface {
	// Create makes a shelf, once, ever: ErrExists where it is there, ErrDropped where it was
	// dropped. After any other error it is there whole or can be created: Open tells.
	Create(ctx context.Context, shelf string) (Shelf, error)

	// Open returns a shelf and makes nothing: ErrMissing, ErrDropped, or ErrDamaged where a
	// shelf that was made is changed or has lost a file. Opened twice it is the same shelf.
	Open(ctx context.Context, shelf string) (Shelf, error)

	// List returns the names of the shelves that are there, in order, without Main.
	List(ctx context.Context) ([]string, error)

	// Drop forgets a shelf: it destroys its key and then its bytes. Every call on the shelf
	// is ErrDropped from then on. Again is no error; ErrMissing where none was made. After
	// another error, Drop may be called again.
	Drop(ctx context.Context, shelf string) error

	// SetAside opens a shelf without what is damaged of it, for good. All that is whole stays as it
	// was. Keys of Insert's rows that are set aside are free, and Lost counts them. ErrDamaged where
	// an Update has put a row of a shelf with damage: that may guard privacy. So is Main. Who holds
	// the shelf from before may be answered ErrUnavailable.
	SetAside(ctx context.Context, shelf string) (Shelf, error)

	// Lost returns how many rows of a shelf were set aside, as far as that can be known: one at
	// least where something was.
	Lost(ctx context.Context, shelf string) (rows uint64, err error)

	// Usage returns how many bytes the store takes, and how many are free; free is negative
	// where the store does not know.
	Usage(ctx context.Context) (used, free int64, err error)

	// Close waits for writes that are under way and lets go of the store. Every later call
	// is ErrUnavailable. Again is no error.
	Close() error
}

// Shelf holds rows that are forgotten together, under keys in tables. Keys are ordered by
// their bytes.
//
// Reads see only what is on disk. A value that is returned is the caller's. One that is
// given to fn is fn's until it returns. An error of fn ends the reading and is returned.
//
// When a context ends, the call returns an error that is ErrUnavailable and the context's.
// Nobody then knows whether a write was written.
type Shelf interface {
	// Get returns the value under a key. ErrDamaged where the row is not what was written.
	Get(ctx context.Context, t Table, key string) (value []byte, there bool, err error)

	// Each calls fn for the rows whose key begins with the prefix, by key. A row that is there
	// all the while is among them once; of others nothing is said. fn may read and write the
	// shelf.
	Each(ctx context.Context, t Table, prefix string, fn func(key string, value []byte) error) error

	// InOrder calls fn for Insert's rows of a sealed shelf in the order in which they were
	// written, the same each time. Rows of one Insert come as they stood in the call. A shelf
	// that is not sealed is refused. fn may read and write the shelf.
	InOrder(ctx context.Context, t Table, fn func(key string, value []byte) error) error

	// Count returns how many of Insert's rows in a table have the tag. It reads no value. Of
	// a shelf that is not sealed it may miss what is written meanwhile.
	Count(ctx context.Context, t Table, tag uint32) (int, error)

	// Insert keeps rows under free keys while the shelf is open: all rows of a call, or none.
	// Callers that come together share one write. If all rows are there as an Insert wrote
	// them, with the same tags and values, it writes none of them and says again. What it
	// says again of is on disk, and wherever else the store promises. Anything else under one
	// of the keys is ErrTaken, and so is a call of which only some rows are there. A sealed
	// shelf is ErrSealed, whatever is there. A call without rows, with two rows under one key
	// of a table, or beyond a bound is refused. Insert may be repeated after any error.
	//
	// A row that an Update puts or deletes is Insert's no longer: Count and InOrder pass over
	// it. A key that was deleted is free.
	Insert(ctx context.Context, rows ...Row) (again bool, err error)

	// Seal closes the shelf to Insert, for good: every Insert that begins behind it is
	// ErrSealed, from whatever process. Update goes on. No Update runs meanwhile: one that
	// saw Sealed false is on disk before Seal returns. Again is no error.
	Seal(ctx context.Context) error

	// Update runs fn while no other Update of the shelf runs, and writes what fn put and
	// deleted: all or nothing. If fn returns an error nothing is written, and Update returns
	// that error. Inserts may come between two reads, unless the shelf is sealed. Rows of an
	// Insert that fn saw are on disk when Update returns nil.
	//
	// Update runs fn again only if nothing was written. If nobody knows whether it was, the
	// error is ErrUnavailable and fn is not run again: the caller reads before it repeats.
	// fn calls its Tx alone: what else it asks of the shelf may wait for ever.
	Update(ctx context.Context, fn func(Tx) error) error

	// Secret returns 32 bytes for a purpose, the same as long as the shelf is there, and
	// unknown to everybody once it is dropped.
	Secret(ctx context.Context, purpose string) ([]byte, error)

	// Check reads everything. ErrDamaged says what is changed or missing.
	Check(ctx context.Context) error
}

// Tx reads and writes within one Update. Reads see what was put and deleted before in the
// same Update. It is for the goroutine of fn, until fn returns. Once a read has failed
// the Update writes nothing.
type Tx interface {
	// Get returns the value under a key, which is the caller's.
	Get(t Table, key string) (value []byte, there bool, err error)

	// Each calls fn for the rows whose key begins with the prefix, by key. fn may put and
	// delete; of rows that it puts under such keys meanwhile nothing is said.
	Each(t Table, prefix string, fn func(key string, value []byte) error) error

	// Put keeps a value under a key, whatever stands there. The value must not be changed
	// until Update returns.
	Put(t Table, key string, value []byte)

	// Delete takes a row away. It is not found any more; its bytes stay until Drop. A key
	// without a row is none to delete, and no error.
	Delete(t Table, key string)

	// Sealed reports whether the shelf is sealed. It stays so until fn's writes are on disk.
	Sealed() bool
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// CheckName refuses what is no name of a shelf.
func CheckName(shelf string) error {
	if !nameForm.MatchString(shelf) {
		return fmt.Errorf("keep: %q is no name of a shelf: use 1 to 128 letters, digits, - and _", shelf)
	}
	return nil
}

// CheckTable refuses what is no table.
func CheckTable(t Table) error {
	if t < 1 || t > 15 {
		return fmt.Errorf("keep: table %d: tables are 1 to 15", t)
	}
	return nil
}

// CheckKey refuses a table and a key under which no row can stand.
func CheckKey(t Table, key string) error {
	if err := CheckTable(t); err != nil {
		return err
	}
	if len(key) < 1 || len(key) > MaxKey {
		return fmt.Errorf("keep: a key of %d bytes in table %d: 1 to %d are allowed", len(key), t, MaxKey)
	}
	return nil
}

// CheckRow refuses a row that no shelf keeps.
func CheckRow(t Table, key string, value []byte) error {
	if err := CheckKey(t, key); err != nil {
		return err
	}
	if len(value) > MaxValue {
		return fmt.Errorf("keep: a value of %d bytes in table %d: the limit is %d", len(value), t, MaxValue)
	}
	return nil
}

// CheckRows refuses the rows of an Insert that no shelf keeps.
func CheckRows(rows []Row) error {
	if len(rows) == 0 {
		return errors.New("keep: an Insert without rows")
	}
	type name struct {
		t   Table
		key string
	}
	var seen map[name]bool
	if len(rows) > 1 {
		seen = make(map[name]bool, len(rows))
	}
	size := 0
	for _, r := range rows {
		if err := CheckRow(r.Table, r.Key, r.Value); err != nil {
			return err
		}
		size += len(r.Key) + len(r.Value) + RowMore
		if seen == nil {
			continue
		}
		if seen[name{r.Table, r.Key}] {
			return fmt.Errorf("keep: an Insert with two rows under one key of table %d", r.Table)
		}
		seen[name{r.Table, r.Key}] = true
	}
	return CheckSize(size)
}

// CheckSize refuses more bytes than a call may have.
func CheckSize(size int) error {
	if size > MaxCall {
		return fmt.Errorf("keep: the rows of a call have %d bytes: the limit is %d", size, MaxCall)
	}
	return nil
}
