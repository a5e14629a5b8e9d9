package aggregated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/store"
	"github.com/confetti-dp/confetti/party/aggregator"
)

// Config is an aggregator's configuration file.
type Config struct {
	Role dap.Role `toml:"-"` // dap.Leader or dap.Helper: what the command says

	serve.Settings
	serve.Visited // bearers are for a leader
	// Database is SQLite's file, or URL a PostgreSQL database.
	Database serve.Path `toml:"database"`
	URL      string     `toml:"url"` // postgres://user@host/database?sslmode=verify-full
	// PasswordFile has the password of the database, which then does not stand in the URL.
	PasswordFile serve.Path `toml:"password_file"`
	// Pair is the file with the secret that the two aggregators of a plan share, and
	// nobody else has: confetti keys pair writes one.
	Pair serve.Path `toml:"pair"`
	// Collectors is a file of bearer tokens of analyzers, who fetch sums from a leader.
	Collectors serve.Path `toml:"collectors"`
	// Limits bound what peers can make the service do; 0 is the default.
	Limits serve.Visits `toml:"limits"`
}

// open reads what the configuration names, and starts nothing. The error joins everything
// that is wrong.
func (c Config) open(log *slog.Logger) (http serve.Config, o Options, err error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, serve.Fault(setting, err)) }
	name := map[dap.Role]string{dap.Leader: "leader", dap.Helper: "helper"}[c.Role]
	http, common, err := c.Settings.Open(name, log, func(folder string) error {
		open, err := serve.OpeningKeys(folder)
		sign, unread := serve.SigningKeys(folder)
		if err = errors.Join(err, unread); err == nil && (len(open) == 0 || len(sign) == 0) {
			err = fmt.Errorf("%d keys that open shares and %d of receipts are there: need one of each, see confetti keys new", len(open), len(sign))
		}
		return err
	})
	errs = append(errs, err)
	publishers, bearers, err := c.Visited.Open(c.Settings, &http, &common)
	errs = append(errs, err)
	_, err = serve.DSN(c.Database, c.URL, c.PasswordFile)
	fault("database", err)
	if c.Database != "" {
		fault("database", serve.Writable(serve.Path(filepath.Dir(string(c.Database)))))
	}
	o = Options{
		Common: common, Role: c.Role, Publishers: publishers, Bearers: bearers, Certificates: c.HTTP.Clients != "", Operators: http.Operators, Limits: c.Limits,
	}
	if c.Pair == "" {
		fault("pair", errors.New("name the file with the secret that both aggregators have: confetti keys pair writes one"))
	} else {
		o.Pair, err = aggregator.ReadPair(string(c.Pair))
		fault("pair", err)
	}
	if c.Collectors != "" {
		o.Collectors, err = serve.ReadBearers(string(c.Collectors))
		fault("collectors", err)
	}
	if c.Role == dap.Helper && (c.Bearers != "" || c.Collectors != "" || c.Gateway != "") {
		fault("bearers", errors.New("nobody but the leader comes to a helper: leave bearers, collectors and gateway out"))
	}
	fault("limits", c.Limits.Validate())
	return http, o, errors.Join(errs...)
}

// Check reads everything that the configuration names, and starts nothing. The error joins
// all that is wrong.
func (c Config) Check() error {
	_, _, err := c.open(slog.New(slog.DiscardHandler))
	return err
}

// Verify reads a copy of the SQLite file as a start does, or a PostgreSQL database, and
// says what is whole; the error joins what is not.
func (c Config) Verify(ctx context.Context, say func(string)) error {
	_, o, err := c.open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer o.Client.CloseIdleConnections()
	dsn, err := serve.DSN(c.Database, c.URL, c.PasswordFile)
	if err != nil {
		return err
	}
	whole := "the plans of the database can be served; whether its pages are whole PostgreSQL knows"
	if c.Database != "" {
		copied, done, err := serve.CopyDatabase(c.Database)
		if err != nil {
			return fmt.Errorf("aggregator: %w", err)
		}
		defer done()
		dsn, whole = copied, "the database is whole"
	}
	if o.Store, err = store.OpenSums(ctx, store.Config{DSN: dsn}); err != nil {
		return err
	}
	defer o.Store.Close()
	service, err := New(ctx, o)
	if err != nil {
		return err
	}
	if err := service.compareAll(ctx); err != nil {
		return err
	}
	for _, alarm := range service.Status(ctx).Alarms {
		say("alarm: " + alarm)
	}
	damaged, err := o.Store.Damaged(ctx)
	if err != nil || len(damaged) > 0 {
		return cmp.Or(err, fmt.Errorf("%w: %s", store.ErrReports, strings.Join(damaged, ", ")))
	}
	say(whole)
	return nil
}

// Run is an aggregator from its start until the context ends, when it stops gracefully.
func (c Config) Run(ctx context.Context, log *slog.Logger) error {
	http, o, err := c.open(log)
	if err != nil {
		return err
	}
	dsn, err := serve.DSN(c.Database, c.URL, c.PasswordFile)
	if err != nil {
		return err
	}
	if err := serve.MakeFolders(c.Database); err != nil {
		return fmt.Errorf("aggregator: %w", err)
	}
	if o.Store, err = store.OpenSums(ctx, store.Config{DSN: dsn}); err != nil {
		return err
	}
	defer o.Store.Close()
	defer o.Client.CloseIdleConnections()
	service, err := New(ctx, o)
	if err != nil {
		return err
	}
	if err := service.compareAll(ctx); err != nil {
		return err
	}
	http.Routes, http.Ready, http.Status = service.Routes(), service.Ready, service.Status
	http.Disk = serve.DiskOf(c.Database) // what is free tells how many have sent, which no plan of sums keeps private
	http.Private, http.Visited, http.Handed = private, visited, handed
	return serve.Run(ctx, http, service.Run)
}
