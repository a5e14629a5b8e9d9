package roles

import (
	"context"
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/store"
)

type Analyzer struct {
	Backup  analyzerBackup  `cmd:"" help:"Write a consistent copy of everything, while the analyzer runs."`
	Restore analyzerRestore `cmd:"" help:"Fill an empty database from a backup."`
}

type analyzerBackup struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"Where to write the backup, a SQLite file; it must not be there yet." type:"path"`
}

func (analyzerBackup) Help() string {
	return "The copy has plans, batches, releases and budgets; private keys are not in it.\n\nExample:\n  confetti-server analyzer backup --config analyzer.toml backup.db"
}

func (c analyzerBackup) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	if err := Backup(ctx, c.Config, c.File); err != nil {
		return err
	}
	_, err := fmt.Fprintf(std.Out, "everything is in %s\n", c.File)
	return err
}

// Backup writes a consistent copy of the database that an analyzer's configuration names.
func Backup(ctx context.Context, config, file string) error {
	return withStore(ctx, config, func(s *store.Store) error { return s.Backup(ctx, file) })
}

type analyzerRestore struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"The backup." type:"path"`
}

func (analyzerRestore) Help() string {
	return "The database must be empty, and no analyzer may run on it. A backup of SQLite can\nbe restored into PostgreSQL and the other way round.\n\nExample:\n  confetti-server analyzer restore --config analyzer.toml backup.db"
}

func (c analyzerRestore) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	return withStore(ctx, c.Config, func(s *store.Store) error {
		if err := s.Restore(ctx, c.File); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "everything of %s is there again\n", c.File)
		return err
	})
}

// withStore opens the database that the configuration names, for as long as do runs.
func withStore(ctx context.Context, path string, do func(*store.Store) error) error {
	var c analyzerd.Config
	if err := serve.ReadConfig(path, &c); err != nil {
		return terminal.Usage(err)
	}
	dsn, err := c.DSN()
	if err != nil {
		return terminal.Usage(fmt.Errorf("%s: %w", path, err))
	}
	s, err := store.Open(ctx, store.Config{DSN: dsn, Ledger: string(c.Ledger)})
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}
