package issuer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
)

// Config is an issuer's configuration file.
type Config struct {
	serve.Settings
	serve.Visited `set:"bearers"` // one way to know people has to be there
	Folder        serve.Path      `toml:"folder" eg:"/var/lib/confetti-ROLE" help:"Where plans rest, and marks of who has got tokens, and of this process what became of requests."`
	shelves.Server
	Links      serve.Path           `toml:"links" or:"links" help:"Hashes of the codes of links, each of which one person opens (confetti token links). Of bearers, http.clients, links, oidc and assertions exactly one is set."`
	Limits     serve.Visits         `toml:"limits" help:"What peers can make the service do."`
	OIDC       *identity.OIDC       `toml:"oidc" help:"People are known by the identity tokens of an OpenID provider."`
	Assertions *identity.Assertions `toml:"assertions" help:"Or by what the app's own backend has signed for each request."`
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
		fault("folder", errors.Join(serve.Writable(c.Folder), earlier(string(c.Folder))))
		errs = append(errs, c.Server.In(c.Folder).Check())
	}
	publishers, bearers, err := c.Visited.Open(c.Settings, &http, &common)
	errs = append(errs, err)
	who, err := c.identity(bearers != nil || c.HTTP.Clients != "")
	errs = append(errs, err)
	if c.Bearers == "" && c.HTTP.Clients == "" && c.OIDC == nil && c.Assertions == nil && c.Links == "" {
		fault("bearers", errors.New("nobody could be told apart: name a file of bearer tokens, or as http.clients authorities of certificates, or set oidc, assertions or links"))
	}
	fault("limits", c.Limits.Validate())
	return http, Options{
		Common: common, Folder: string(c.Folder), Publishers: publishers, Bearers: bearers, Certificates: c.HTTP.Clients != "", Identity: who, Limits: c.Limits,
	}, errors.Join(errs...)
}

// identity opens the one way to tell people that is set; nil if none is. others says that
// respondents are told in another way already.
func (c Config) identity(others bool) (who identity.Identifier, err error) {
	var errs []error
	set := func(setting string, open func() (identity.Identifier, error)) {
		if others {
			errs = append(errs, serve.Fault(setting, errors.New("a respondent who is told in two ways would count twice: set one of bearers, http.clients, oidc, assertions and links")))
		}
		others = true
		one, err := open()
		who, errs = one, append(errs, err)
	}
	if c.OIDC != nil {
		set("oidc", func() (identity.Identifier, error) { return identity.OpenOIDC(*c.OIDC, time.Now) })
	}
	if c.Assertions != nil {
		set("assertions", func() (identity.Identifier, error) { return identity.OpenAssertions(*c.Assertions, time.Now) })
	}
	if c.Links != "" {
		set("links", func() (identity.Identifier, error) {
			codes, err := serve.ReadBearers(string(c.Links))
			return identity.Links(codes), serve.Fault("links", err)
		})
	}
	return who, errors.Join(errs...)
}

// Open reads what the configuration names.
func (c Config) Open(log *slog.Logger) (serve.Opened, error) {
	return serve.Open(log, c.open, c.verify, c.run)
}

// verify reads a copy of the folder, or a database, as a start does, and asks the hops. It says
// what is whole; the error says what is not.
func (c Config) verify(ctx context.Context, o Options, say func(string)) error {
	place, done, err := c.Server.In(c.Folder).Copy()
	if err != nil {
		return opening(err)
	}
	defer done()
	o.Begin.Copy = true
	if o.Store, err = place.Open(ctx, o.Common); err != nil {
		return opening(err)
	}
	s, err := New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, p := range s.sorted() {
		if err := p.marks.shelf.Check(ctx); err != nil {
			return explained(err)
		}
		say(p.plan.Name() + " and its marks are whole")
	}
	for _, name := range s.orphans() {
		say(name + ": " + orphaned)
	}
	say("no hop that answers has seen more")
	return nil
}

// run serves until the context ends.
func (c Config) run(ctx context.Context, http serve.Config, o Options) (err error) {
	if c.URL != "" {
		if o.Store, err = c.Server.In(c.Folder).Open(ctx, o.Common); err != nil {
			return opening(err)
		}
	}
	service, err := New(o)
	if err != nil {
		return err
	}
	defer service.Close()
	http.Routes, http.Private, http.Ready, http.Status = service.Routes(), service.Private(), service.Ready, service.Status
	http.Disk = serve.DiskOf(c.Folder)
	return serve.Run(ctx, http, service.Run)
}
