package chaos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
	hoprows "github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/blob/bucket"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
)

// station is what a process of a fleet shares with others, and what befalls it.
type station struct {
	Queue    string        // URL of the hop's database
	Keys     string        // folder of the keys of its shelves
	Database string        // URL of the analyzer's
	Parts    string        // folder of the hop's parts, or URL of a bucket
	Shards   string        // of the analyzer's
	Log      string        // address of the public log; "": there is none
	Twin     string        // the bug that it has; "": none
	Lease    time.Duration // of steps; 0: fleetLease
	Slow     time.Duration // between a step's work and its end
}

// Sizes at which a crowd of a few kilobytes has a handful of parts and shards.
const (
	fleetPart  = 200
	fleetShard = 100
	fleetLease = time.Second
)

// doom is what a process does to itself. Those of a process lie in a file beside it, and are
// taken one after the other, whichever of its lives it is in.
type doom struct {
	Do    string // "kill" or "stop" (signals 9 and 19), "call": it waits until somebody has done something, or "pass": nothing
	At    int    // the time at which it comes there, from 1
	Where string // a failpoint, or "get" or "put": before a blob is read or written; "": before and after anything that it does with blobs
}

// fates takes dooms as a process comes to points.
type fates struct {
	home, name string
	mu         sync.Mutex
	woken      bool
}

func (f *fates) file(kind string) string { return filepath.Join(f.home, f.name+"."+kind) }

// come is called at each point. blobs is for what is done with them.
func (f *fates) come(point string, blobs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.woken && (point == "after" || !blobs) {
		f.woken = false
		f.note("awake")
	}
	text, err := os.ReadFile(f.file("dooms"))
	if err != nil {
		return
	}
	var dooms []doom
	if err := json.Unmarshal(text, &dooms); err != nil {
		panic(err)
	}
	if len(dooms) == 0 || dooms[0].Where != point && (dooms[0].Where != "" || !blobs) {
		return
	}
	d := &dooms[0]
	if d.At--; d.At > 0 {
		f.leave(dooms)
		return
	}
	do := d.Do
	f.leave(dooms[1:])
	f.note("met")
	switch do {
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stop":
		f.note("stopped")
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(20 * time.Millisecond) // some thread may have gone on
		f.woken = true
	case "call":
		f.note("calls")
		for {
			if _, err := os.Stat(f.file("calls")); errors.Is(err, os.ErrNotExist) {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// rise tells that a process that was stopped has done what it was at.
func (f *fates) rise() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.woken {
		f.woken = false
		f.note("awake")
	}
}

func (f *fates) leave(dooms []doom) {
	text, err := json.Marshal(dooms)
	if err == nil {
		err = atomicfile.Replace(f.file("dooms"), text, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// note leaves a word for whoever watches: a line more in a file.
func (f *fates) note(kind string) {
	w, err := os.OpenFile(f.file(kind), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(w, "x")
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		panic(err)
	}
}

// Write hears of what a process logs.
func (f *fates) Write(line []byte) (int, error) {
	f.come("log", false)
	if bytes.Contains(line, []byte(wire.StorageFull)) {
		f.note("full")
	}
	return os.Stderr.Write(line)
}

// mortal is a store of blobs at whose calls something befalls its process.
type mortal struct {
	blob.Store
	fates *fates
}

func (m mortal) Put(ctx context.Context, name string, body []byte) error {
	m.fates.come("put", true)
	err := m.Store.Put(ctx, name, body)
	m.fates.come("after", true)
	return err
}

func (m mortal) Get(ctx context.Context, name string) ([]byte, error) {
	m.fates.come("get", true)
	body, err := m.Store.Get(ctx, name)
	m.fates.rise()
	return body, err
}

func (m mortal) List(ctx context.Context, under string) ([]string, error) {
	m.fates.come("list", true)
	return m.Store.List(ctx, under)
}

// fixed is a clock that stands where a file says.
func fixed(home string) func() time.Time {
	var mu sync.Mutex
	var read, at time.Time
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(read) > 5*time.Millisecond {
			text, err := os.ReadFile(filepath.Join(home, "now"))
			if err == nil {
				err = at.UnmarshalText(text)
			}
			if err != nil {
				panic(err)
			}
			read = time.Now()
		}
		return at
	}
}

// post is the process of a fleet that is no service: it works until it is killed.
func (o order) post(s setting, f *fates) error {
	ctx := context.Background()
	var run func(context.Context)
	switch kind := strings.TrimRight(o.Name, "0123456789"); kind {
	case "mixer":
		shelves, err := s.shelves(o.Name)
		if err != nil {
			return err
		}
		options := shufflerd.Options{Common: s.common("hop0.0"), Store: shelves, Blobs: s.blobs, StepLease: fleetLease}
		if o.Station.Twin != "" {
			run = func(ctx context.Context) { fail(o.ownOrder(ctx, options, f)) }
		} else if run, err = shufflerd.NewWorker(ctx, options); err != nil {
			return err
		}
	case "counter":
		db, err := rows.Open(ctx, rows.Config{DSN: o.Station.Database})
		if err != nil {
			return err
		}
		if o.Station.Twin != "" {
			run = func(ctx context.Context) { fail(o.twoTransactions(ctx, db, s, f)) }
			break
		}
		a, err := analyzerd.New(analyzerd.Options{
			Common: s.common("analyzer"), Store: db, Operators: s.ring.people("operators"), Blobs: s.blobs, ShardBytes: fleetShard, ShardLease: fleetLease,
			Publishers:  []analyzerd.Publisher{{Name: "Research", Key: s.ring.trusted(), Population: "all"}},
			Populations: map[string]analyzerd.Population{"all": {Epsilon: 1e7, Delta: 0.9, Adjacency: account.Replacement}},
		})
		if err != nil {
			return err
		}
		run = a.Work
	default:
		panic("chaos: no post " + o.Name)
	}
	fmt.Println("up")
	run(ctx)
	return errors.New("chaos: it has ended")
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// man gives a process of a fleet what it shares.
func (o order) man(s setting) (setting, *fates, error) {
	f := &fates{home: o.Home, name: o.Name}
	now := fixed(o.Home)
	s.log, s.now = slog.New(slog.NewTextHandler(f, nil)), func() time.Time { return now().Add(readClock(o.Home, o.Name)) }
	s.failpoint = func(name string) error {
		f.come(name, false)
		return nil
	}
	s.url, s.keys, s.dsn, s.planLog = o.Station.Queue, o.Station.Keys, o.Station.Database, o.Station.Log
	place := o.Station.Parts
	if o.Name == "analyzer" || strings.HasPrefix(o.Name, "counter") {
		place = o.Station.Shards
	}
	if place == "" {
		return s, f, nil
	}
	blobs, err := openBlobs(place)
	s.blobs = mortal{blobs, f}
	return s, f, err
}

// openBlobs opens a bucket or a folder.
func openBlobs(place string) (blob.Store, error) {
	if bucket.Is(place) {
		return bucket.Open(place)
	}
	return blob.OpenFolder(place)
}

// witness has a hop leave a copy of what a crowd is mixed from, its key included, when that is
// settled: where the crowd is marked as laid out.
func (o order) witness(shelves keep.Store) error {
	ctx := context.Background()
	marks, err := hoprows.Open(ctx, shelves, false)
	if err != nil {
		return err
	}
	from, err := openBlobs(o.Station.Parts)
	if err != nil {
		return err
	}
	alone, err := blob.OpenFolder(filepath.Join(o.Home, "alone"))
	if err != nil {
		return err
	}
	return marks.Each(ctx, hoprows.Crowds, "", func(_ string, value []byte) error {
		laid, err := laidOf(ctx, marks, value)
		if err != nil || laid == nil {
			return err
		}
		if there, err := alone.List(ctx, laid.Under); err != nil || len(there) > 0 {
			return err
		}
		names, err := from.List(ctx, laid.Under)
		if err != nil {
			return err
		}
		for _, name := range names {
			body, err := from.Get(ctx, name)
			if err == nil {
				err = alone.Put(ctx, name, body)
			}
			if err != nil {
				return err
			}
		}
		text, err := json.Marshal(laid)
		if err != nil {
			return err
		}
		return atomicfile.Replace(filepath.Join(o.Home, "laid", strings.ReplaceAll(laid.Under, "/", "-")), text, 0o600)
	})
}

// laidOf reads in a crowd's mark where its parts are, and finds its key; nil: it lies in none.
func laidOf(ctx context.Context, s *hoprows.Store, value []byte) (*mixer.Crowd, error) {
	var mark struct {
		Laid *mixer.Crowd `json:"laid"`
	}
	if err := json.Unmarshal(value, &mark); err != nil || mark.Laid == nil {
		return nil, err
	}
	post, _, _ := strings.Cut(mark.Laid.Under, "/")
	var err error
	mark.Laid.Key, err = s.Key(ctx, post, mark.Laid.Crowd, "parts "+mark.Laid.Under)
	return mark.Laid, err
}

// serveFleet is a process of a fleet.
func (o order) serveFleet(s setting) error {
	s, f, err := o.man(s)
	if err != nil {
		return err
	}
	s.lease = cmp.Or(o.Station.Lease, fleetLease)
	if role, _, seat := strings.Cut(o.Name, "#"); seat {
		s.bytes = fleetPart
		return o.seat(role, s, f)
	}
	switch {
	case o.Name == "analyzer":
		s.bytes = fleetShard
	case strings.HasPrefix(o.Name, "hop"):
		s.bytes = fleetPart
	default:
		return o.post(s, f)
	}
	var p process
	come := s.failpoint
	s.failpoint = func(name string) error {
		if name == "parts-marked" {
			if err := o.witness(p.shelves); err != nil {
				return err
			}
		}
		return come(name)
	}
	if o.Station.Twin == "anew" {
		if err := s.forgetLaid(); err != nil {
			return err
		}
	}
	if p, err = launch(o.Name, s); err != nil {
		return err
	}
	return o.listen(p)
}
