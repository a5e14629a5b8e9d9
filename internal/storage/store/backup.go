package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

type table struct {
	name    string
	columns []string
}

// A backup is a SQLite file, whichever database it was made of, and is restored
// into either. tables are in an order in which each refers to earlier ones only.
var tables = []table{
	{"plans", []string{"name", "signed", "registered"}},
	{"signatures", []string{"plan", "number", "signed"}},
	{"withdrawals", []string{"name", "statement"}},
	{"spendings", []string{"plan", "population", "publisher", "epsilon", "delta", "adjacency", "users", "method", "note", "spent", "shift", "tail", "dominated"}},
	{"links", []string{"number", "plan", "digest"}},
	{"batches", []string{"plan", "instance", "crowd", "sha256", "receipts", "respondents", "smallest", "dropped", "counted", "crc"}},
	{"counts", []string{"plan", "instance", "crowd", "part", "body", "crc"}},
	{"closings", []string{"plan", "closer", "closed"}},
	{"verdicts", []string{"plan", "released", "reason", "decided"}},
	{"releases", []string{"plan", "format", "sha256", "body"}},
	{"states", []string{"name", "body"}},
	{"rounds", []string{"plan", "signed", "reason", "written"}},
	{"announcements", []string{"plan", "announced"}},
	{"numbered", []string{"study", "number", "plan"}},
}

// Backup writes a consistent copy of everything to a new file while the service
// goes on. The file is whole and on disk, or not there.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: backup: %s is there already: a backup never replaces one", path)
	}
	// In the same folder, so that the last step is a rename.
	half, err := os.MkdirTemp(filepath.Dir(path), ".backup-")
	if err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	defer os.RemoveAll(half)
	copied := filepath.Join(half, "copy.db")
	if s.kind == sqlite {
		err = s.vacuum(ctx, copied)
	} else {
		err = s.dump(ctx, copied)
	}
	if err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	if err := settle(copied); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	if err := s.failpoint("store/backup"); err != nil {
		return err
	}
	// A link, unlike a rename, never replaces what came there meanwhile.
	if err := os.Link(copied, path); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	return atomicfile.SyncFolder(filepath.Dir(path))
}

// vacuum copies a SQLite database as of one moment, on a connection of its own:
// the readers' may write nothing, and the writer is not to wait.
func (s *Store) vacuum(ctx context.Context, path string) error {
	from, err := sql.Open("sqlite", sqliteURI(s.path)+"?"+everyPragma)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = from.ExecContext(ctx, "VACUUM INTO $1", path)
	return err
}

// dump copies a PostgreSQL database as of one moment.
func (s *Store) dump(ctx context.Context, path string) error {
	to, err := Open(ctx, Config{DSN: path})
	if err != nil {
		return err
	}
	defer to.Close()
	from, err := s.reader.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer from.Rollback()
	if err := to.write(ctx, "dump", func(tx *sql.Tx) error { return copyTables(ctx, from, tx) }); err != nil {
		return err
	}
	// One file, without a write-ahead log beside it.
	_, err = to.writer.ExecContext(ctx, "PRAGMA journal_mode(DELETE)")
	return err
}

// settle puts a finished copy on disk, readable by its owner only.
func settle(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	return f.Sync()
}

// Restore fills an empty store from a backup, all or nothing.
func (s *Store) Restore(ctx context.Context, path string) error {
	// immutable: the backup is read and nothing is written beside it.
	backup, err := sql.Open("sqlite", sqliteURI(path)+"?mode=ro&immutable=1")
	if err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	defer backup.Close()
	if err := s.sameShape(ctx, backup); err != nil {
		return err
	}
	from, err := backup.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	defer from.Rollback()
	err = s.write(ctx, "restore", func(tx *sql.Tx) error {
		switch there, err := exists(ctx, tx, "SELECT name FROM plans"); {
		case err != nil:
			return err
		case there:
			return errors.New("store: restore: this database is in use: restore into an empty one")
		}
		return copyTables(ctx, from, tx)
	})
	if err != nil {
		return err
	}
	end, err := s.ledger(ctx, s.reader)
	if errors.Is(err, ErrLedger) {
		return nil // all else is of use, and it says so itself: nothing is spent
	}
	if err != nil {
		return err
	}
	return s.reach(end)
}

// sameShape refuses a file that is damaged, no backup, or of another version.
func (s *Store) sameShape(ctx context.Context, backup *sql.DB) error {
	// What is read must be what was written, not a view or a column that computes
	// something whenever it is looked at.
	const plainly = "SELECT count(*) FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) c WHERE s.name = $1 AND s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden = 0 AND c.name = $2"
	for _, t := range append(tables, table{"goose_db_version", []string{"version_id"}}) {
		for _, column := range t.columns {
			var there int
			if err := backup.QueryRowContext(ctx, plainly, t.name, column).Scan(&there); err != nil {
				return fmt.Errorf("store: restore: the file is no backup: %w", err)
			}
			if there != 1 {
				return fmt.Errorf("store: restore: the file is no backup of this version: it has no table %s with a column %s", t.name, column)
			}
		}
	}
	var verdict string
	if err := backup.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil {
		return fmt.Errorf("store: restore: the file is no backup: %w", err)
	}
	if verdict != "ok" {
		return errors.New("store: restore: the backup is damaged: take another one")
	}
	const newest = "SELECT max(version_id) FROM goose_db_version"
	var want, got int64
	if err := s.reader.QueryRowContext(ctx, newest).Scan(&want); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	if err := backup.QueryRowContext(ctx, newest).Scan(&got); err != nil {
		return fmt.Errorf("store: restore: the file is no backup: %w", err)
	}
	if got != want {
		return fmt.Errorf("store: restore: the backup has tables of version %d and this build of version %d: restore with the build that made it, then start this one", got, want)
	}
	return nil
}

func copyTables(ctx context.Context, from query, to *sql.Tx) error {
	for _, t := range tables {
		places := make([]string, len(t.columns))
		row, at := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range t.columns {
			places[i] = fmt.Sprintf("$%d", i+1)
			at[i] = &row[i]
		}
		columns := strings.Join(t.columns, ", ")
		insert, err := to.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.name, columns, strings.Join(places, ", ")))
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		err = each(ctx, from, func(r *sql.Rows) error {
			if err := r.Scan(at...); err != nil {
				return err
			}
			_, err := insert.ExecContext(ctx, row...)
			return err
		}, "SELECT "+columns+" FROM "+t.name)
		insert.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
