package chaos

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// fleet is one instance of one hop and an analyzer as a large collection has them, each part a
// process: a hop with three workers and an analyzer with two, each on a database of PostgreSQL. It takes one collection after the other.
type fleet struct {
	*town
	names    []string   // of all processes, in the order in which they are started
	whole    *testing.T // the town's is the part of it that runs
	postgres postgrestest.Server
	books    *postgrestest.Server            // the analyzer's; nil: the same
	apart    map[string]*postgrestest.Server // of roles that have one of their own
	db       *rows.Store                     // the analyzer's, as this process reads it
	lone     *lone
	planLog  string            // the address of the public log; "": there is none
	service  *blobtest.Service // that blobs are in; nil: they are in folders

	over    chan struct{} // closed when nobody is started again
	keepers sync.WaitGroup

	mu     sync.Mutex
	twins  map[string]string // by the name of a process
	halted map[string]bool   // is not started again for now
	begun  int               // collections
	slow   bool              // what a process holds takes it longer than a lease
	full   full              // the database's disk
}

const fleetDevices, fleetCrowds = 12, 2

// fleetCrowd is the crowd of a device: eight are in the first, four in the second.
func fleetCrowd(d int) int { return d / 8 }

var (
	mixerNames   = []string{"mixer0", "mixer1", "mixer2"}
	counterNames = []string{"counter0", "counter1"}
)

// everyPost names all processes, in the order in which they are started.
func everyPost() []string {
	return slices.Concat([]string{"hop0.0", "analyzer"}, mixerNames, counterNames)
}

func newFleet(t *testing.T, service *blobtest.Service) *fleet {
	t.Helper()
	f := muster(t, everyPost(), shape{hops: []int{1}, minimum: 2, devices: fleetDevices, crowds: fleetCrowds, sent: 8})
	f.service = service
	f.check(f.postgres.Schema("hop"))
	f.launch(func(name string) bool { return name == "analyzer" || strings.HasPrefix(name, "hop") })
	var err error
	f.db, err = rows.Open(t.Context(), rows.Config{DSN: f.postgres.DSN()})
	f.check(err)
	t.Cleanup(func() { f.db.Close() })
	f.lone = newLone(f)
	return f
}

// muster makes a fleet of which no process runs yet.
func muster(t *testing.T, names []string, s shape, settings ...string) *fleet {
	t.Helper()
	f := &fleet{
		whole: t, names: names, postgres: postgrestest.NewServer(t, append(settings, "fsync=on", "max_connections=300")...), over: make(chan struct{}), apart: map[string]*postgrestest.Server{}, twins: map[string]string{}, halted: map[string]bool{},
		town: &town{t: t, children: map[string]*child{}, world: &world{ring: rings(), dir: t.TempDir(), shape: s}},
	}
	check := f.check
	var err error
	f.authority, err = serve.NewAuthority("chaos", time.Hour)
	check(err)
	cert, key, err := f.authority.Server("127.0.0.1")
	check(err)
	check(errors.Join(
		atomicfile.Replace(filepath.Join(f.dir, "roots.pem"), f.authority.PEM(), 0o600),
		atomicfile.Replace(filepath.Join(f.dir, "cert.pem"), cert, 0o600), atomicfile.Replace(filepath.Join(f.dir, "key.pem"), key, 0o600),
		os.MkdirAll(filepath.Join(f.dir, "laid"), 0o700),
	))
	f.at(opens)
	return f
}

// launch starts all processes, and starts those again that end. Those that serve have an address.
func (f *fleet) launch(serves func(name string) bool) {
	for _, name := range f.names {
		c := &child{order: order{Name: name, Dir: filepath.Join(f.dir, name), Ring: f.ring.dir, Home: f.dir}}
		f.check(os.Mkdir(c.Dir, 0o700))
		if serves(name) {
			var err error
			c.link, err = newLink(seeded.New(1))
			f.check(err)
			c.link.healed = true // the network is not what this is about
		}
		f.children[name] = c
		c.Station = f.station(name)
	}
	f.whole.Cleanup(f.end)
	for _, name := range f.names {
		f.persist(f.children[name].start)
	}
	for name := range f.children {
		f.keepers.Go(func() { f.keep(name) })
	}
}

func (f *fleet) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// station is what a process shares.
func (f *fleet) station(name string) *station {
	s := &station{
		Queue: f.postgres.In("hop"), Keys: filepath.Join(f.dir, "keys"), Database: f.postgres.DSN(), Parts: f.place("parts"), Shards: f.place("shards"), Twin: f.twins[name],
	}
	if role, _, seat := strings.Cut(name, "#"); seat {
		s.Queue, s.Keys, s.Parts, s.Shards = f.server(role).In(schemaOf(role)), filepath.Join(f.dir, role+"-keys"), "", ""
		if strings.HasPrefix(role, "hop") {
			s.Parts = f.place("parts-" + role)
		}
		if f.slow {
			s.Lease, s.Slow = 15*time.Second, 18*time.Second // so long that a busy machine's holder says in time that it goes on
		}
	}
	if f.books != nil {
		s.Database = f.books.DSN()
	}
	if name == "analyzer" {
		s.Log = f.planLog
	}
	return s
}

// server is that of a role.
func (f *fleet) server(role string) *postgrestest.Server {
	if own := f.apart[role]; own != nil {
		return own
	}
	return &f.postgres
}

// place is where blobs of a kind are.
func (f *fleet) place(of string) string {
	if f.service != nil {
		return f.service.At(of)
	}
	return filepath.Join(f.dir, of)
}

// keep starts a process again whenever it has ended, as a supervisor does.
func (f *fleet) keep(name string) {
	c := f.children[name]
	for {
		c.mu.Lock()
		done := c.done
		c.mu.Unlock()
		select {
		case <-f.over:
			return
		case <-done:
		}
		for started := false; !started; {
			select {
			case <-f.over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			f.mu.Lock()
			halted := f.halted[name]
			c.Station = f.station(name)
			f.mu.Unlock()
			started = !halted && c.start() == nil // what it needs may be away
		}
	}
}

// kill ends a process with signal 9, and leaves it so until it is revived.
func (f *fleet) kill(name string) {
	f.mu.Lock()
	f.halted[name] = true
	f.mu.Unlock()
	c := f.children[name]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd != nil {
		c.cmd.Process.Kill()
		<-c.done
	}
}

func (f *fleet) revive(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halted[name] = false
}

// become has processes start again with a bug, or without.
func (f *fleet) become(twin string, names ...string) {
	for _, name := range names {
		f.mu.Lock()
		f.twins[name] = twin
		f.mu.Unlock()
		f.kill(name)
		f.revive(name)
	}
}

func (f *fleet) end() {
	close(f.over)
	for _, c := range f.children {
		c.mu.Lock()
		if c.cmd != nil {
			c.cmd.Process.Kill()
			<-c.done
		}
		c.mu.Unlock()
	}
	f.keepers.Wait()
	for _, c := range f.children {
		c.kill() // whom a keeper has started meanwhile
		if c.link != nil {
			c.link.close()
		}
	}
}

// at sets all clocks.
func (f *fleet) at(now time.Time) {
	text, err := now.MarshalText()
	f.check(err)
	f.check(atomicfile.Replace(filepath.Join(f.dir, "now"), text, 0o600))
}

// notes is how many lines a process has left in a file of a kind.
func (f *fleet) notes(name, kind string) int {
	text, _ := os.ReadFile(filepath.Join(f.dir, name+"."+kind))
	return strings.Count(string(text), "\n")
}

// patience is for what ends by itself: whoever waits longer does not learn more.
const patience = 90 * time.Second

// collect has every device answer a plan of the fleet's next hours, and its epoch end.
func (f *fleet) collect() {
	f.t.Helper()
	begin := opens.Add(time.Duration(f.begun) * 6 * time.Hour)
	f.begun++
	f.at(begin.Add(time.Minute))
	var err error
	f.signed, err = f.ring.plan(fmt.Sprint("fleet ", f.begun), f.shape, func(name string) string { return "https://" + f.children[name].link.listener.Addr().String() },
		plan.Times{Opens: begin, Closes: begin.Add(time.Hour)})
	f.check(err)
	for _, name := range []string{"hop0.0", "analyzer"} {
		f.persist(func() error { return f.registerWith(f.children[name]) })
	}
	f.lone.register(f.signed)
	transport := &native.Transport{Roots: f.authority.Pool()}
	for d := range fleetDevices {
		disk := native.Folder{Path: filepath.Join(f.dir, fmt.Sprint("device", d, "-", f.begun))}
		f.check(client.Consent(disk, true))
		c, err := client.Open(f.signed, client.Options{
			Publishers: plan.Trust(f.ring.trusted()), Store: disk, Bearer: f.ring.bearers[d], Transport: transport, Delay: client.NoDelay, Now: fixed(f.dir),
			Caps: client.Caps{Plan: client.Cap{Epsilon: 100, Delta: 0.1, Local: 100}, Window: client.Cap{Epsilon: 1e6, Delta: 0.9, Local: 1e6}, Period: time.Hour},
		})
		f.check(err)
		f.check(c.Answer(histogram.Answers{Crowd: fleetCrowd(d), Values: []any{d}}))
		f.persist(func() error { return c.Deliver(f.t.Context()) })
		c.Close()
	}
}

// persist repeats what services that start again do not take at once.
func (f *fleet) persist(fn func() error) {
	f.t.Helper()
	var err error
	begin := time.Now()
	for ; time.Since(begin) < patience; time.Sleep(pause(begin)) {
		if err = fn(); err == nil {
			return
		}
	}
	f.t.Fatal(err)
}

// pause returns how long whoever waits rests between two looks, each of which is a handshake or a statement: an eighth of
// the time that it has waited already.
func pause(begin time.Time) time.Duration {
	return min(max(20*time.Millisecond, time.Since(begin)/8), 200*time.Millisecond)
}

// mishap is what befalls a fleet while it mixes and counts a collection.
type mishap struct {
	dooms map[string][]doom               // by process, one for each of its lives or more
	calls func(f *fleet, who string)      // what is done when somebody calls; nil: nothing
	lost  map[int]bool                    // crowds that nothing may be released of
	after func(f *fleet, released []byte) // when all is over; nil: nothing
	waits time.Duration                   // how long for its end; 0: as for every
}

// run lets a mishap befall the next collection, and returns what must not have come of it.
func (f *fleet) run(m mishap) (violations []string) {
	f.t.Helper()
	f.collect()
	for _, name := range f.names {
		f.doom(name, m.dooms[name])
	}
	closes := f.signed.Plan.Times.Closes
	f.at(closes.Add(time.Minute))
	violate := func(format string, a ...any) { violations = append(violations, fmt.Sprintf(format, a...)) }
	wanted := fleetCrowds - len(m.lost)
	counted := func() bool {
		batches, err := f.db.Batches(context.Background(), f.signed.Plan.Name())
		return err == nil && len(batches) >= wanted && (len(m.lost) == 0 || f.said(m.lost))
	}
	if !f.until(m, counted) {
		violate("a crowd has not come to its end")
		return violations
	}
	violations = append(violations, f.compare(m.lost)...)
	f.at(closes.Add(2 * time.Hour))
	var released []byte
	if !f.until(m, func() bool { released = f.release(); return released != nil }) {
		violate("there is no release")
		return violations
	}
	if alone := f.lone.released(); string(alone) != string(released) {
		violate("another release came out than of one process: %s", firstDifference(released, alone))
	}
	if m.after != nil {
		m.after(f, released)
		if again := f.release(); string(again) != string(released) {
			violate("the release has changed when all was over")
		}
		violations = append(violations, f.compare(m.lost)...)
	}
	for name := range f.children {
		f.revive(name)
	}
	return append(violations, f.tidied()...)
}

// doom gives a process what befalls it next, and forgets what has befallen it.
func (f *fleet) doom(name string, dooms []doom) {
	f.t.Helper()
	for _, kind := range []string{"dooms", "met", "stopped", "awake", "calls", "jobs", "full"} {
		os.Remove(filepath.Join(f.dir, name+"."+kind))
	}
	if len(dooms) > 0 {
		text, err := json.Marshal(dooms)
		f.check(err)
		f.check(atomicfile.Replace(filepath.Join(f.dir, name+".dooms"), text, 0o600))
	}
}

// until waits for something, and does meanwhile what is called for.
func (f *fleet) until(m mishap, done func() bool) bool {
	begin := time.Now()
	for ; time.Since(begin) < cmp.Or(m.waits, patience); time.Sleep(pause(begin)) {
		for _, name := range f.names {
			if m.calls != nil && f.notes(name, "calls") > 0 {
				m.calls(f, name)
				os.Remove(filepath.Join(f.dir, name+".calls")) // by whoever gives dooms anew too
			}
		}
		if done() {
			return true
		}
	}
	return false
}

// met is how many dooms of a mishap have come.
func (f *fleet) met() (n int) {
	for _, name := range f.names {
		n += f.notes(name, "met")
	}
	return n
}

// release is what the analyzer has released of the collection; nil: nothing yet.
func (f *fleet) release() []byte {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.authority.Pool()}, DisableKeepAlives: true}}
	res, err := c.Get("https://" + f.children["analyzer"].link.listener.Addr().String() + "/v1/releases/" + f.signed.Plan.Name() + ".json")
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	return text
}

// said reports whether the hop says that crowds are lost, and why.
func (f *fleet) said(lost map[int]bool) bool {
	text := f.town.status("hop0.0")
	var all []struct {
		Crowds []struct {
			Crowd int
			Phase string
			Lost  bool
		}
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&all); err != nil || len(all) != 1 {
		return false
	}
	for _, c := range all[0].Crowds {
		if lost[c.Crowd] && (c.Phase != "withheld" || !c.Lost) {
			return false
		}
	}
	return true
}

// wake lets processes go on that have stopped, and waits until they have done what they were at.
func (f *fleet) wake() (stopped int) {
	f.t.Helper()
	for _, name := range f.names {
		n := f.notes(name, "stopped")
		if n == 0 {
			continue
		}
		stopped++
		c := f.children[name]
		f.persist(func() error {
			// Again each time: it says that it stops before it does.
			c.mu.Lock()
			err := c.cmd.Process.Signal(syscall.SIGCONT)
			c.mu.Unlock()
			f.check(err)
			if f.notes(name, "awake") < n {
				return fmt.Errorf("chaos: %s is not awake", name)
			}
			return nil
		})
	}
	return stopped
}

// blobs are the files below a folder of the fleet's that belong to its collection, or the
// names in its bucket.
func (f *fleet) blobs(of, part string) (paths []string) {
	if f.service != nil {
		names, err := f.service.Open(f.t, of).List(f.t.Context(), "")
		f.check(err)
		return slices.DeleteFunc(names, func(name string) bool {
			return !strings.Contains(name, f.signed.Plan.Name()) || !strings.Contains("/"+name, part)
		})
	}
	filepath.WalkDir(filepath.Join(f.dir, of), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, f.signed.Plan.Name()) && strings.Contains(filepath.ToSlash(path), part) {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// tidied wants no blob of the collection left, once the hop has started again.
func (f *fleet) tidied() []string {
	f.become("", "hop0.0")
	left := func() []string { return append(f.blobs("parts", ""), f.blobs("shards", "")...) }
	if !f.until(mishap{}, func() bool { return len(left()) == 0 }) {
		return []string{fmt.Sprintf("%d blobs are left: %v", len(left()), left()[0])}
	}
	return nil
}

// lives draws so many dooms of a worker, one for each of its lives.
func lives(r *rand.Rand, n int, do, where string, most int) (all []doom) {
	for range n {
		all = append(all, doom{do, 1 + r.IntN(most), where})
	}
	return all
}

// firstDifference is where two texts part.
func firstDifference(a, b []byte) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	cut := func(s []byte) string { return string(s[max(0, n-40):min(len(s), n+60)]) }
	return fmt.Sprintf("%q beside %q", cut(a), cut(b))
}
