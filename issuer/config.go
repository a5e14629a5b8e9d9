package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/serve"
)

// Config is an issuer's configuration file.
type Config struct {
	serve.Settings
	serve.Visited
	// Folder is where plans and marks rest.
	Folder serve.Path `toml:"folder"`
	// Limits bound what peers can make the service do; 0 is the default.
	Limits serve.Visits `toml:"limits"`
}

// open reads what the configuration names, and starts nothing. The error joins
// everything that is wrong.
func (c Config) open(log *slog.Logger) (http serve.Config, o Options, err error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, serve.Fault(setting, err)) }
	http, common, err := c.Settings.Open("issuer", log, func(folder string) error {
		keys, err := serve.TokenKeys(folder)
		if err == nil && len(keys) == 0 {
			err = errors.New("no key of tokens is there: see confetti keys new")
		}
		return err
	})
	errs = append(errs, err)
	if c.Folder == "" {
		fault("folder", errors.New("name a folder for plans and marks"))
	} else {
		fault("folder", serve.Writable(c.Folder))
	}
	publishers, bearers, err := c.Visited.Open(c.Settings)
	errs = append(errs, err)
	if c.Bearers == "" && c.HTTP.Clients == "" {
		fault("bearers", errors.New("nobody could be told apart: name a file of bearer tokens, or as http.clients authorities of certificates"))
	}
	fault("limits", c.Limits.Validate())
	return http, Options{
		Common: common, Folder: string(c.Folder), Publishers: publishers, Bearers: bearers, Certificates: c.HTTP.Clients != "", Limits: c.Limits,
	}, errors.Join(errs...)
}

// Check reads everything that the configuration names, and starts nothing. The
// error joins all that is wrong.
func (c Config) Check() error {
	_, _, err := c.open(slog.New(slog.DiscardHandler))
	return err
}

// Verify reads a copy of the folder as a start does, and asks the hops. It says what is
// whole; the error says what is not.
func (c Config) Verify(_ context.Context, say func(string)) error {
	_, o, err := c.open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer o.Client.CloseIdleConnections()
	copied, done, err := durable.Copy(o.Folder, nil)
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	defer done()
	o.Folder = copied
	s, err := New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, p := range s.sorted() {
		say(p.plan.Name() + " and its log are whole")
	}
	for _, path := range s.orphans() {
		say(filepath.Base(path) + ": " + orphaned)
	}
	say("no hop that answers has seen more")
	return nil
}

// Run is an issuer from its start until the context ends, when it stops
// gracefully.
func (c Config) Run(ctx context.Context, log *slog.Logger) error {
	http, o, err := c.open(log)
	if err != nil {
		return err
	}
	defer o.Client.CloseIdleConnections()
	service, err := New(o)
	if err != nil {
		return err
	}
	defer service.Close()
	http.Routes, http.Private, http.Ready, http.Status = service.Routes(), service.Private(), service.Ready, service.Status
	return serve.Run(ctx, http, service.Run)
}
