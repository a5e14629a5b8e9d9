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
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/wire/bearer"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// Config is an analyzer's configuration file.
type Config struct {
	Program Program `toml:"-"` // what the command says

	serve.Settings
	serve.Rows
	Ledger      serve.Path `toml:"ledger" or:"analyzer.ledger" help:"With PostgreSQL: a file on this machine's disk that says how far the budget ledger has come, so that a database that lost its end, or is an older copy, spends nothing. That of a SQLite file is beside it."`
	Collector   serve.Path `toml:"collector" or:"collector.tokens" help:"A file that nobody else may read, with a line for each leader that wants a token of who fetches its sums: the leader's address, https://host:port, and the token. A leader is shown its own."`
	Coordinator serve.Path `toml:"coordinator" or:"coordinator.json" help:"The private key that signs the rounds of studies, outside the folder of keys. Without it only studies of other coordinators go on here."`
	Log         string     `toml:"log" or:"https://log.example" help:"A public log, into which rounds are put before anybody is given them, and the releases of plans that it has."`

	Grace     serve.Duration `toml:"grace" or:"1h" help:"After a plan's times.closes, how long batches are waited for."`
	BatchSize int64          `toml:"batch_size" or:"1_073_741_824" help:"Longest batch in bytes."`
	Audit     bool           `toml:"audit" or:"false" help:"Attack the devices of a plan before its release is published, which takes some half a minute, and add what was found (audit.json, and a section of the page). A promise that is proved false is not published on. Collections are concluded one after another: others wait meanwhile."`

	Publishers []struct {
		Name       string `toml:"name" eg:"product statistics"`
		Key        string `toml:"key" eg:"ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"`
		Population string `toml:"population" eg:"customers"`
	} `toml:"publishers" help:"Whose plans are taken. All plans of one key ask one population. With publishers_file one of them may be without a key: it has all keys of the file that no other has."`
	Populations map[string]struct {
		Epsilon   float64 `toml:"epsilon" eg:"8.0"`
		Delta     float64 `toml:"delta" eg:"1e-5"`
		Adjacency string  `toml:"adjacency" eg:"replacement" help:"Or \"removal\"."`
	} `toml:"populations" eg:"customers" help:"What one person of a population may be charged by all plans together."`
	Count struct {
		transfer.Place
		Shard     int  `toml:"shard_bytes" or:"0" help:"Bytes of envelopes in a shard, at least; some eight times as much memory is used. 0 is 16 MiB."`
		Elsewhere bool `toml:"elsewhere" or:"false" help:"Shards are counted by others, who leave tables beside them (confetti count): docs/scale-counting.md."`
	} `toml:"count" help:"Where batches of more than shard_bytes are dealt to shards, for this service and its workers to count: a folder or a bucket. Without either a batch is counted in memory."`
}

// Program is the one that an analyzer runs in.
type Program struct {
	Software string                                          `toml:"-"` // name and version, which releases bear
	Attack   func(p plan.Plan, state []byte) ([]byte, error) `toml:"-"` // Audit of Options, where the configuration asks for it
}

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
	errs = append(errs, c.Rows.Check())
	if c.Ledger != "" {
		fault("ledger", serve.Writable(serve.Path(filepath.Dir(string(c.Ledger)))))
	}
	o = Options{
		Common: common, Operators: http.Operators, Populations: map[string]Population{}, Grace: time.Duration(c.Grace), BatchSize: c.BatchSize,
	}
	if c.Coordinator != "" {
		key, _, err := partykey.ReadSigning(string(c.Coordinator))
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
	o.Software = c.Program.Software
	if c.Audit {
		o.Audit = c.Program.Attack
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

// Open reads what the configuration names.
func (c Config) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.run)
}

// verify reads a copy of the folder, or a PostgreSQL database, as a start does, and asks the last
// hops. It says what is whole; the error joins what is not.
func (c Config) verify(ctx context.Context, o Options, say func(string)) error {
	at, err := c.place(o.Log)
	if err != nil {
		return fmt.Errorf("analyzer: %w", err)
	}
	copied, done, err := rows.OpenCopy(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	o.Store = copied
	if err := o.Store.Check(ctx); err != nil {
		return err
	}
	say("the database and its budget ledger are whole")
	service, err := New(o)
	if err != nil {
		return err
	}
	if err := service.Compare(ctx); err != nil {
		return err
	}
	plans, err := o.Store.Plans(ctx)
	for _, p := range plans {
		say(p.Name + " and its batches are whole")
	}
	say("no last hop that answers has handed over more")
	return err
}

// run serves until the context ends.
func (c Config) run(ctx context.Context, http serve.Config, o Options) error {
	service, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer service.o.Store.Close()
	if err := service.Compare(ctx); err != nil {
		return err
	}
	http.Routes, http.Ready, http.Status = service.Routes(), service.Ready, c.status(service)
	http.Disk = serve.DiskOf(c.Database)
	return serve.Run(ctx, http, func(ctx context.Context) { service.Run(ctx) }) // returns no error
}

// start opens the database, and the store of shards if there is one, and takes up what is in them.
func (c Config) start(ctx context.Context, o Options) (service *Service, err error) {
	if c.Ledger != "" { // whose folder Writable has found that can be made
		if err := os.MkdirAll(filepath.Dir(string(c.Ledger)), 0o700); err != nil {
			return nil, fmt.Errorf("analyzer: %w", err)
		}
	}
	at, err := c.place(o.Log)
	if err != nil {
		return nil, fmt.Errorf("analyzer: %w", err)
	}
	if o.Blobs, err = c.Count.Place.Open(ctx); err != nil {
		return nil, err
	}
	if o.Store, err = rows.Open(ctx, at); err != nil {
		return nil, err
	}
	if service, err = New(o); err != nil {
		return nil, errors.Join(err, o.Store.Close())
	}
	return service, nil
}

// Worker is a process that counts shards of an analyzer's batches, with the analyzer's
// configuration: any number of them, that share a PostgreSQL database and the place of the shards.
type Worker struct{ Config }

// Open reads what the configuration names, and refuses one by which nothing is shared.
func (c Worker) Open(log *slog.Logger) (serve.Opened, error) {
	opened, err := serve.Open(log, c.open, c.verify, c.work)
	return opened, errors.Join(c.shared(), err)
}

func (c Worker) shared() error {
	if c.Count.Elsewhere {
		return errors.New("count.elsewhere is set: what lies there is counted by confetti count, and not by workers")
	}
	if c.Database != "" {
		return errors.New("a folder is one process's: workers share a PostgreSQL database with the analyzer: set url")
	}
	if c.Count.None() {
		return errors.New("workers count what lies in a folder or a bucket: set count.folder or count.bucket, as the analyzer has it")
	}
	return nil
}

// work counts until the context ends; http.listen has its metrics.
func (c Worker) work(ctx context.Context, http serve.Config, o Options) error {
	service, err := c.start(ctx, o)
	if err != nil {
		return err
	}
	defer service.o.Store.Close()
	http.Ready = service.o.Store.Ready
	return serve.Run(ctx, http, service.Work)
}

// status returns the service's page, with what a folder takes of the disk.
func (c Config) status(service *Service) func(context.Context) *serve.Status {
	return func(ctx context.Context) *serve.Status {
		page := service.Status(ctx)
		if c.Database == "" {
			return page
		}
		if bytes, err := service.o.Store.Used(ctx); err == nil {
			page.Facts = append(page.Facts, serve.Fact{Name: "on disk", Value: fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)), Data: map[string]any{"bytes": bytes}})
		}
		return page
	}
}
