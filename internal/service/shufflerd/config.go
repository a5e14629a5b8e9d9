package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/service/transfer"
	"github.com/confetti-dp/confetti/internal/service/witness"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Config is a shuffler's configuration file.
type Config struct {
	serve.Settings
	serve.Visited
	Queue struct {
		Folder       serve.Path `toml:"folder" eg:"/var/lib/confetti-ROLE/queue" help:"One folder on a local disk of which fsync can be trusted, and of which no backup takes *.key."`
		MaxBytes     int64      `toml:"max_bytes" or:"0" help:"Of disk that it may use; 0 is what there is."`
		URL          string     `toml:"url" or:"postgres://confetti@database.example/hop?sslmode=verify-full&sslrootcert=/etc/confetti-ROLE/database.crt" help:"Instead of the folder: a PostgreSQL database, which any number of processes share. mix has the bodies then."`
		PasswordFile serve.Path `toml:"password_file" or:"database.password" help:"The database's password, one line in a file that nobody else may read."`
		KeysFolder   serve.Path `toml:"keys_folder" or:"/var/lib/confetti-ROLE/keys" help:"With url: where the keys of what is collected lie, a folder that all processes see, or a bucket, without versions and without backups. Without either they lie in the database, and what is deleted is gone when its archive and its backups are."`
		KeysBucket   string     `toml:"keys_bucket" or:"s3://keys/ROLE?endpoint=https://s3.example.org&region=us-east-1"`
	} `toml:"queue" help:"Where contributions and batches rest: folder, or url."`
	Mix struct {
		transfer.Place
		Part int `toml:"part_bytes" or:"0" help:"Bytes of envelopes in a part, at least; some eight times as much memory is used. 0 is 16 MiB."`
	} `toml:"mix" help:"Where batches rest, and how crowds that do not fit memory are mixed: in parts, in a folder or a bucket. Without either they lie in \"blobs\" in queue.folder; queue.url needs one."`
	Limits  Limits           `toml:"limits" help:"What peers can make the service do."`
	Witness witness.Settings `toml:"witness"`

	// Connect opens a database. A program without it has no PostgreSQL.
	Connect shelves.Connect `toml:"-"`
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
	fault("queue", c.checkQueue())
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

// checkQueue says what is wrong with where contributions and batches are to rest.
func (c Config) checkQueue() error {
	q := c.Queue
	switch {
	case (q.Folder == "") == (q.URL == ""):
		return errors.New("set either folder, or url, of a PostgreSQL database")
	case q.MaxBytes < 0:
		return errors.New("max_bytes is negative")
	case q.Folder != "" && (q.PasswordFile != "" || !c.keysPlace().None()):
		return errors.New("password_file, keys_folder and keys_bucket are for a database: set url, or leave them out")
	case q.Folder != "":
		return nil
	case c.Connect == nil:
		return errors.New("url: this program has no PostgreSQL in it: take the one whose name ends in -postgres")
	case c.Mix.None():
		return errors.New("with a database bodies lie elsewhere: set mix.folder or mix.bucket, for all processes")
	}
	_, err := c.database()
	return errors.Join(err, c.keysPlace().Check("keys"))
}

// database returns the address of the database, with its password.
func (c Config) database() (string, error) {
	return serve.Rows{URL: c.Queue.URL, PasswordFile: c.Queue.PasswordFile}.DSN()
}

func (c Config) keysPlace() transfer.Place {
	return transfer.Place{Folder: c.Queue.KeysFolder, Bucket: c.Queue.KeysBucket}
}

// Open reads what the configuration names.
func (c Config) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.run)
}

// keep opens the shelves, and the store of blobs.
func (c Config) keep(ctx context.Context, o *Options, setAside bool) (err error) {
	o.SetAside, o.MaxBytes, o.Folder = setAside, c.Queue.MaxBytes, string(c.Queue.Folder)
	place := c.Mix.Place
	if o.Folder != "" {
		o.Store, err = rows.OpenFolder(o.Folder, o.Common)
		if place.None() {
			place.Folder = serve.Path(filepath.Join(o.Folder, rows.BlobsFolder))
		}
	} else {
		o.Store, err = c.openDatabase(ctx, o.Log)
	}
	if errors.Is(err, keep.ErrDamaged) {
		return fmt.Errorf("%w: put it back as it was, or end its plans (docs/damaged-disks.md)", err)
	}
	if err != nil {
		return err
	}
	if o.Blobs, err = place.Open(ctx); err != nil {
		o.Store.Close()
	}
	return err
}

func (c Config) openDatabase(ctx context.Context, log *slog.Logger) (keep.Store, error) {
	url, err := c.database()
	if err != nil {
		return nil, err
	}
	keys, err := c.keysPlace().Open(ctx)
	if err != nil {
		return nil, err
	}
	if keys == nil {
		log.Warn("the keys of what is collected lie in the database: what is forgotten is gone when its archive, its standbys and its backups are: set queue.keys_folder or queue.keys_bucket")
	}
	return c.Connect(ctx, url, keys)
}

// verify reads a copy of the folder as a start does, and all of every shelf.
func (c Config) verify(ctx context.Context, o Options, say func(string)) error {
	if c.Queue.Folder == "" {
		return errors.New("shuffler: a database's disks are verified by its own tools (pg_amcheck): only a queue.folder can be read here")
	}
	copied, done, err := atomicfile.Copy(string(c.Queue.Folder))
	if err != nil {
		return fmt.Errorf("shuffler: %w", err)
	}
	defer done()
	c.Queue.Folder, o.Begin.Copy = serve.Path(copied), true
	if err := c.keep(ctx, &o, false); err != nil {
		return err
	}
	defer o.Store.Close()
	names, err := o.Store.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range append([]string{keep.Main}, names...) {
		shelf, err := o.Store.Open(ctx, name)
		if err == nil {
			err = shelf.Check(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, damaged(err)))
			continue
		}
		say(name + " is whole")
	}
	if err := errors.Join(errs...); err != nil {
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
	if err := c.keep(ctx, &o, false); err != nil {
		return err
	}
	defer o.Store.Close()
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
		return string(c.Queue.Folder) // none where there is a database
	}
	return serve.Run(ctx, http, service.Run)
}

// SetAside is the configuration of a shuffler that mends its folder and ends.
type SetAside struct{ Config }

// Open reads what the configuration names.
func (c SetAside) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.mend)
}

// mend opens the folder or the database, goes on without what is damaged in it, tells the log what
// that was, and ends.
func (c SetAside) mend(ctx context.Context, _ serve.Config, o Options) error {
	if err := c.keep(ctx, &o, true); err != nil {
		return err
	}
	defer o.Store.Close()
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
// configuration: any number of them, on machines that share the database and the parts.
type Worker struct{ Config }

// Open reads what the configuration names, and refuses one by which nothing is shared.
func (c Worker) Open(log *slog.Logger) (serve.Opened, error) {
	opened, err := serve.Open(log, c.open, c.verify, c.work)
	return opened, errors.Join(c.shared(), err)
}

// shared says why workers cannot share in the mixing.
func (c Config) shared() error {
	if c.Queue.URL == "" || c.Mix.None() {
		return errors.New("workers share a database and a folder or a bucket: set queue.url and mix.folder or mix.bucket, as the shuffler has them; a queue.folder is one process's")
	}
	return nil
}

// work takes steps until the context ends; http.listen has its metrics.
func (c Worker) work(ctx context.Context, http serve.Config, o Options) error {
	if err := c.keep(ctx, &o, false); err != nil {
		return err
	}
	defer o.Store.Close()
	work, err := NewWorker(ctx, o)
	if err != nil {
		return err
	}
	http.Ready = func(ctx context.Context) error {
		_, _, err := o.Store.Usage(ctx)
		return err
	}
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
