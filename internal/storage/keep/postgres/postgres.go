// Package postgres keeps shelves in a PostgreSQL database, which any number of processes open: a table for each
// shelf, so that none waits for another's. Used by cmd/confetti-aggregator-postgres,
// cmd/confetti-shuffler-postgres, cmd/internal/server/roles and internal/service/analyzerd/rows.
//
// Every transaction says what it needs of the server: READ COMMITTED, a commit that waits
// for the disk and for the standbys, warnings. Locks and settings are a transaction's, and
// statements are prepared by name only where the server itself answers, so that a pooler of transactions may stand
// between.
//
// A table holds keys of rows in the clear. Their values are sealed unless Config says
// otherwise, by the shelf's key, which Drop destroys where Config.Keys has it.
package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Config says which database, and what it may know.
type Config struct {
	// URL is the address of the database, postgres://user@host/database. Its tables lie in
	// the first schema of the search path.
	URL string

	// Keys is where keys of shelves lie, outside of the database: a folder or a bucket that
	// all processes share, without versions and without backups. nil leaves them in the
	// database. What is dropped is then forgotten when its archive, its standbys and its
	// backups are.
	Keys blob.Store

	// Plain leaves values in the clear. An analyzer's are what it releases.
	Plain bool
}

// version is of the tables. Another one is refused.
const version = 4

// digest is that of a shelf's row, which the server writes with each row and compares at each read.
const digest = "sha256(shelf::bytea || int8send(number) || int2send(state) || boolsend(tabled) || int8send(lost) || coalesce(int8send(inserted), '') || coalesce(key, ''))"

const definitions = `
CREATE TABLE confetti_version (version int NOT NULL);
INSERT INTO confetti_version VALUES (4);
CREATE SEQUENCE confetti_groups;
CREATE TABLE confetti_shelves (
	shelf text COLLATE "C" PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY,
	state smallint NOT NULL, tabled boolean NOT NULL, lost bigint NOT NULL DEFAULT 0, inserted bigint, key bytea, sum bytea GENERATED ALWAYS AS (` + digest + `) STORED)`

// How many connections there are, of how many that write at once and that read in order. What is
// left reads single rows, so that a reader's function finds one.
const (
	connections = 16
	writers     = 8
	streams     = 4
	prepared    = 128 // statements of each, at most: its server process keeps their plans
)

type store struct {
	config  Config
	pool    *pgxpool.Pool
	schema  string
	process []byte        // its row in each table
	idle    time.Duration // how long a transaction may wait for its process
	pooled  atomic.Bool   // a pooler was seen between
	writing chan struct{}
	reading chan struct{}

	open   context.Context // until Close
	close  context.CancelFunc
	closed atomic.Bool
	under  sync.WaitGroup // writes under way

	mu      sync.Mutex
	shelves map[string]*shelf
}

// Make makes the tables of a store and its main shelf, once: keep.ErrExists where they are.
// The command that makes a service's keys calls it, and no start does.
func Make(ctx context.Context, c Config) error {
	s, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.make(ctx)
}

func (s *store) make(ctx context.Context) error {
	// Two that make tables at once collide in the server's own, "IF NOT EXISTS" or not.
	tx, err := s.begin(ctx, []lock{{s.lock("definitions"), false}}, nil, nil)
	if err != nil {
		return explain(ctx, err)
	}
	defer tx.rollback()
	there, err := s.version(ctx, tx.conn)
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("%w: the database has the tables of a store", keep.ErrExists)
	}
	if _, err := tx.conn.Exec(ctx, definitions); err != nil {
		return explain(ctx, err)
	}
	if _, err := s.add(ctx, tx, keep.Main); err != nil {
		return err
	}
	return tx.commit(ctx)
}

// Open opens a store that was made. It makes nothing, and finishes what a Drop has left.
func Open(ctx context.Context, c Config) (keep.Store, error) {
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	there, err := s.version(ctx, s.pool)
	if err == nil && !there {
		err = fmt.Errorf("%w: the database has no tables of a store: make them with the service's keys, or look whether this is the database", keep.ErrDamaged)
	}
	if err == nil {
		err = s.finishDrops(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Start opens the store in a database, and makes it first in one that has none: of a service whose
// neighbours know what it has done.
func Start(ctx context.Context, url string, keys blob.Store) (keep.Store, error) {
	c := Config{URL: url, Keys: keys}
	if err := Make(ctx, c); err != nil && !errors.Is(err, keep.ErrExists) {
		return nil, err
	}
	return Open(ctx, c)
}

// connect returns a store that answers, of whatever version its tables are.
func connect(ctx context.Context, c Config) (*store, error) {
	config, err := pgxpool.ParseConfig(c.URL)
	if err != nil { // whose text holds the address
		return nil, errors.New("keep: the database URL cannot be read, or a file that it names: write postgres://user@host/database")
	}
	config.MaxConns = connections
	config.ConnConfig.DefaultQueryExecMode, config.ConnConfig.StatementCacheCapacity = pgx.QueryExecModeExec, prepared
	s := &store{config: c, idle: idle, writing: make(chan struct{}, writers), reading: make(chan struct{}, streams), shelves: map[string]*shelf{}, process: drawn(8)}
	s.open, s.close = context.WithCancel(context.Background())
	config.BeforeConnect, config.AfterConnect, config.PrepareConn = s.watch, s.demand, s.fits
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, explain(ctx, err)
	}
	if err := s.pool.QueryRow(ctx, "SELECT current_schema()").Scan(&s.schema); err != nil {
		s.pool.Close()
		return nil, explain(ctx, err)
	}
	return s, nil
}

// querier is a connection, or any of the pool's.
type querier interface {
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
	QueryRow(context.Context, string, ...any) pgx.Row
}

// version reports whether there are tables of a store, and refuses what is not this version's.
func (s *store) version(ctx context.Context, q querier) (there bool, err error) {
	var earlier *string // a table of one
	if err := q.QueryRow(ctx, "SELECT coalesce(to_regclass('goose_db_version'), to_regclass('goose_sums_version'))::text, to_regclass('confetti_version') IS NOT NULL").Scan(&earlier, &there); err != nil {
		return false, explain(ctx, err)
	}
	if earlier != nil {
		return false, fmt.Errorf("keep: the database has a table %s: it was kept by an earlier version, which this one does not read: let that version end its plans (confetti --version 0.N), then start with an empty database", *earlier)
	}
	if !there {
		return false, nil
	}
	var is, lines int
	if err := q.QueryRow(ctx, "SELECT coalesce(max(version), 0), count(*) FROM confetti_version").Scan(&is, &lines); err != nil {
		return false, explain(ctx, err)
	}
	if is != version || lines != 1 {
		return false, fmt.Errorf("keep: the database's tables are of version %d, and this program reads version %d: run the program that made them", is, version)
	}
	return true, nil
}

// lock returns the number of an advisory lock, of this schema's own.
func (s *store) lock(what string) int64 {
	sum := sha256.Sum256([]byte("confetti/keep/" + s.schema + "/" + what))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// enter returns the context of a call, which also ends with the store.
func (s *store) enter(ctx context.Context) (context.Context, func(), error) {
	if s.closed.Load() {
		return nil, nil, fmt.Errorf("%w: it is closed", keep.ErrUnavailable)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", keep.ErrUnavailable, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.open, cancel)
	return ctx, func() { stop(); cancel() }, nil
}

// turn takes one of a number of turns, which is given back by receiving.
func turn(ctx context.Context, turns chan struct{}) error {
	select {
	case turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", keep.ErrUnavailable, ctx.Err())
	}
}

// closeWithin is how long Close waits for writes. One that waits for a standby longer than
// that was acknowledged to nobody.
const closeWithin = 10 * time.Second

func (s *store) Close() error {
	s.mu.Lock() // no write begins between
	first := s.closed.CompareAndSwap(false, true)
	s.mu.Unlock()
	if !first {
		return nil
	}
	done := make(chan struct{})
	go func() {
		s.under.Wait()
		s.close() // readers end
		s.pool.Close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(closeWithin):
		s.close()
		return fmt.Errorf("%w: a write is still under way", keep.ErrUnavailable)
	}
}

// write counts a write that Close waits for, until the function it returns is called.
func (s *store) write() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, fmt.Errorf("%w: it is closed", keep.ErrUnavailable)
	}
	s.under.Add(1)
	return s.under.Done, nil
}

func (s *store) Usage(ctx context.Context) (used, free int64, err error) {
	ctx, end, err := s.enter(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	err = s.read(ctx, func() error {
		return s.pool.QueryRow(ctx, `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
			WHERE relnamespace = $1::text::regnamespace AND relkind = 'r' AND relname LIKE 'confetti\_%'`, s.schema).Scan(&used)
	})
	return used, -1, err
}
