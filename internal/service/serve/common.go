package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
)

// Common is what every service is made of, beside what it keeps and whom it trusts.
type Common struct {
	Keys string // folder of the operator's private keys; a plan's public keys pick from it

	// Client reaches other services: those that are handed something, and those that are
	// asked what they have seen and what time it is; nil: nobody is asked.
	Client *http.Client

	Begin Begin

	// Retention is how long after the end of a plan what is kept of it stays; 0: as long as
	// the service says.
	Retention time.Duration

	Metrics *Metrics         // nil: none
	Log     *slog.Logger     // nil: none
	Now     func() time.Time // nil: the system's clock

	// Clock says whether the time of day may be believed before something is done for
	// good because of it; nil: it always is.
	Clock *clock.Clock

	// Failpoint is called at each step that the service names, in tests of crashes. Its
	// error ends what is being done as a crash would: nothing after it happens. nil: none.
	Failpoint func(name string) error

	gateway *gateway // nil: nobody comes by a relay
}

// Begin is how a service may go about the folder in which it keeps things.
type Begin struct {
	New   bool // makes what it keeps things in, which must not be there
	Alone bool // goes on where the system has no lock against a second process
	Copy  bool // reads a copy of it, and makes nothing
}

// SetBegin says how the service may begin.
func (s *Settings) SetBegin(b Begin) { s.Begin = b }

// Default fills in what was left out.
func (c *Common) Default(retention time.Duration) {
	c.Retention = cmp.Or(c.Retention, retention)
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Failpoint == nil {
		c.Failpoint = func(string) error { return nil }
	}
}

// Visits bound what publishers and respondents can make a service do. Zeros are the
// defaults.
type Visits struct {
	Plans int     `toml:"plans" or:"256" help:"Places of each publisher. A study takes one, and its rounds have as many of their own."`
	Rate  float64 `toml:"rate" or:"1.0" help:"Requests a second that one respondent may make in the long run, and at once."`
	Burst int     `toml:"burst" or:"16"`
}

// Default fills in what was left out.
func (v *Visits) Default() {
	v.Plans, v.Rate, v.Burst = cmp.Or(v.Plans, 256), cmp.Or(v.Rate, 1), cmp.Or(v.Burst, 16)
}

// Rates returns those of the respondents whom a service has seen last.
func (v Visits) Rates() *Rates[Respondent] {
	const remembered = 1 << 16
	return NewRates[Respondent](v.Rate, v.Burst, remembered)
}

// Validate says what is wrong with limits that somebody has written down.
func (v Visits) Validate() error {
	if v.Plans < 0 || v.Burst < 0 || !AtLeastZero(v.Rate) {
		return errors.New("every limit is a number from 0 on")
	}
	return nil
}

// AtLeastZero is whether x is a number from 0 on, and not without end.
func AtLeastZero(x float64) bool { return x >= 0 && x < math.MaxInt32 }

// Settings are those of every service's configuration.
type Settings struct {
	Begin          Begin    `toml:"-"` // what the command says
	HTTP           HTTP     `toml:"http"`
	Keys           Path     `toml:"keys" eg:"keys" help:"A folder of private keys (*.json, mode 0600), old and new side by side: public keys in plans pick from them."`
	PublishersFile Path     `toml:"publishers_file" or:"publishers.txt" help:"A file of those whose plans are served, with the ends of their keys (confetti publishers), read again when it changes: keys come, end and are revoked without a restart."`
	Roots          Path     `toml:"roots" or:"roots.crt" help:"Authorities of the other services, in PEM. Without it the system's."`
	Retention      Duration `toml:"retention" or:"0s" help:"How long after a plan's end what is kept of it stays; 0 is 30 days, and of an issuer a day. A log keeps everything, and an analyzer releases and budgets."`
}

// Open reads what the settings name. enough reads the keys that
// the service needs, and says what is missing;
// the error joins everything that is wrong.
func (s Settings) Open(name string, log *slog.Logger, enough func(folder string) error) (Config, Common, error) {
	var errs []error
	fault := func(setting string, err error) { errs = append(errs, Fault(setting, err)) }
	http, err := s.HTTP.Open(name, log)
	errs = append(errs, err)
	if s.Keys == "" {
		fault("keys", errors.New("name a folder of private keys"))
	} else {
		fault("keys", enough(string(s.Keys)))
	}
	fault("keys", Closed(s.Keys))
	http.Keys = string(s.Keys)
	client, err := Client(s.Roots)
	fault("roots", err)
	return http, Common{
		Keys: string(s.Keys), Begin: s.Begin, Client: client, Retention: time.Duration(s.Retention), Metrics: http.Metrics, Log: log, Clock: clock.New(),
	}, errors.Join(errs...)
}

// Visited are the settings of a service to which respondents come.
type Visited struct {
	Publishers    []string `toml:"publishers" eg:"ed25519:3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8" help:"Public keys of the publishers whose plans are served, in the place of publishers_file."`
	Bearers       Path     `toml:"bearers" or:"respondents" help:"Hashes of the respondents' bearer tokens (confetti token add). A hop and a leader need it, or http.clients, for plans whose entry demands no single-use tokens. A helper has none."`
	Gateway       Path     `toml:"gateway" or:"gateway" help:"A folder of private keys, and of nothing else, to which devices seal what they send by a relay (Oblivious HTTP); without it nobody comes by one. A helper has none."`
	Relays        []string `toml:"relays" or:"203.0.113.0/24" help:"Networks from which relays come, one each, and how many requests of each may be under way at once; 0 is half of http.requests. From elsewhere the same counts as everybody else's."`
	RelayRequests int      `toml:"relay_requests" or:"0"`
}

// Open reads what the settings name, and gives the gateway to what Settings.Open has read; nil bearers if
// there are none.
func (v Visited) Open(s Settings, http *Config, common *Common) (*Publishers, *Bearers, error) {
	publishers, err := OpenPublishers(v.Publishers, s.PublishersFile)
	gateway, unopened := openGateway(v.Gateway, v.Relays)
	if v.Gateway != "" && filepath.Clean(string(v.Gateway)) == filepath.Clean(string(s.Keys)) {
		unopened = errors.New("is the folder of the other keys: a gateway's open nothing else, and have a folder of their own")
	}
	if v.RelayRequests < 0 {
		unopened = errors.Join(unopened, errors.New("relay_requests is negative"))
	}
	err = errors.Join(err, Fault("gateway", unopened))
	http.gateway, common.gateway, http.Limits.Relayed = gateway, gateway, v.RelayRequests
	if gateway != nil {
		http.Limits.Relays = gateway.relays
	}
	if v.Bearers == "" {
		return publishers, nil, err
	}
	bearers, unread := ReadBearers(string(v.Bearers))
	if s.HTTP.Clients != "" {
		unread = errors.Join(unread, errors.New("a respondent who has both a token and a certificate would count twice: set bearers or http.clients, not both"))
	}
	return publishers, bearers, errors.Join(err, Fault("bearers", unread))
}

// Run serves until the context ends, and works beside that until nobody is served any
// more.
func Run(ctx context.Context, c Config, work func(context.Context)) error {
	server, err := New(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	background.Go(func() { work(ctx) })
	return server.Serve(ctx)
}
