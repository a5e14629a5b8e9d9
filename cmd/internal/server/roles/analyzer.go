package roles

import (
	"context"
	"fmt"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

type Analyzer struct {
	Backup  analyzerBackup  `cmd:"" help:"Write a consistent copy of everything, while the analyzer runs."`
	Restore analyzerRestore `cmd:"" help:"Fill an empty database from a backup."`
}

type analyzerBackup struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"Where to write the backup, a file; it must not be there yet." type:"path"`
	terminal.Form
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
	return c.Print(std, kept{File: c.File}, "everything is in %s\n", c.File)
}

// kept is a backup.
type kept struct {
	File string `json:"file"`
}

// Backup writes a consistent copy of the database that an analyzer's configuration names.
func Backup(ctx context.Context, config, file string) error {
	c, err := read(config)
	if err != nil {
		return err
	}
	return c.Backup(ctx, file)
}

type analyzerRestore struct {
	Config string `help:"The analyzer's configuration." required:"" type:"path" placeholder:"FILE"`
	File   string `arg:"" help:"The backup." type:"path"`
	terminal.Form
}

func (analyzerRestore) Help() string {
	return "The database must be empty, and no analyzer may run on it. A backup of a folder can\nbe restored into PostgreSQL and the other way round.\n\nExample:\n  confetti-server analyzer restore --config analyzer.toml backup.rows"
}

func (c analyzerRestore) Run(std terminal.Streams) error {
	ctx, stop := terminal.UntilStopped()
	defer stop()
	at, err := read(c.Config)
	if err == nil {
		err = at.Restore(ctx, c.File)
	}
	if err == nil {
		err = c.Print(std, kept{File: c.File}, "everything of %s is there again\n", c.File)
	}
	return err
}

// read reads an analyzer's configuration, as far as it says where the data rest.
func read(path string) (c analyzerd.Config, err error) {
	if err := serve.ReadConfig(path, &c); err != nil {
		return c, terminal.Usage(err)
	}
	if _, err = c.DSN(); err != nil {
		err = terminal.Usage(fmt.Errorf("%s: %w", path, err))
	}
	return c, err
}
