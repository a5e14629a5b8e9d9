package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// line is what is known of a connection besides.
type line struct {
	committing, warned atomic.Bool
	prepares           bool // statements, by name
}

var errCommitting = errors.New("keep: a commit is never cancelled")

// watch lets a connection remember warnings at a commit, and never cancels one: while it waits
// for a standby, a cancelled commit is there, and visible to all, without the standby. It prepares statements
// until a pooler was seen.
func (s *store) watch(_ context.Context, c *pgx.ConnConfig) error {
	l := &line{prepares: !s.pooled.Load()}
	if l.prepares {
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	dial := (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 6}}).DialContext
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if l.committing.Load() { // pgconn asks for the cancelling of what it has lost
			return nil, errCommitting
		}
		return dial(ctx, network, address)
	}
	c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {
		if l.committing.Load() {
			l.warned.Store(true)
		}
	}
	c.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()["line"] = l
		return nil
	}
	return nil
}

func lineOf(c *pgx.Conn) *line { return c.PgConn().CustomData()["line"].(*line) }

// fits lets go of a connection that prepares statements where a pooler was seen, which would hand the next transaction to
// a server process that does not know them.
func (s *store) fits(_ context.Context, conn *pgx.Conn) (bool, error) {
	return !lineOf(conn).prepares || !s.pooled.Load(), nil
}

// refusal is why a server is not written to, in words for its operator.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

// demand refuses a server that may lose what it has acknowledged. Each connection asks: behind
// an address may stand another server than before. A pooler shows itself: it answers for a server
// process of another number than that of which it told when the connection was made.
func (s *store) demand(ctx context.Context, conn *pgx.Conn) error {
	var recovery, standbys bool
	var fsync, pages, commit, names string
	var process uint32
	err := conn.QueryRow(ctx, `SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
		current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
		EXISTS (SELECT FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup') OR EXISTS (SELECT FROM pg_replication_slots WHERE slot_type = 'physical')`, pgx.QueryExecModeExec).
		Scan(&process, &recovery, &fsync, &pages, &commit, &names, &standbys)
	switch {
	case err != nil:
		return err
	case recovery:
		return refusal{"the server is a standby: give the address of the primary"}
	case fsync != "on":
		return refusal{"the server has fsync off, and loses what it acknowledged with its power: turn it on"}
	case pages != "on":
		return refusal{"the server has full_page_writes off, and loses pages with its power: turn it on"}
	case commit != "on" && commit != "remote_apply":
		return refusal{"the server has synchronous_commit " + commit + ", and loses what it acknowledged: set it to on"}
	case standbys && names == "":
		return refusal{"the server has standbys and waits for none: one that is promoted has forgotten what was acknowledged, and nothing shows it: set synchronous_standby_names"}
	}
	if process != conn.PgConn().PID() {
		s.pooled.Store(true)
	}
	return nil
}

// explain says what a failure means to callers of keep, and shows nothing of the address, of
// which any part may be the password, or of a row.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if told(err) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", keep.ErrUnavailable, ctx.Err())
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case e.Code == "53100": // disk_full
			return keep.ErrFull
		case e.Code == "XX001" || e.Code == "XX002": // data_corrupted, index_corrupted
			return fmt.Errorf("%w: PostgreSQL finds its own files changed, and says where in its log (SQLSTATE %s)", keep.ErrDamaged, e.Code)
		}
	}
	return fmt.Errorf("%w: %s", keep.ErrUnavailable, unreached(err))
}

// told reports whether an error says already what it means.
func told(err error) bool {
	for _, known := range []error{keep.ErrDamaged, keep.ErrDropped, keep.ErrMissing, keep.ErrExists, keep.ErrFull, keep.ErrUnavailable, keep.ErrSealed, keep.ErrTaken} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// unreached says why the database did not answer, in words that the address is not in.
func unreached(err error) string {
	if e, ok := errors.AsType[refusal](err); ok {
		return e.why
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "28P01", "28000": // invalid_password, invalid_authorization_specification
			return "PostgreSQL does not let this user in: look at the user, the password and the server's rules (SQLSTATE " + e.Code + ")"
		case "3D000": // invalid_catalog_name
			return "the server has no database of this name (SQLSTATE 3D000)"
		}
		return "PostgreSQL refuses (SQLSTATE " + e.Code + "), and says why in its log"
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate does not hold: look at the host's name, and at sslrootcert"
	}
	return "the PostgreSQL database cannot be reached: look at the host, the port and sslmode in the address"
}

// is tells whether an error has an SQLSTATE.
func is(err error, code string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code
}

// cut reports whether an error is of a connection that was lost, as by a restart of the server,
// and not of what was asked.
func cut(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "57P01" || e.Code == "57P02" // admin_shutdown, crash_shutdown
	}
	_, refused := errors.AsType[refusal](err)
	return err != nil && !refused && !errors.Is(err, pgx.ErrNoRows) && !told(err)
}

// read runs what writes nothing, and once more where a connection turns out to be cut.
func (s *store) read(ctx context.Context, do func() error) error {
	err := do()
	if cut(err) && ctx.Err() == nil {
		s.pool.Reset()
		err = do()
	}
	return explain(ctx, err)
}
