package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// guardsVersion is where the guards stand among the numbered migrations.
const guardsVersion = 2

// migrate brings the database to the newest shape. Two services that start
// together take turns.
func (s *Store) migrate(ctx context.Context, make func() (*goose.Provider, error)) error {
	provider, err := make()
	if err != nil {
		return fmt.Errorf("store: migrations: %w", err)
	}
	if s.kind == postgres {
		turn, err := s.writer.Conn(ctx)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer turn.Close()
		const key = "hashtext('confetti ' || current_schema())"
		if _, err := turn.ExecContext(ctx, "SELECT pg_advisory_lock("+key+")"); err != nil {
			return fmt.Errorf("store: waiting for another service that migrates: %w", err)
		}
		defer turn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock("+key+")")
	}
	if _, err := provider.Up(ctx); ctx.Err() != nil { // which says nothing of the database
		return fmt.Errorf("store: stopped while its tables were made: %w", ctx.Err())
	} else if err != nil {
		return fmt.Errorf("store: the database cannot be brought to this version's shape: it is damaged, or of a later version: %w", err)
	}
	return nil
}

func (s *Store) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithGoMigrations(
		goose.NewGoMigration(guardsVersion, &goose.GoFunc{RunTx: s.kind.guard}, &goose.GoFunc{RunTx: s.kind.unguard}),
		goose.NewGoMigration(ledgerVersion, &goose.GoFunc{RunTx: s.kind.chained}, &goose.GoFunc{RunTx: s.kind.unchained}),
		goose.NewGoMigration(withdrawalsVersion, &goose.GoFunc{RunTx: s.kind.withdrawable}, &goose.GoFunc{RunTx: s.kind.unwithdrawable}),
		goose.NewGoMigration(roundsVersion, &goose.GoFunc{RunTx: s.kind.studied}, &goose.GoFunc{RunTx: s.kind.unstudied}),
		goose.NewGoMigration(numberedVersion, &goose.GoFunc{RunTx: s.kind.numbered}, &goose.GoFunc{RunTx: s.kind.unnumbered}),
	)}
	return goose.NewProvider(s.dialect(), s.writer, files, options...)
}

func (s *Store) dialect() goose.Dialect {
	if s.kind == postgres {
		return goose.DialectPostgres
	}
	return goose.DialectSQLite3
}

// The tables whose rows are never changed, and those of them whose rows never go.
var (
	unchanging = []string{"plans", "spendings", "batches", "counts", "closings", "verdicts", "releases"}
	lasting    = []string{"plans", "spendings", "closings", "verdicts", "releases"}
)

// guard has the database itself refuse what no code of ours does: changing a row,
// or deleting one of what is published or spent. The two databases write triggers
// differently, which is why this migration is no SQL file.
func (k kind) guard(ctx context.Context, tx *sql.Tx) error {
	var statements []string
	if k == postgres { // would otherwise spend several times the writing on trying to compress varints
		statements = append(statements, "ALTER TABLE counts ALTER COLUMN body SET STORAGE EXTERNAL")
	}
	for _, table := range unchanging {
		statements = append(statements, k.guardTable(table, slices.Contains(lasting, table))...)
	}
	return execute(ctx, tx, statements)
}

// guardTable returns the statements that guard one table; lasting: its rows never go.
func (k kind) guardTable(table string, lasting bool) (statements []string) {
	verbs := []string{"update"}
	if lasting {
		verbs = append(verbs, "delete")
		if k == postgres { // SQLite has no TRUNCATE
			verbs = append(verbs, "truncate")
		}
	}
	for _, verb := range verbs {
		name, refusal := table+"_no_"+verb, table+" are never "+verb+"d"
		if k == postgres {
			statements = append(statements,
				fmt.Sprintf("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%s'; END $$", name, refusal),
				fmt.Sprintf("CREATE TRIGGER %s BEFORE %s ON %s FOR EACH STATEMENT EXECUTE FUNCTION %s()", name, verb, table, name))
			continue
		}
		statements = append(statements, fmt.Sprintf("CREATE TRIGGER %s BEFORE %s ON %s BEGIN SELECT RAISE(ABORT, '%s'); END", name, verb, table, refusal))
	}
	return statements
}

func (k kind) unguard(ctx context.Context, tx *sql.Tx) error {
	var statements []string
	drop := func(table, verb string) {
		name := table + "_no_" + verb
		if k == postgres {
			statements = append(statements, "DROP FUNCTION "+name+" CASCADE")
			return
		}
		statements = append(statements, "DROP TRIGGER "+name)
	}
	for _, table := range unchanging {
		drop(table, "update")
	}
	for _, table := range lasting {
		drop(table, "delete")
		if k == postgres {
			drop(table, "truncate")
		}
	}
	return execute(ctx, tx, statements)
}

func execute(ctx context.Context, tx *sql.Tx, statements []string) error {
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
