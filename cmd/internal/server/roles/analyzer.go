package roles

import (
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

type Analyzer struct {
	Backup  analyzerBackup  `cmd:"" help:"Write a consistent copy of everything, while the analyzer runs."`
	Restore analyzerRestore `cmd:"" help:"Fill an empty database from a backup."`
	Ledger  analyzerLedger  `cmd:"" help:"What was spent under an earlier version."`
}

type analyzerBackup struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"Where to write the backup, a file; it must not be there yet." type:"path"`
}

func (analyzerBackup) Help() string {
	return "The copy has plans, batches, releases and budgets; private keys are not in it.\n\nExample:\n  confetti-server analyzer backup --config analyzer.toml backup.rows"
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
func Backup(ctx context.Context, config, file string) (err error) {
	at, err := place(config)
	if err != nil {
		return err
	}
	s, done, err := rows.OpenCopy(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	return s.Backup(ctx, file)
}

type analyzerRestore struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"The backup." type:"path"`
}

func (analyzerRestore) Help() string {
	return "The database must be empty, and no analyzer may run on it. A backup of a folder can\nbe restored into PostgreSQL and the other way round.\n\nExample:\n  confetti-server analyzer restore --config analyzer.toml backup.rows"
}

func (c analyzerRestore) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	at, err := place(c.Config)
	if err == nil {
		err = rows.Restore(ctx, at, c.File)
	}
	if err == nil {
		_, err = fmt.Fprintf(std.Out, "everything of %s is there again\n", c.File)
	}
	return err
}

type analyzerLedger struct {
	Import ledgerImport `cmd:"" help:"Begin an empty database with the budgets that a backup of an earlier version has."`
}

type ledgerImport struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"The backup, a file of SQLite." type:"path"`
}

func (ledgerImport) Help() string {
	return "What was spent counts on. Plans, batches and releases stay with the earlier version,\nwhich ends them. The backup is what its confetti analyzer backup wrote.\n\nExample:\n  confetti-server analyzer ledger import --config analyzer.toml backup.db"
}

func (c ledgerImport) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	at, err := place(c.Config)
	if err != nil {
		return err
	}
	n, err := rows.ImportLedger(ctx, at, c.File)
	if err == nil {
		_, err = fmt.Fprintf(std.Out, "%d entries of the ledger of %s count on\n", n, c.File)
	}
	return err
}

// place reads where an analyzer's configuration has its data.
func place(path string) (at rows.Config, err error) {
	var c analyzerd.Config
	if err := serve.ReadConfig(path, &c); err != nil {
		return at, terminal.Usage(err)
	}
	if at, err = c.Place(nil); err != nil {
		return at, terminal.Usage(fmt.Errorf("%s: %w", path, err))
	}
	return at, nil
}
