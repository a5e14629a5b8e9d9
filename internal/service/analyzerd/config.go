package analyzerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/store"
	"github.com/confetti-dp/confetti/internal/wire/bearer"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// Config is an analyzer's configuration file.
type Config struct {
	// Settings are those of every service: http.operators must be set, who register and
	// close plans, and the keys of publishers_file take the place of those of Publishers.
	serve.Settings
	// Database is SQLite's file, or URL a PostgreSQL database.
	Database serve.Path `toml:"database"`
	URL      string     `toml:"url"` // postgres://user@host/database?sslmode=verify-full
	// PasswordFile has the password of the database, which then does not stand in the URL.
	PasswordFile serve.Path `toml:"password_file"`
	// Ledger is a file on this machine's disk that says how far the budget ledger has come,
	// so that a PostgreSQL database that lost its end, or is an older copy, spends nothing.
	// Without it that of a SQLite file is beside it, and a PostgreSQL database has none.
	Ledger serve.Path `toml:"ledger"`
	// Collector is a file of leaders' addresses and of the bearer token that each wants of who
	// fetches its sums: a leader is shown its own.
	Collector serve.Path `toml:"collector"`
	// Coordinator is a file with the private key that signs the rounds of studies. It
	// stands outside the folder of keys; "": studies of other coordinators only.
	Coordinator serve.Path `toml:"coordinator"`
	// Log is the address of a public log, into which rounds are put before anybody is given
	// them, and the releases of plans that it has; "": into none.
	Log string `toml:"log"`
	// Publishers are those whose plans are taken, each with the population that
	// its plans ask.
	Publishers []struct {
		Name       string `toml:"name"`
		Key        string `toml:"key"` // public key
		Population string `toml:"population"`
	} `toml:"publishers"`
	// Populations are what one person may be charged by all plans together, by name.
	Populations map[string]struct {
		Epsilon   float64 `toml:"epsilon"`
		Delta     float64 `toml:"delta"`
		Adjacency string  `toml:"adjacency"` // "replacement" or "removal"
	} `toml:"populations"`
	// Grace is how long after a plan's times.closes batches are waited for; 0 is 1h.
	Grace serve.Duration `toml:"grace"`
	// BatchSize is the longest batch in bytes; 0 is 1 GiB.
	BatchSize int64 `toml:"batch_size"`
	// Count is where batches larger than memory are counted: a place that workers share, and
	// how many bytes of envelopes a shard has at least, 0 for 16 MiB; some eight times as much
	// memory is used. Without a place a batch is counted in memory.
	Count struct {
		transfer.Place
		Shard int `toml:"shard_bytes"`
		// Elsewhere says that shards are counted by others, who leave tables beside them
		// (confetti count): this service waits for those.
		Elsewhere bool `toml:"elsewhere"`
	} `toml:"count"`
	// Audit attacks the devices of a plan before its release is published, which takes some
	// half a minute, and adds what was found. A promise that is proved false is not published on.
	Audit bool `toml:"audit"`
}

// Program is the one that an analyzer runs in.
type Program struct {
	Software string                                          // name and version, which releases bear
	Audit    func(p plan.Plan, state []byte) ([]byte, error) // as of Options, where the configuration asks for it
}

// DSN returns where the data rest, as of store.Config.
func (c Config) DSN() (string, error) { return serve.DSN(c.Database, c.URL, c.PasswordFile) }

// open reads what the configuration names, and starts nothing. The error joins
// everything that is wrong.
func (c Config) open(log *slog.Logger) (http serve.Config, o Options, err error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, serve.Fault(setting, err)) }
	http, common, err := c.Settings.Open("analyzer", log, func(folder string) error {
		keys, err := serve.OpeningKeys(folder)
		if err == nil && len(keys) == 0 {
			err = errors.New("no private key (*.json) is there: see confetti keys new")
		}
		return err
	})
	errs = append(errs, err)
	if c.HTTP.Operators == "" {
		fault("http.operators", errors.New("name a file of bearer tokens: operators register and close plans"))
	}
	_, err = c.DSN()
	fault("database", err)
	if c.Ledger != "" {
		fault("ledger", serve.Writable(serve.Path(filepath.Dir(string(c.Ledger)))))
	}
	if c.Database != "" {
		fault("database", serve.Writable(serve.Path(filepath.Dir(string(c.Database)))))
	}
	o = Options{
		Common: common, Operators: http.Operators, Populations: map[string]Population{}, Grace: time.Duration(c.Grace), BatchSize: c.BatchSize,
	}
	if c.Coordinator != "" {
		key, _, err := relay.ReadSignKeyFile(string(c.Coordinator))
		fault("coordinator", errors.Join(err, serve.Closed(c.Coordinator)))
		o.Coordinator = key.Private()
	}
	if o.PlanLog = c.Log; c.Log != "" {
		fault("log", serve.Address(c.Log))
	}
	if c.Collector != "" {
		o.Collector, err = bearer.Read(string(c.Collector))
		fault("collector", err)
	}
	errs = append(errs, c.Count.Place.Check("count"))
	if c.Count.Shard < 0 {
		fault("count.shard_bytes", errors.New("is negative"))
	}
	if c.Count.Elsewhere && c.Count.None() {
		fault("count.elsewhere", errors.New("others count what lies in a folder or a bucket: set count.folder or count.bucket"))
	}
	o.ShardBytes, o.Elsewhere = c.Count.Shard, c.Count.Elsewhere
	if c.BatchSize < 0 {
		fault("batch_size", errors.New("is negative"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Populations)) {
		p := c.Populations[name]
		o.Populations[name] = Population{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: account.Adjacency(p.Adjacency)}
		fault("populations."+name, o.Populations[name].validate())
	}
	if len(c.Publishers) == 0 {
		fault("publishers", errors.New("name at least one"))
	}
	for i, p := range c.Publishers {
		at := fmt.Sprintf("publishers[%d]", i)
		if p.Key != "" || c.PublishersFile == "" {
			_, err := relay.ParseVerifyKey(p.Key)
			fault(at+".key", err)
		}
		if p.Name == "" {
			fault(at+".name", errors.New("is missing"))
		}
		if _, there := o.Populations[p.Population]; !there {
			fault(at+".population", fmt.Errorf("%q has no budget: give it one as populations.%s", p.Population, p.Population))
		}
		o.Publishers = append(o.Publishers, Publisher{Name: p.Name, Key: p.Key, Population: p.Population})
	}
	if c.PublishersFile != "" {
		o.Trust, err = serve.OpenPublishers(nil, c.PublishersFile)
		errs = append(errs, err)
	}
	return http, o, errors.Join(errs...)
}

// Check reads everything that the configuration names, and starts nothing. The
// error joins all that is wrong.
func (c Config) Check() error {
	_, _, err := c.open(slog.New(slog.DiscardHandler))
	return err
}

// Verify reads a copy of the SQLite file as a start does, or the ledger and batches of
// a PostgreSQL database, and asks the last hops. It says what is whole; the error joins
// what is not.
func (c Config) Verify(ctx context.Context, say func(string)) error {
	_, o, err := c.open(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer o.Client.CloseIdleConnections()
	dsn, err := c.DSN()
	if err != nil {
		return err
	}
	if c.Database != "" {
		copied, done, err := serve.CopyDatabase(c.Database)
		if err != nil {
			return fmt.Errorf("analyzer: %w", err)
		}
		defer done()
		dsn = copied
	}
	ledger := ""
	if c.Ledger != "" { // a copy of that too: opening writes it where it is behind
		copied, done, err := atomicfile.Copy(filepath.Dir(string(c.Ledger)), func(name string) bool { return name == filepath.Base(string(c.Ledger)) })
		if err != nil {
			return fmt.Errorf("analyzer: %w", err)
		}
		defer done()
		ledger = filepath.Join(copied, filepath.Base(string(c.Ledger)))
	}
	s, err := store.Open(ctx, store.Config{DSN: dsn, Ledger: ledger})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		return err
	}
	say("the database and its budget ledger are whole")
	o.Store = s
	service, err := New(o)
	if err != nil {
		return err
	}
	if err := service.Compare(ctx); err != nil {
		return err
	}
	plans, err := s.Plans(ctx)
	for _, p := range plans {
		say(p.Name + " and its batches are whole")
	}
	say("no last hop that answers has handed over more")
	return err
}

// Run is an analyzer from its start until the context ends, when it stops
// gracefully.
func (c Config) Run(ctx context.Context, log *slog.Logger, program Program) error {
	http, o, err := c.open(log)
	if err != nil {
		return err
	}
	defer o.Client.CloseIdleConnections()
	if err := c.openStores(ctx, &o); err != nil {
		return err
	}
	defer o.Store.Close()
	o.Software = program.Software
	if c.Audit {
		o.Audit = program.Audit
	}
	service, err := New(o)
	if err != nil {
		return err
	}
	if err := service.Compare(ctx); err != nil {
		return err
	}
	http.Routes, http.Ready, http.Status = service.Routes(), service.Ready, c.status(service)
	http.Disk = serve.DiskOf(c.Database)
	return serve.Run(ctx, http, func(ctx context.Context) { service.Run(ctx) }) // returns no error
}

// openStores opens the database, and the store of shards if there is one.
func (c Config) openStores(ctx context.Context, o *Options) error {
	dsn, err := c.DSN()
	if err != nil {
		return err
	}
	if err := serve.MakeFolders(c.Database, c.Ledger); err != nil {
		return fmt.Errorf("analyzer: %w", err)
	}
	if o.Blobs, err = c.Count.Place.Open(ctx); err != nil {
		return err
	}
	o.Store, err = store.Open(ctx, store.Config{DSN: dsn, Ledger: string(c.Ledger)})
	return err
}

// Worker is a process that counts shards of an analyzer's batches, with the analyzer's
// configuration: any number of them, that share the database and the place of the shards.
type Worker struct{ Config }

func (c Worker) shared() error {
	if c.Count.Elsewhere {
		return errors.New("count.elsewhere is set: what lies there is counted by confetti count, and not by workers")
	}
	if c.Count.None() {
		return errors.New("workers count what lies in a folder or a bucket: set count.folder or count.bucket, as the analyzer has it")
	}
	return nil
}

// Check is Config.Check, for a worker.
func (c Worker) Check() error { return errors.Join(c.shared(), c.Config.Check()) }

// Run counts until the context ends; http.listen has its metrics.
func (c Worker) Run(ctx context.Context, log *slog.Logger) error {
	if err := c.shared(); err != nil {
		return fmt.Errorf("analyzer: %w", err)
	}
	http, o, err := c.open(log)
	if err != nil {
		return err
	}
	defer o.Client.CloseIdleConnections()
	if err := c.openStores(ctx, &o); err != nil {
		return err
	}
	defer o.Store.Close()
	service, err := New(o)
	if err != nil {
		return err
	}
	http.Ready = o.Store.Ready
	return serve.Run(ctx, http, service.Work)
}

// status returns the service's page, with what SQLite takes of the disk.
func (c Config) status(service *Service) func(context.Context) *serve.Status {
	return func(ctx context.Context) *serve.Status {
		page := service.Status(ctx)
		var bytes int64
		for _, suffix := range []string{"", "-wal"} {
			if file, err := os.Stat(string(c.Database) + suffix); err == nil && c.Database != "" {
				bytes += file.Size()
			}
		}
		if bytes > 0 {
			page.Facts = append(page.Facts, serve.Fact{Name: "on disk", Value: fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)), Data: map[string]any{"bytes": bytes}})
		}
		return page
	}
}
