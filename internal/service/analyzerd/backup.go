package analyzerd

import (
	"context"
	"errors"
	"log/slog"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
)

// place returns where the data rest.
func (c Config) place(log *slog.Logger) (rows.Config, error) {
	dsn, err := c.DSN()
	return rows.Config{DSN: dsn, Ledger: string(c.Ledger), Log: log, Keys: string(c.Keys), Begin: c.Begin}, err
}

// Backup writes a consistent copy of everything to a new file, while the service may run.
func (c Config) Backup(ctx context.Context, file string) (err error) {
	at, err := c.place(nil)
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

// Restore fills an empty database from a backup, all or nothing.
func (c Config) Restore(ctx context.Context, file string) error {
	at, err := c.place(nil)
	if err == nil {
		err = rows.Restore(ctx, at, file)
	}
	return err
}
