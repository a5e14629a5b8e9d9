package planlog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
)

// Config is a log's configuration file.
type Config struct {
	serve.Settings
	Publishers []string   `toml:"publishers" eg:"ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8" help:"Public keys of the publishers whose plans are logged, in the place of publishers_file."`
	Name       string     `toml:"name" eg:"log.example/plans" help:"The log's name in its key and its checkpoints, and which of the keys, of receipts, signs them: a public key."`
	Key        string     `toml:"key" eg:"ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"`
	Folder     serve.Path `toml:"folder" eg:"/var/lib/confetti-ROLE" help:"Where the log rests."`
	shelves.Server
	Witnesses []Witness      `toml:"witnesses" help:"Who cosigns the log: best the operators of hops ([witness] in their configurations), with the keys that confetti log show --witness prints."`
	Least     int            `toml:"least" or:"0" help:"How many of the witnesses must have signed a checkpoint before it is shown; 0 is all."`
	Interval  serve.Duration `toml:"interval" or:"1s" help:"Between checkpoints."`
}

// open reads what the configuration names, and starts nothing. The error joins
// everything that is wrong.
func (c Config) open(log *slog.Logger) (http serve.Config, o Options, err error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, serve.Fault(setting, err)) }
	o = Options{Folder: string(c.Folder), Name: c.Name, Witnesses: c.Witnesses, Least: c.Least, Interval: time.Duration(c.Interval)}
	http, o.Common, err = c.Settings.Open("log", log, func(folder string) (err error) {
		o.Key, err = serve.SigningKey(folder, c.Key)
		return err
	})
	errs = append(errs, err)
	o.Publishers, err = serve.OpenPublishers(c.Publishers, c.PublishersFile)
	errs = append(errs, err)
	if _, err := o.Key.Public().Note(c.Name); err != nil {
		fault("name", err)
	}
	if c.Folder == "" {
		fault("folder", errors.New("name a folder for the log"))
	} else {
		fault("folder", serve.Writable(c.Folder))
		errs = append(errs, c.Server.In(c.Folder).Check())
	}
	if o.Interval > 0 && o.Interval < 100*time.Millisecond {
		fault("interval", errors.New("at least 100ms, or nothing for a second"))
	}
	_, _, err = group(c.Witnesses, c.Least)
	return http, o, errors.Join(append(errs, err)...)
}

// Open reads what the configuration names.
func (c Config) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.run)
}

// verify reads a copy of the folder, or a database, as a start does: every entry and text. It says what is whole;
// the error says what is not.
func (c Config) verify(ctx context.Context, o Options, say func(string)) error {
	o.Witnesses, o.Least = nil, 0
	s, err := prepare(o)
	if err != nil {
		return err
	}
	place, done, err := c.Server.In(c.Folder).Copy()
	if err != nil {
		return opening(err)
	}
	defer done()
	o.Begin.Copy = true
	if s.store, err = place.Open(ctx, o.Common); err != nil {
		return opening(err)
	}
	defer s.store.Close()
	if err := s.load(ctx); err != nil {
		return err
	}
	if err := s.main.Check(ctx); err != nil {
		return opening(err)
	}
	if s.tree.size == 0 {
		say("the log is empty")
		return nil
	}
	say(serve.Count(int(s.tree.size), "entry and its text are", "entries and their texts are") + " whole")
	return nil
}

// run serves until the context ends.
func (c Config) run(ctx context.Context, http serve.Config, o Options) (err error) {
	if c.URL != "" {
		if o.Store, err = c.Server.In(c.Folder).Open(ctx, o.Common); err != nil {
			return opening(err)
		}
	}
	service, err := New(ctx, o)
	if err != nil {
		return err
	}
	http.Routes, http.Ready, http.Status = service.Routes(), service.Ready, service.Status
	http.Disk = serve.DiskOf(c.Folder)
	err = serve.Run(ctx, http, func(context.Context) {})
	return errors.Join(err, service.Close())
}
