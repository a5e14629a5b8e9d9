package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/serve"
)

// Config is an issuer's configuration file.
type Config struct {
	HTTP serve.HTTP `toml:"http"`
	// Folder is where plans and marks rest.
	Folder serve.Path `toml:"folder"`
	// Keys is the folder of the private keys of tokens (*.json). A plan's public
	// keys pick from them.
	Keys serve.Path `toml:"keys"`
	// Publishers are the public keys of those whose plans are served, or
	// PublishersFile a file of them (confetti publishers), read again when it changes.
	Publishers     []string   `toml:"publishers"`
	PublishersFile serve.Path `toml:"publishers_file"`
	// Bearers is the file of respondents' bearer tokens. Without it http.clients
	// must be set.
	Bearers serve.Path `toml:"bearers"`
	// Roots are the certificate authorities of the hops (PEM), which are asked how many
	// tokens they have counted; empty: the system's.
	Roots serve.Path `toml:"roots"`
	// Retention is how long after a plan closes its marks are kept; 0 is a day.
	Retention serve.Duration `toml:"retention"`
	// Limits bound what peers can make the service do; 0 is the default.
	Limits struct {
		Plans int     `toml:"plans"` // served at once; 256
		Rate  float64 `toml:"rate"`  // requests a second that one respondent may make; 1
		Burst int     `toml:"burst"` // that one respondent may make at once; 16
	} `toml:"limits"`
}

// open reads what the configuration names, and starts nothing. The error joins
// everything that is wrong.
func (c Config) open(log *slog.Logger) (http serve.Config, o Options, err error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, serve.Fault(setting, err)) }
	http, err = c.HTTP.Open("issuer", log)
	errs = append(errs, err)
	if c.Folder == "" {
		fault("folder", errors.New("name a folder for plans and marks"))
	}
	keys, err := readKeys(string(c.Keys))
	if err == nil && len(keys) == 0 {
		err = errors.New("no key of tokens is there: see confetti keys new")
	}
	fault("keys", err)
	fault("keys", serve.Closed(c.Keys))
	if c.Folder != "" {
		fault("folder", serve.Writable(c.Folder))
	}
	publishers, err := serve.OpenPublishers(c.Publishers, c.PublishersFile)
	errs = append(errs, err)
	var bearers *serve.Bearers
	switch {
	case c.Bearers != "":
		bearers, err = serve.ReadBearers(string(c.Bearers))
		fault("bearers", err)
		if c.HTTP.Clients != "" {
			fault("bearers", errors.New("a respondent who has both a token and a certificate would count twice: set bearers or http.clients, not both"))
		}
	case c.HTTP.Clients == "":
		fault("bearers", errors.New("nobody could be told apart: name a file of bearer tokens, or as http.clients authorities of certificates"))
	}
	l := Limits{Plans: c.Limits.Plans, Rate: c.Limits.Rate, Burst: c.Limits.Burst}
	if l.Plans < 0 || l.Burst < 0 || !(l.Rate >= 0 && l.Rate < math.MaxInt32) {
		fault("limits", errors.New("every limit is a number from 0 on"))
	}
	client, err := serve.Client(c.Roots)
	fault("roots", err)
	return http, Options{
		Client: client,
		Folder: string(c.Folder), Keys: string(c.Keys), Publishers: publishers, Bearers: bearers, Certificates: c.HTTP.Clients != "",
		Retention: time.Duration(c.Retention), Limits: l, Metrics: http.Metrics, Log: log, Clock: clock.New(),
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
		say(p.signed.Plan.Name() + " and its log are whole")
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
	server, err := serve.New(http)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() { service.Run(ctx) })
	err = server.Serve(ctx)
	stop()
	background.Wait()
	return err
}
