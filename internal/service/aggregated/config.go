package aggregated

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/party/aggregator"
)

// Config is an aggregator's configuration file.
type Config struct {
	Role dap.Role `toml:"-"` // dap.Leader or dap.Helper: what the command says

	serve.Settings
	serve.Visited
	shelves.Place
	Pair       serve.Path `toml:"pair" eg:"pair.secret" help:"The secret that both aggregators have and nobody else (confetti keys pair)."`
	Collectors serve.Path `toml:"collectors" or:"collectors" help:"Hashes of the bearer tokens of analyzers, who fetch sums from a leader. Without it whoever asks gets what only the plan's analyzer can open. A helper has none."`
	Bodies     struct {
		transfer.Place
	} `toml:"reports" help:"Where a leader with a PostgreSQL database has what devices sent, sealed under keys of that database: a folder that all its processes see, or a bucket. Without either it is in the database. A helper has none."`
	Shard  int          `toml:"shard_reports" or:"0" help:"Reports of a shard at most, which a leader's process adds up at a time where others have the database too. 0 is 4,096. A helper needs none."`
	Limits serve.Visits `toml:"limits" help:"What peers can make the service do."`
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
	errs = append(errs, c.Place.Check())
	o = Options{
		Common: common, Role: c.Role, Publishers: publishers, Bearers: bearers, Certificates: c.HTTP.Clients != "", Operators: http.Operators, Limits: c.Limits, Shard: c.Shard,
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
	errs = append(errs, c.Bodies.Place.Check("reports"))
	if !c.Bodies.None() && (c.Role == dap.Helper || c.Database != "") {
		fault("reports", errors.New("a leader's reports lie there beside a PostgreSQL database: set url, or leave reports out"))
	}
	if c.Shard < 0 {
		fault("shard_reports", errors.New("is negative"))
	}
	fault("limits", c.Limits.Validate())
	return http, o, errors.Join(errs...)
}

// Open reads what the configuration names.
func (c Config) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.run)
}

// verify reads a copy of the folder, or a PostgreSQL database, as a start does, and then all that
// is in it.
func (c Config) verify(ctx context.Context, o Options, say func(string)) error {
	copied, done, err := c.Place.Copy()
	if err != nil {
		return fmt.Errorf("aggregator: %w", err)
	}
	defer done()
	c.Place, o.Begin.Copy = copied, true
	service, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer service.o.Store.Close()
	for _, alarm := range service.Status(ctx).Alarms {
		say("alarm: " + alarm)
	}
	if err := service.whole(ctx, say); err != nil {
		return err
	}
	if c.Place.Database == "" {
		say("whether rows are missing PostgreSQL knows (pg_amcheck)")
	}
	return nil
}

// start opens the store, takes up what is in it, and asks the neighbours whether it is an older
// copy.
func (c Config) start(ctx context.Context, o Options) (service *Service, err error) {
	if o.Store, err = c.Place.Open(ctx, o.Common); err != nil {
		return nil, explained(err)
	}
	if o.Blobs, err = c.Bodies.Open(ctx); err != nil {
		return nil, errors.Join(explained(err), o.Store.Close())
	}
	if c.Place.Database != "" {
		o.Disk = atomicfile.WatchDisk(string(c.Place.Database))
	}
	if service, err = New(ctx, o); err == nil {
		err = service.Compare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, o.Store.Close())
	}
	return service, nil
}

// run serves until the context ends.
func (c Config) run(ctx context.Context, http serve.Config, o Options) error {
	if c.Place.Database == "" {
		o.Lease = lease
	}
	service, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer service.o.Store.Close()
	http.Routes, http.Ready, http.Status = service.Routes(), service.Ready, service.Status
	http.Disk = serve.DiskOf(c.Place.Database) // what is free tells how many have sent, which no plan of sums keeps private
	http.Private, http.Visited, http.Handed = private, visited, handed
	return serve.Run(ctx, http, service.Run)
}

// Worker adds up shards of a leader's plans, with the leader's configuration. Any number of such processes share its
// PostgreSQL database.
type Worker struct{ Config }

// Open reads what the configuration names, and refuses a helper's, and one without a shared database.
func (c Worker) Open(log *slog.Logger) (serve.Opened, error) {
	opened, err := serve.Open(log, c.open, c.verify, c.work)
	return opened, errors.Join(c.shared(), err)
}

func (c Worker) shared() error {
	if c.Role == dap.Helper {
		return errors.New("a helper has no shards: start more helpers on its database, behind one address")
	}
	if c.Database != "" {
		return errors.New("a folder is one process's: workers share a PostgreSQL database with the leader: set url")
	}
	return nil
}

// work adds up until the context ends; http.listen has its health and its metrics.
func (c Worker) work(ctx context.Context, http serve.Config, o Options) error {
	o.Lease = lease
	service, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer service.o.Store.Close()
	http.Ready = service.Ready
	return serve.Run(ctx, http, service.Work)
}

// whole reads all that is kept and says what is whole; the error says what is not.
func (s *Service) whole(ctx context.Context, say func(string)) error {
	if err := s.rows.Check(ctx, ""); err != nil {
		return explained(err)
	}
	for _, p := range s.plans.Known() {
		if err := s.rows.Check(ctx, p.Plan.Name()); err != nil {
			return explained(err)
		}
		say(p.Plan.Name() + " and its rows are whole")
	}
	return nil
}
