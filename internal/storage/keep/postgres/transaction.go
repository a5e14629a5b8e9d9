package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// idle bounds how long a transaction waits for its process. A process that was stopped in the middle of one holds locks
// until it wakes; after this time the server takes them away.
const idle = 30 * time.Second

// transaction is one that writes, on a connection of its own until it has ended. It holds a
// writer's turn.
type transaction struct {
	s     *store
	conn  *pgxpool.Conn
	done  func() // of Close
	ended bool
}

// states of a shelf, as the database has them. One that is dropping has a table still.
const (
	isOpen     = 0
	isSealed   = 1
	isDropping = 2
	isDropped  = 3
)

// status is what stands in a shelf's row.
type status struct {
	number int64
	state  int
	tabled bool // its table was made, with its first row
	lost   int64
	due    *int64 // rows of Insert that it was sealed with
	key    []byte
}

// lock is an advisory lock, taken shared or alone until the transaction ends.
type lock struct {
	number int64
	shared bool
}

// begin begins a transaction and takes locks, one after another. Behind them each statement sees
// what was committed before it, whatever the server's default is. more adds statements, whose
// results scan reads: one message there, and one back.
//
// Whatever fails, nothing was written: it tries again on a new connection where the old one was
// cut.
func (s *store) begin(ctx context.Context, locks []lock, more func(*pgx.Batch), scan func(pgx.BatchResults) error) (*transaction, error) {
	if err := turn(ctx, s.writing); err != nil {
		return nil, err
	}
	done, err := s.write()
	if err != nil {
		<-s.writing
		return nil, err
	}
	tx := &transaction{s: s, done: done}
	err = tx.begin(ctx, locks, more, scan)
	if cut(err) && ctx.Err() == nil {
		tx.discard()
		s.pool.Reset()
		err = tx.begin(ctx, locks, more, scan)
	}
	if err != nil {
		tx.rollback()
		return nil, err
	}
	return tx, nil
}

func (tx *transaction) begin(ctx context.Context, locks []lock, more func(*pgx.Batch), scan func(pgx.BatchResults) error) (err error) {
	if tx.conn, err = tx.s.pool.Acquire(ctx); err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	// A commit that is cut short is told by a warning, and by nothing else.
	b.Queue(`SELECT set_config('client_min_messages', 'warning', true), set_config('statement_timeout', '0', true),
		set_config('idle_in_transaction_session_timeout', $1, true),
		set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`, strconv.FormatInt(tx.s.idle.Milliseconds(), 10))
	for _, l := range locks {
		if l.shared {
			b.Queue("SELECT pg_advisory_xact_lock_shared($1)", l.number)
		} else {
			b.Queue("SELECT pg_advisory_xact_lock($1)", l.number)
		}
	}
	before := b.Len()
	if more != nil {
		more(b)
	}
	r := tx.conn.SendBatch(ctx, b)
	defer r.Close()
	for range before {
		if _, err := r.Exec(); err != nil {
			return err
		}
	}
	if scan != nil {
		if err := scan(r); err != nil {
			return err
		}
	}
	return r.Close()
}

// discard throws the connection away.
func (tx *transaction) discard() {
	if tx.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		tx.conn.Conn().Close(ctx)
		tx.conn.Release()
		tx.conn = nil
	}
}

// end gives the connection and the turn back.
func (tx *transaction) end() {
	tx.ended = true
	if tx.conn != nil {
		tx.conn.Release()
	}
	<-tx.s.writing
	tx.done()
}

// rollback ends a transaction that was not committed, and does nothing to one that was.
func (tx *transaction) rollback() {
	if tx.ended {
		return
	}
	if tx.conn != nil && tx.conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := tx.conn.Exec(ctx, "ROLLBACK"); err != nil {
			tx.discard()
		}
	}
	tx.end()
}

// commit commits. A context that ends ends the waiting, and never the commit: it goes on, and
// nobody knows. Any other answer than COMMIT means the same.
func (tx *transaction) commit(ctx context.Context) error {
	tx.ended = true // for rollback: the rest is done below, whoever still waits
	answer := make(chan error, 1)
	go func() {
		err := tx.committed()
		if err != nil {
			tx.discard()
		}
		tx.end()
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", keep.ErrUnavailable, ctx.Err())
	}
}

func (tx *transaction) committed() error {
	l := lineOf(tx.conn.Conn())
	l.warned.Store(false)
	l.committing.Store(true)
	said, err := tx.conn.Exec(context.Background(), "COMMIT")
	switch {
	case err != nil: // committing stays true: nothing more is sent for this connection
		return fmt.Errorf("%w: nobody knows whether a transaction was committed: %s", keep.ErrUnavailable, unreached(err))
	case l.warned.Load():
		return fmt.Errorf("%w: a commit ended with a warning: the standby may not have it", keep.ErrUnavailable)
	case said.String() != "COMMIT":
		return fmt.Errorf("%w: a transaction was not committed", keep.ErrUnavailable)
	}
	l.committing.Store(false)
	return nil
}
