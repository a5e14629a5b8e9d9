package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	counts "github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// town is a world of real processes, TLS and TCP.
type town struct {
	*world
	t         testing.TB
	rand      *rand.Rand
	authority *serve.Authority
	children  map[string]*child
	kills     int
	full      bool // disks can be filled: they are mounted
}

// The same invariants hold where every service is a process of its own that is
// killed with signal 9, at a failpoint or at any moment, its disk torn or full and
// its clock wrong, over TLS through links that are slow and cut.
func TestKilledProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	var kills atomic.Int64
	t.Run("schedules", func(t *testing.T) {
		for i := range uint64(*processes) {
			seed := *firstSeed + i
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				kills.Add(int64(killAll(t, seed)))
			})
		}
	})
	t.Logf("%d processes killed in %d schedules", kills.Load(), *processes)
	if *processes >= 10 && kills.Load() < 20 {
		t.Errorf("only %d processes were killed", kills.Load())
	}
}

func killAll(t *testing.T, seed uint64) int {
	w := newTown(t, seed)
	defer w.end()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	// While the collection is open: devices send, and send again what waits.
	done := make(chan struct{})
	var sending sync.WaitGroup
	for d := range w.shape.devices {
		sending.Go(func() { w.send(ctx, d, done) })
	}
	w.trouble(3*time.Second, 2)
	close(done)
	sending.Wait()

	// It closes: batches travel.
	w.clocks(w.signed.Plan.Times.Closes, true)
	w.trouble(2*time.Second, 3)

	w.heal()
	w.clocks(w.signed.Plan.Times.Closes, false)
	w.takeLedgers()
	// look reads a copy of the analyzer's folder, which its process has.
	look := func() func() {
		db, done, err := rows.OpenCopy(ctx, rows.Config{DSN: filepath.Join(w.children["analyzer"].Dir, "shelves")})
		if err != nil {
			t.Fatal(err)
		}
		w.nodes["analyzer"] = &node{process: process{store: db}}
		return func() {
			if err := done(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		w.violations, w.log = nil, nil
		looked := look()
		w.compare()
		looked()
		if len(w.violations) == 0 || time.Now().After(deadline) {
			break
		}
	}
	w.clocks(w.signed.Plan.Times.Closes.Add(2*time.Hour), false)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		looked := look()
		p, err := w.nodes["analyzer"].store.Plan(ctx, w.signed.Plan.Name())
		looked()
		if err == nil && !p.Decided.IsZero() {
			break
		}
	}
	looked := look()
	w.checkVerdict()
	looked()
	for _, v := range w.violations {
		t.Errorf("seed %d: %s", seed, v)
	}
	if len(w.violations) > 0 {
		t.Log("\n" + strings.Join(w.log, "\n"))
		for _, name := range w.services() {
			t.Log(name, w.status(name))
			w.children[name].quit()
			t.Logf("%s:\n%s", name, w.children[name].errs)
		}
	}
	return w.kills
}

func newTown(t testing.TB, seed uint64) *town {
	t.Helper()
	r := seeded.New(seed, 2)
	w := &town{t: t, rand: r, children: map[string]*child{}, world: &world{
		ring: rings(), dir: t.TempDir(), nodes: map[string]*node{}, said: map[[32]byte]*contribution{},
		shape: shape{hops: []int{2, 1 + r.IntN(2)}, tokens: seed%2 == 0, minimum: 2, devices: 10, crowds: 2},
	}}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.authority, err = serve.NewAuthority("chaos", time.Hour)
	check(err)
	cert, key, err := w.authority.Server("127.0.0.1")
	check(err)
	check(errors.Join(
		atomicfile.Replace(filepath.Join(w.dir, "roots.pem"), w.authority.PEM(), 0o600),
		atomicfile.Replace(filepath.Join(w.dir, "cert.pem"), cert, 0o600), atomicfile.Replace(filepath.Join(w.dir, "key.pem"), key, 0o600),
	))
	for i, name := range w.services() {
		k, err := newLink(seeded.New(seed, 3, uint64(i)))
		check(err)
		c := &child{link: k, order: order{Name: name, Dir: filepath.Join(w.dir, name), Ring: w.ring.dir, Home: w.dir}}
		check(os.Mkdir(c.Dir, 0o700))
		w.full = syscall.Mount("tmpfs", c.Dir, "tmpfs", 0, "size=64m") == nil
		w.children[name] = c
	}
	now := time.Now().Truncate(time.Second).UTC()
	address := func(name string) string { return "https://" + w.children[name].link.listener.Addr().String() }
	w.signed, err = w.ring.plan(fmt.Sprint("town ", seed), w.shape, address, plan.Times{Opens: now.Add(-time.Hour), Closes: now.Add(2 * time.Hour)})
	check(err)
	w.proto, err = protocol.New(w.signed.Plan)
	check(err)
	for _, c := range w.children {
		check(c.start())
		check(w.registerWith(c))
	}
	for d := range w.shape.devices {
		check(client.Consent(native.Folder{Path: filepath.Join(w.dir, deviceName(d))}, true))
	}
	return w
}

// status is what a child says of itself.
func (w *town) status(name string) string {
	client, err := serve.Client(serve.Path(filepath.Join(w.dir, "roots.pem")))
	if err != nil {
		return err.Error()
	}
	defer client.CloseIdleConnections()
	res, err := client.Get("https://" + w.children[name].link.target + wire.StatusPath(w.signed.Plan.Hash()))
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return fmt.Sprintf("%s %v", text, err)
}

// registerWith brings a child the plan, past its link.
func (w *town) registerWith(c *child) error {
	client, err := serve.Client(serve.Path(filepath.Join(w.dir, "roots.pem")))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequest(http.MethodPut, "https://"+c.link.target+wire.PlanPath(w.signed.Plan.Hash()), bytes.NewReader(w.signed.Marshal()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", wire.SignedPlanType)
	r.Header.Set("Authorization", "Bearer "+w.ring.operator)
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		return p
	}
	return nil
}

func (w *town) end() {
	for _, c := range w.children {
		c.kill()
		c.link.close()
		if w.full {
			if err := syscall.Unmount(c.Dir, syscall.MNT_DETACH); err != nil {
				w.t.Error(err)
			}
		}
	}
}

// send answers on a device, and delivers until nothing waits or done.
func (w *town) send(ctx context.Context, d int, done <-chan struct{}) {
	o := client.Options{
		Publishers: plan.Trust(w.ring.trusted()), Store: native.Folder{Path: filepath.Join(w.dir, deviceName(d))}, Bearer: w.ring.bearers[d], Transport: &native.Transport{Roots: w.authority.Pool()},
		Delay: client.NoDelay, Wait: time.Minute,
		Caps: client.Caps{Plan: client.Cap{Epsilon: 100, Delta: 0.1, Local: 100}, Window: client.Cap{Epsilon: 100, Delta: 0.1, Local: 100}, Period: time.Hour},
	}
	c, err := client.Open(w.signed, o)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer c.Close()
	// Two devices a crowd and instance suffice; in crowd 1 there is one device
	// alone, which must never leave.
	crowd := 0
	if d == 0 {
		crowd = 1
	}
	if err := c.Answer(histogram.Answers{Crowd: crowd, Values: []any{d}}); err != nil {
		w.t.Error(err)
		return
	}
	for {
		select {
		case <-done:
			return
		default:
		}
		try, cancel := context.WithTimeout(ctx, 600*time.Millisecond)
		err := c.Deliver(try)
		cancel()
		if err == nil {
			return
		}
	}
}

// trouble kills, tears, fills and moves clocks for so long, and until so many have been killed in all.
func (w *town) trouble(lasts time.Duration, kills int) {
	names := w.services()
	for until := time.Now().Add(lasts); time.Now().Before(until) || w.kills < kills; {
		time.Sleep(time.Duration(50+w.rand.IntN(250)) * time.Millisecond)
		c := w.children[names[w.rand.IntN(len(names))]]
		if !c.alive() {
			w.revive(c, w.rand.IntN(2) == 0)
			continue
		}
		switch w.rand.IntN(5) {
		case 0:
			if w.full {
				w.fill(c)
			}
		default:
			if c.kill() {
				w.kills++
			}
			if w.rand.IntN(3) > 0 {
				w.revive(c, w.rand.IntN(2) == 0)
			}
		}
	}
}

// revive starts a child again, perhaps on a torn disk, perhaps to die at a failpoint.
func (w *town) revive(c *child, mortal bool) {
	if c.cmd != nil { // it has killed itself
		w.kills++
	}
	c.kill()
	if w.rand.IntN(2) == 0 {
		if err := tear(c.Dir, 1+w.rand.IntN(200)); err != nil {
			w.say("%s cannot be torn: %v", c.Name, err)
		}
	}
	os.Remove(filepath.Join(c.Dir, "filler"))
	c.Point = ""
	if mortal {
		points := failpoints[(&node{name: c.Name}).kind()]
		c.Point, c.Left = points[w.rand.IntN(len(points))], w.rand.IntN(3)
	}
	if err := c.start(); err != nil {
		w.violation("%v", err)
	}
}

// fill takes all room from a child's disk. Reviving it makes room again.
func (w *town) fill(c *child) {
	f, err := os.Create(filepath.Join(c.Dir, "filler"))
	if err != nil {
		w.say("%s cannot be filled: %v", c.Name, err)
		return
	}
	defer f.Close()
	piece := make([]byte, 1<<16)
	for err == nil {
		_, err = f.Write(piece)
	}
	w.say("%s: %v", c.Name, err)
}

// clocks sets all clocks to a time, or a few minutes beyond it.
func (w *town) clocks(to time.Time, jump bool) {
	for _, name := range w.services() {
		ahead := time.Until(to) + time.Minute
		if jump {
			ahead += time.Duration(w.rand.IntN(40)) * time.Minute
		}
		if err := writeClock(w.dir, name, ahead); err != nil {
			w.t.Fatal(err)
		}
	}
}

// heal gives everybody a new process, room, and links without faults.
func (w *town) heal() {
	for _, name := range w.services() {
		c := w.children[name]
		c.link.heal()
		w.revive(c, false)
	}
}

// takeLedgers takes down what devices believe was acknowledged.
func (w *town) takeLedgers() {
	for d := range w.shape.devices {
		l, err := client.ReadLedger(native.Folder{Path: filepath.Join(w.dir, deviceName(d))})
		if err != nil || len(l.Entries) != 1 {
			w.t.Fatalf("ledger of device %d: %v", d, err)
		}
		e := l.Entries[0]
		p := e.Parts[0]
		cell, _, err := counts.ParseMessage(p.Messages[0])
		if err != nil {
			w.t.Fatal(err)
		}
		w.said[[32]byte{byte(d)}] = &contribution{
			plan: w.signed.Plan.Hash(), who: deviceName(d), cell: int(cell), instance: uint16(p.Instance), crowd: uint32(e.Crowd),
			kept: p.Status == client.Sent, at: true,
		}
	}
}
