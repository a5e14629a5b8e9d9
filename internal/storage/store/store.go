// Package store keeps what an analyzer must not lose in SQLite or in PostgreSQL: the same tables and the same
// statements. Used by internal/service/analyzerd, internal/analyzer/shards and cmd/internal/server/roles.
//
// Rows are written once and never changed; the database refuses it. What state a plan is in follows from which rows
// there are:
//
//	plans, spendings      registered: it takes batches
//	batches, counts       one batch an instance and crowd, with its tally
//	closings              it takes no more batches
//	verdicts, releases    it was published, or withheld and why
//	numbered              which plan a round of a study is
//	rounds                of a study: what follows it
//	announcements         that has come to every service
//
// Everything that belongs together is one transaction, and writers take turns, so that a check and what is written
// after it cannot come apart.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	modernc "modernc.org/sqlite" // the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

var (
	// ErrUnknown: no such plan, or release.
	ErrUnknown = errors.New("store: unknown")
	// ErrTaken: something else is there already, and stays.
	ErrTaken = errors.New("store: taken by something else")
	// ErrClosed: the plan takes no more batches.
	ErrClosed = errors.New("store: the plan is closed")
	// ErrFull: the database's disk is full. What was to be written is not there.
	ErrFull = errors.New("store: the disk is full")
	// ErrBusy: another process held the tables for as long as a writer waits. What was to be
	// written is not there.
	ErrBusy = errors.New("store: another process holds the database's tables")
)

// Outcome says whether a write found the same thing there already.
type Outcome int

const (
	Failed Outcome = iota // with an error
	New
	Again // the same was there already: nothing was written, all is well
)

type kind int

const (
	sqlite kind = iota
	postgres
)

// Config says where the data rests.
type Config struct {
	// DSN is the path of a SQLite file, made if it is not there, or the URL of a
	// PostgreSQL database: postgres://user@host/database.
	DSN string
	// Ledger is a file on this machine's disk that says how far the budget ledger has
	// come; "": beside a SQLite file its name and ".ledger", and none with PostgreSQL.
	Ledger string
	// Failpoint is called at named steps in tests of crashes: "store/NAME" before
	// the transaction NAME commits and "store/NAME/committed" after. Its error ends
	// what is being done as a crash would. nil: none.
	Failpoint func(name string) error
}

// Failpoints are the steps that Config.Failpoint is called at: before each
// transaction commits, and after.
var Failpoints = []string{
	"store/register", "store/register/committed",
	"store/count", "store/count/committed",
	"store/close", "store/close/committed",
	"store/decide", "store/decide/committed",
	"store/expire", "store/expire/committed",
	"store/restore", "store/restore/committed",
	"store/backup", // before the copy gets its name
}

// RoundFailpoints are those of what only studies write.
var RoundFailpoints = []string{
	"store/follow", "store/follow/committed",
	"store/announce", "store/announce/committed",
}

// Store is an open database. It is safe for concurrent use, also by several
// processes.
type Store struct {
	kind           kind
	path           string // of the SQLite file
	end            string // file that says how far the ledger has come; "": none
	writer, reader *sql.DB
	disk           *atomicfile.Disk      // of the SQLite file
	refused        atomic.Pointer[error] // the last write found the disk full, or the tables held
	asking         sync.Mutex            // held by who asks whether the tables are free again
	failpoint      func(string) error
	patience       string // milliseconds that PostgreSQL's writers wait for each other
	turns          string // table whose lock lets PostgreSQL's writers take turns
}

// Open opens the database and brings its tables to the newest shape.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{failpoint: c.Failpoint, end: c.Ledger, turns: "plans"}
	err := s.open(ctx, c.DSN, s.provider)
	if err == nil {
		err = s.mendEnd(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open opens the database and brings its tables to the newest shape of a provider.
func (s *Store) open(ctx context.Context, dsn string, provider func() (*goose.Provider, error)) (err error) {
	s.patience = turnWithin
	if s.failpoint == nil {
		s.failpoint = func(string) error { return nil }
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		err = s.openPostgres(dsn)
	} else {
		err = s.openSQLite(dsn)
	}
	if err == nil && s.kind == sqlite {
		err = s.integrity(ctx, s.writer)
	}
	if err == nil {
		err = s.migrate(ctx, provider)
	}
	return err
}

// connections is how many a service holds to its database: one writes, some read.
const connections = 8

// Write-ahead logging lets readers go on beside the one writer; synchronous FULL
// puts a commit on disk before it returns; secure_delete overwrites what is
// deleted; a writer takes its lock when it begins, so that it never fails halfway.
const (
	turnWithin  = "10000" // milliseconds that a writer waits for others
	everyPragma = "_pragma=busy_timeout(" + turnWithin + ")&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_pragma=recursive_triggers(1)"
	writeMode   = everyPragma + "&_txlock=immediate"
	readMode    = everyPragma + "&_pragma=query_only(1)"
)

func (s *Store) openSQLite(path string) error {
	if path == "" {
		return errors.New("store: no database: give the path of a file, or a postgres:// URL")
	}
	// The file is made here for its mode: SQLite's other files take it over.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if s.writer, err = sql.Open("sqlite", sqliteURI(path)+"?"+writeMode); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.end = cmp.Or(s.end, path+".ledger")
	s.path, s.disk = path, atomicfile.WatchDisk(filepath.Dir(path))
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = sql.Open("sqlite", sqliteURI(path)+"?"+readMode); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.reader.SetMaxOpenConns(connections)
	return nil
}

func sqliteURI(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// Close lets go of the database.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.writer, s.reader} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Ready asks the database whether it answers, and its disk whether it takes anything.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.writer.PingContext(ctx); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if s.disk != nil {
		if err := s.disk.Err(); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	err := s.refused.Load()
	if err == nil {
		return nil
	}
	if errors.Is(*err, ErrBusy) && s.asking.TryLock() { // one asks, and not for long
		defer s.asking.Unlock()
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if s.write(ctx, "turn", func(*sql.Tx) error { return nil }) == nil {
			return nil // whoever had the tables has let go
		}
	}
	return fmt.Errorf("store: the last write was refused: %w", *err)
}

// write runs do in one transaction; no other writer runs meanwhile. Either all
// of it is on disk when write returns nil, or none ever was, except that a
// connection lost while committing leaves open which: the caller asks again.
func (s *Store) write(ctx context.Context, name string, do func(*sql.Tx) error) error {
	err := s.transact(ctx, name, do)
	switch {
	case full(err):
		err = fmt.Errorf("%w: %w", ErrFull, err)
	case held(err):
		err = fmt.Errorf("%w: look for a session that does nothing in a transaction: %w", ErrBusy, err)
	case err == nil:
		s.refused.Store(nil)
		return nil
	default:
		return err
	}
	s.refused.Store(&err) // until one is taken
	return err
}

func (s *Store) transact(ctx context.Context, name string, do func(*sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer tx.Rollback() // nothing, once committed
	if s.kind == postgres {
		// What BEGIN IMMEDIATE and busy_timeout are to SQLite: one writer, readers unhindered.
		if _, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = "+s.patience); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if _, err := tx.ExecContext(ctx, "LOCK TABLE "+s.turns+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if err := do(tx); err != nil {
		return err
	}
	if err := s.failpoint("store/" + name); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if s.kind == sqlite && slices.Contains(weighty, name) {
		// From the write-ahead log into the file: what was spent and published must
		// not hang on a second one. Committed it is in either.
		s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	}
	return s.failpoint("store/" + name + "/committed")
}

// weighty are the transactions that are copied into the database's file at once.
var weighty = []string{"register", "count", "close", "decide", "restore", "withdraw", "resign"}

// full recognizes what either database says when its disk is full.
func full(err error) bool {
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_FULL
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "53100" // disk_full
	}
	return errors.Is(err, syscall.ENOSPC)
}

// held recognizes what either database says when others hold it for too long.
func held(err error) bool {
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "55P03" // lock_not_available
}

// query is what reads need of a database or a transaction.
type query interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// each scans every row of a query.
func each(ctx context.Context, q query, scan func(*sql.Rows) error, text string, args ...any) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// exists tells whether the query has a row.
func exists(ctx context.Context, q query, text string, args ...any) (bool, error) {
	found := false
	err := each(ctx, q, func(*sql.Rows) error { found = true; return nil }, text, args...)
	return found, err
}

func execArgs(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	if _, err := tx.ExecContext(ctx, text, args...); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// inserted reports whether the statement wrote, or deleted, rows.
func inserted(ctx context.Context, tx *sql.Tx, text string, args ...any) (bool, error) {
	r, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	n, err := r.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	return n > 0, nil
}

func stamp(t time.Time) int64 { return t.UnixMicro() }

func unstamp(us sql.NullInt64) time.Time {
	if !us.Valid {
		return time.Time{}
	}
	return time.UnixMicro(us.Int64).UTC()
}
