package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/serve/cluster"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/service/witness"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/queue"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Config is a shuffler's configuration file.
type Config struct {
	serve.Settings
	serve.Visited
	Queue struct {
		Folder      serve.Path `toml:"folder" eg:"/var/lib/confetti-ROLE/queue" help:"The embedded queue: one folder on a local disk of which fsync can be trusted."`
		MaxBytes    int64      `toml:"max_bytes" or:"0" help:"Of disk that it may use; 0 is three quarters of what is free."`
		URL         string     `toml:"url" or:"tls://nats-1:4222,tls://nats-2:4222,tls://nats-3:4222" help:"Instead of the folder: a NATS cluster with JetStream and sync_interval: always, and how often it keeps each message, 1 to 5 times; 0 is once."`
		Replicas    int        `toml:"replicas" or:"3"`
		Roots       serve.Path `toml:"roots" or:"nats.crt" help:"Of the cluster: its authorities (the system's without it), a client certificate with its key, and a credentials file of NATS."`
		Certificate serve.Path `toml:"certificate" or:"nats-client.crt"`
		Key         serve.Path `toml:"key" or:"nats-client.key"`
		Credentials serve.Path `toml:"credentials" or:"nats.creds"`
	} `toml:"queue" help:"Where contributions and batches rest: folder, or url."`
	Mix struct {
		transfer.Place
		Part int `toml:"part_bytes" or:"0" help:"Bytes of envelopes in a part, at least; some eight times as much memory is used. 0 is 16 MiB."`
	} `toml:"mix" help:"How crowds that do not fit memory are mixed: their parts lie in a folder or a bucket. Without either they lie in \"parts\" in queue.folder, and with a cluster every crowd is mixed in memory."`
	Limits  Limits           `toml:"limits" help:"What peers can make the service do."`
	Witness witness.Settings `toml:"witness"`
}

// open reads what the configuration names, and starts nothing. The error joins
// everything that is wrong.
func (c Config) open(log *slog.Logger) (http serve.Config, o Options, err error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, serve.Fault(setting, err)) }
	http, common, err := c.Settings.Open("shuffler", log, func(folder string) error {
		keys, err := readKeys(folder)
		if err == nil && (len(keys.open) == 0 || len(keys.sign) == 0) {
			err = fmt.Errorf("%d keys of hops and %d of receipts are there: need one of each, see confetti keys new", len(keys.open), len(keys.sign))
		}
		return err
	})
	errs = append(errs, err)
	publishers, bearers, err := c.Visited.Open(c.Settings, &http, &common)
	errs = append(errs, err)
	if (c.Queue.Folder == "") == (c.Queue.URL == "") {
		fault("queue", errors.New("set either folder, for the embedded queue, or url, of a cluster"))
	}
	if c.Queue.Replicas < 0 || c.Queue.Replicas > 5 || c.Queue.Folder != "" && c.Queue.Replicas > 1 || c.Queue.MaxBytes < 0 {
		fault("queue", errors.New("a cluster has 1 to 5 replicas, the embedded queue 1, and no queue fewer than 0 bytes"))
	}
	fault("queue", cluster.Check(c.Queue.URL, c.Queue.Roots, c.Queue.Certificate, c.Queue.Key, c.Queue.Credentials))
	if c.Queue.Folder != "" {
		fault("queue.folder", serve.Writable(c.Queue.Folder))
	}
	errs = append(errs, c.Mix.Place.Check("mix"))
	if c.Mix.Part < 0 {
		fault("mix.part_bytes", errors.New("is negative"))
	}
	fault("limits", c.Limits.Validate())
	cosigns, err := c.Witness.Open(string(c.Keys))
	fault("witness", err)
	o = Options{
		Witness: cosigns, Common: common, Publishers: publishers, Bearers: bearers, Certificates: c.HTTP.Clients != "", Operators: http.Operators, Limits: c.Limits,
		PartBytes: c.Mix.Part,
	}
	return http, o, errors.Join(errs...)
}

// Open reads what the configuration names.
func (c Config) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.run)
}

// keep opens the queue, and the store of parts if there is one.
func (c Config) keep(ctx context.Context, o *Options, d queue.Damage) (err error) {
	o.Damage = d
	o.Queue, err = queue.Open(ctx, queue.Config{
		Dir: string(c.Queue.Folder), MaxBytes: c.Queue.MaxBytes, URL: c.Queue.URL, Replicas: c.Queue.Replicas, Damage: d, Log: o.Log,
		Roots: string(c.Queue.Roots), Certificate: string(c.Queue.Certificate), Key: string(c.Queue.Key), Credentials: string(c.Queue.Credentials),
	})
	if err != nil {
		return err
	}
	place := c.Mix.Place
	if place.None() && c.Queue.Folder != "" {
		place.Folder = serve.Path(filepath.Join(string(c.Queue.Folder), "parts"))
	}
	if o.Blobs, err = place.Open(ctx); err != nil {
		o.Queue.Close()
	}
	return err
}

// verify reads a copy of the embedded queue as a start does, and every box of it.
func (c Config) verify(ctx context.Context, o Options, say func(string)) error {
	if c.Queue.Folder == "" {
		return errors.New("shuffler: a cluster's disks are verified by its own tools: only a queue.folder can be read here")
	}
	copied, done, err := atomicfile.Copy(string(c.Queue.Folder), nil)
	if err != nil {
		return fmt.Errorf("shuffler: %w", err)
	}
	defer done()
	c.Queue.Folder = serve.Path(copied)
	if err := c.keep(ctx, &o, queue.Refuse); err != nil {
		return err
	}
	defer o.Queue.Close()
	var errs []error
	err = o.Queue.Verify(ctx, func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, damaged(err)))
			return
		}
		say(name + " is whole")
	})
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	service, err := New(ctx, o)
	if err != nil {
		return err
	}
	for _, idle := range service.Status(ctx).Alarms {
		say("alarm: " + idle)
	}
	say("the marks fit what is kept, and no neighbour who answers has seen more")
	return nil
}

// run serves until the context ends.
func (c Config) run(ctx context.Context, http serve.Config, o Options) error {
	if err := c.keep(ctx, &o, queue.Refuse); err != nil {
		return err
	}
	defer o.Queue.Close()
	o.Share = c.shared() == nil
	service, err := New(ctx, o)
	if err != nil {
		return err
	}
	http.Routes, http.Private, http.Ready, http.Status = service.Routes(), service.Private(), service.Ready, service.Status
	http.Disk = func() string {
		if service.disclosing() {
			return ""
		}
		return string(c.Queue.Folder) // none where the queue is a cluster's
	}
	return serve.Run(ctx, http, service.Run)
}

// SetAside is the configuration of a shuffler that mends its queue and ends.
type SetAside struct{ Config }

// Open reads what the configuration names.
func (c SetAside) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.mend)
}

// mend opens the queue, goes on without what is damaged in it, tells the log what that was,
// and ends.
func (c SetAside) mend(ctx context.Context, _ serve.Config, o Options) error {
	if err := c.keep(ctx, &o, queue.SetAside); err != nil {
		return err
	}
	defer o.Queue.Close()
	service, err := New(ctx, o)
	if err != nil {
		return err
	}
	for _, alarm := range service.Status(ctx).Alarms {
		o.Log.Warn(alarm)
	}
	return nil
}

// Worker is a process that takes steps of a shuffler's crowds, with the shuffler's
// configuration: any number of them, on machines that share the cluster and the parts.
type Worker struct{ Config }

// Open reads what the configuration names, and refuses one by which nothing is shared.
func (c Worker) Open(log *slog.Logger) (serve.Opened, error) {
	opened, err := serve.Open(log, c.open, c.verify, c.work)
	return opened, errors.Join(c.shared(), err)
}

// shared says why workers cannot share in the mixing.
func (c Config) shared() error {
	if c.Queue.URL == "" || c.Mix.None() {
		return errors.New("workers share a cluster and a folder or a bucket: set queue.url and mix.folder or mix.bucket, as the shuffler has them; an embedded queue is in one process")
	}
	return nil
}

// work takes steps until the context ends; http.listen has its metrics.
func (c Worker) work(ctx context.Context, http serve.Config, o Options) error {
	if err := c.keep(ctx, &o, queue.Refuse); err != nil {
		return err
	}
	defer o.Queue.Close()
	work, err := NewWorker(ctx, o)
	if err != nil {
		return err
	}
	http.Ready = o.Queue.Healthy
	return serve.Run(ctx, http, work)
}

// closePlan answers POST /v1/plans/{plan}/close to the operator: the epoch ends now.
func (s *Service) closePlan(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	if err := s.Close(r.Context(), hash); err != nil {
		return err
	}
	return s.showStatus(w, r)
}
