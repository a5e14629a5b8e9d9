package chaos

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/issuer"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
	hoprows "github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/plan"
)

// setting is what a service runs in.
type setting struct {
	ring       *ring
	publishers *serve.Publishers // nil: the ring's
	dir        string            // its disk
	room       int64             // bytes that a hop's queue may use; 0: as it likes
	writes     *int              // for which an aggregator's disk has room; negative, nil: for all
	lies       *bool             // a twin's disk
	now        func() time.Time
	failpoint  func(string) error
	network    http.RoundTripper // to the next hop and the analyzer
	log        *slog.Logger      // nil: none
	planLog    string            // address of the public log; "": there is none

	// Of a fleet: what workers share.
	url     string     // of a PostgreSQL database, in the place of the hop's disk
	keys    string     // folder of the keys of that one's shelves
	dsn     string     // of a PostgreSQL database, in the place of the analyzer's disk
	blobs   blob.Store // nil: crowds and batches are in memory
	bytes   int        // of parts, or of shards
	lease   time.Duration
	twin    string // the bug of the store; "": none
	reports int    // of a leader's shard; 0: as ever
}

func (s setting) trust() *serve.Publishers {
	if s.publishers != nil {
		return s.publishers
	}
	return serve.Trust(s.ring.trusted())
}

// process is a running service, whatever its role.
type process struct {
	config  serve.Config
	step    func(context.Context) error // does once what is due
	run     func(context.Context)       // does it all the time
	store   *rows.Store                 // the analyzer's
	shelves keep.Store                  // a hop's
	blobs   blob.Store                  // likewise
	stop    func()
}

// end lets go of everything that the process holds.
func (p process) end() {
	if p.stop != nil {
		p.stop()
	}
}

// launch starts the service of that name on what is in its folder.
func launch(name string, s setting) (process, error) {
	switch {
	case name == "issuer":
		return launchIssuer(s)
	case name == "analyzer":
		return launchAnalyzer(s)
	case strings.HasPrefix(name, "hop"):
		return launchHop(name, s)
	case name == "leader" || name == "helper":
		return launchAggregator(name, s)
	case name == "log":
		return launchLog(s)
	}
	panic("chaos: no service " + name)
}

// common is what every service of a run is made of.
func (s setting) common(name string) serve.Common {
	return serve.Common{Keys: s.ring.keys(name), Client: &http.Client{Transport: s.network}, Now: s.now, Log: s.log, Failpoint: s.failpoint}
}

func launchIssuer(s setting) (process, error) {
	store, err := s.sharedStore()
	if err != nil {
		return process{}, err
	}
	i, err := issuer.New(issuer.Options{
		Common: s.common("issuer"), Folder: s.dir, Store: store, Publishers: s.trust(), Bearers: s.ring.people("respondents"), Limits: serve.Visits{Rate: 1e6, Burst: 1e6},
	})
	if err != nil {
		return process{}, err
	}
	return process{
		config: serve.Config{Name: "issuer", Routes: i.Routes(), Private: i.Private(), Ready: i.Ready, Status: i.Status},
		step:   func(context.Context) error { return i.Sweep() }, run: i.Run, stop: func() { i.Close() },
	}, nil
}

func launchAnalyzer(s setting) (process, error) {
	db, err := rows.Open(context.Background(), rows.Config{DSN: cmp.Or(s.dsn, filepath.Join(s.dir, "shelves")), Failpoint: s.failpoint})
	if err != nil {
		return process{}, err
	}
	a, err := analyzerd.New(analyzerd.Options{
		Common: s.common("analyzer"), Store: db, Operators: s.ring.people("operators"),
		Publishers: []analyzerd.Publisher{{Name: "Research", Key: s.ring.trusted(), Population: "all"}, {Name: "Another", Key: plan.Publisher(s.ring.stranger().Public().(ed25519.PublicKey)), Population: "all"}},
		Trust:      s.trust(), Coordinator: s.ring.coordinator(),
		Populations: map[string]analyzerd.Population{"all": {Epsilon: 1e7, Delta: 0.9, Adjacency: account.Replacement}},
		Software:    "chaos", PlanLog: s.planLog, Blobs: s.blobs, ShardBytes: s.bytes, ShardLease: s.lease,
	})
	if err != nil {
		db.Close()
		return process{}, err
	}
	if err := a.Compare(context.Background()); err != nil {
		db.Close()
		return process{}, err
	}
	return process{
		config: serve.Config{Name: "analyzer", Routes: a.Routes(), Ready: a.Ready, Status: a.Status},
		step:   a.Step, run: func(ctx context.Context) { a.Run(ctx) }, store: db, stop: func() { db.Close() },
	}, nil
}

func launchHop(name string, s setting) (process, error) {
	ctx := context.Background()
	shelves, err := s.shelves(name)
	if err != nil {
		return process{}, err
	}
	blobs := s.blobs
	if blobs == nil {
		if blobs, err = blob.OpenFolder(filepath.Join(s.dir, hoprows.BlobsFolder)); err != nil {
			return process{}, err
		}
	}
	h, err := shufflerd.New(ctx, shufflerd.Options{
		Common: s.common(name), Store: shelves, MaxBytes: s.room, Publishers: s.trust(), Bearers: s.ring.people("respondents"), Operators: s.ring.people("operators"),
		Limits: shufflerd.Limits{Visits: serve.Visits{Rate: 1e6, Burst: 1e6}},
		Blobs:  blobs, PartBytes: s.bytes, Share: s.url != "", StepLease: s.lease,
	})
	if err != nil {
		shelves.Close()
		return process{}, err
	}
	return process{
		config: serve.Config{Name: "shuffler", Routes: h.Routes(), Private: h.Private(), Ready: h.Ready, Status: h.Status},
		step:   h.Step, run: h.Run, shelves: shelves, blobs: blobs, stop: func() { shelves.Close() },
	}, nil
}

// shelves opens a hop's.
func (s setting) shelves(name string) (keep.Store, error) {
	if s.url == "" {
		return hoprows.OpenFolder(s.dir, s.common(name))
	}
	return s.sharedStore()
}
