package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

const (
	seatsOfARole = 3
	seatDevices  = 10
	seatCrowds   = 2
)

// house is two aggregators and an issuer, each of three processes on a schema of one PostgreSQL.
type house struct {
	*fleet
	roles []string
	doors map[string]*link // by role: each connection leads to the next of its processes
	web   *http.Client
}

func seatName(role string, i int) string { return fmt.Sprint(role, "#", i) }

// furnish makes a house of three processes of each of some roles, and of others that are one, and starts it.
func furnish(t *testing.T, roles, single []string, s shape, settings ...string) *house {
	t.Helper()
	names := slices.Clone(single)
	for _, role := range roles {
		for i := range seatsOfARole {
			names = append(names, seatName(role, i))
		}
	}
	h := &house{fleet: muster(t, names, s, settings...), roles: roles, doors: map[string]*link{}}
	if len(single) > 0 {
		books := postgrestest.NewServer(t, "fsync=on")
		h.books = &books
	}
	own := *h.ring
	h.ring = &own
	h.web = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: h.authority.Pool()}}}
	t.Cleanup(h.web.CloseIdleConnections)
	for i, role := range roles {
		if s.apart && i > 0 {
			own := postgrestest.NewServer(t, append(settings, "fsync=on", "max_connections=300")...)
			h.apart[role] = &own
		}
		h.check(h.server(role).Schema(schemaOf(role)))
		door, err := newLink(seeded.New(1))
		h.check(err)
		door.healed = true
		t.Cleanup(door.close)
		h.doors[role] = door
		if role == logSeats {
			h.planLog = h.address(role)
		}
	}
	h.launch(func(string) bool { return true })
	for _, role := range roles {
		for i := range seatsOfARole {
			h.doors[role].others = append(h.doors[role].others, h.children[seatName(role, i)].link.listener.Addr().String())
		}
	}
	return h
}

// logSeats is the role of the public log, where several processes are one.
const logSeats = "log"

// schemaOf names the schema that the processes of a role share.
func schemaOf(role string) string { return strings.ReplaceAll(role, ".", "_") }

// address returns where a process listens, or behind one door all of a role.
func (h *house) address(name string) string {
	if door := h.doors[name]; door != nil {
		return "https://" + door.listener.Addr().String()
	}
	if c := h.children[name]; c != nil {
		return "https://" + c.link.listener.Addr().String()
	}
	return "https://127.0.0.1:1" // nobody: the analyzer is not what this is about
}

// ask makes a request of a process, or of a role; the problem is nil where it was done.
func (h *house) ask(name, method, path, mediaType, authorization string, body []byte) (answer []byte, problem *wire.Problem, err error) {
	r, err := http.NewRequest(method, h.address(name)+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("Authorization", authorization)
	r.Close = h.doors[name] != nil // each time another process
	res, err := h.web.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		h.full.hear(h.fleet, p.Code)
		return nil, p, nil
	}
	if answer, err = io.ReadAll(res.Body); err == nil && res.StatusCode == http.StatusAccepted {
		answer = nil
	}
	return answer, nil, err
}

// everywhere asks three variants of something of the three processes of a role at once, again
// and again until one is done and each other is refused with the code, and returns which are done.
func (h *house) everywhere(role string, taken wire.Code, ask func(name string, variant int) ([]byte, *wire.Problem, error)) (done map[int][]byte) {
	h.t.Helper()
	begin := time.Now()
	for ; time.Since(begin) < patience; time.Sleep(pause(begin)) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		decided := 0
		done = map[int][]byte{}
		for i := range seatsOfARole {
			wg.Go(func() {
				answer, p, err := ask(seatName(role, i), i)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && p == nil:
					done[i] = answer
					decided++
				case p != nil && p.Code == taken:
					decided++
				}
			})
		}
		wg.Wait()
		if decided == seatsOfARole && len(done) > 0 {
			return done
		}
	}
	h.t.Fatalf("of three requests to %s none is done for good", role)
	return nil
}

// withdraw brings one process of each role the withdrawal of the last collection, and returns which
// others go on with it when the time is over that they are given together.
func (h *house) withdraw(within time.Duration) (violations []string) {
	h.t.Helper()
	hash := h.signed.Plan.Hash()
	w, err := plan.Withdraw(plan.Withdrawal{Plan: hash, At: opens, Reason: "the wrong question"}, h.ring.publisher)
	h.check(err)
	for i, role := range h.roles {
		h.persist(func() error {
			_, p, err := h.ask(seatName(role, i), http.MethodPut, wire.WithdrawalPath(hash), wire.WithdrawalType, "", w.Marshal())
			if p != nil {
				err = p
			}
			return err
		})
	}
	deadline := time.Now().Add(within)
	for _, name := range h.names {
		if !strings.Contains(name, "#") {
			continue
		}
		refused := func() bool {
			if strings.HasPrefix(name, logSeats) { // which shows it
				text, p, err := h.ask(name, http.MethodGet, wire.LogPlanPath(hash), "", "", nil)
				return err == nil && p == nil && strings.Contains(string(text), plan.WithdrawalEntry)
			}
			_, p, err := h.ask(name, http.MethodGet, wire.PlanPath(hash), "", "", nil)
			return err == nil && p != nil && p.Code == wire.PlanWithdrawn
		}
		if !h.until(mishap{waits: max(time.Until(deadline), time.Second)}, refused) {
			violations = append(violations, name+" goes on with a plan that is withdrawn")
		}
	}
	return violations
}

var seatFlips = flag.Int("chaos.flips", 4, "bits that flip in each table of each shelf of a role, in TestSeats and TestHall")

// flips changes bits in each table of the roles' databases while no process of them runs, and returns which nobody
// finds. What was set aside says nothing to anybody, whatever flips in it.
func (h *house) flips() (violations []string) {
	h.t.Helper()
	for _, role := range h.roles {
		for i := range seatsOfARole {
			h.kill(seatName(role, i))
		}
	}
	h.persist(h.postgres.Alone) // what processes asked for last is done
	for _, role := range h.roles {
		keys, err := blob.OpenFolder(filepath.Join(h.dir, role+"-keys"))
		h.check(err)
		store, err := postgres.Open(h.t.Context(), postgres.Config{URL: h.postgres.In(schemaOf(role)), Keys: keys})
		h.check(err)
		checked := func(shelf string) error {
			s, err := store.Open(h.t.Context(), shelf)
			if err == nil {
				err = s.Check(h.t.Context())
			}
			return err
		}
		found := postgrestest.Flips(h.t, h.postgres.In(schemaOf(role)), *seatFlips, seeded.New(40), func(f postgrestest.Flip) {
			if err := checked(f.Shelf); f.Aside && err != nil || !f.Aside && !errors.Is(err, keep.ErrDamaged) {
				violations = append(violations, fmt.Sprintf("%s: %s: %v", role, f.What, err))
			}
		})
		h.t.Logf("%s: %v", role, found)
		names, err := store.List(h.t.Context())
		h.check(err)
		for _, name := range append(names, keep.Main) {
			h.check(checked(name))
		}
		h.check(store.Close())
	}
	for _, role := range h.roles {
		for i := range seatsOfARole {
			h.revive(seatName(role, i))
		}
	}
	return violations
}

// copied returns a copy of a database, made while it stands still.
func (h *house) copied(of *postgrestest.Server) string {
	h.t.Helper()
	to := of.Folder() + "-copy"
	h.whole.Cleanup(func() { os.RemoveAll(to) })
	h.check(of.Restart(false, func() {
		h.check(errors.Join(os.RemoveAll(to), exec.Command("cp", "-a", filepath.Join(of.Folder(), "data"), to).Run()))
	}))
	return to
}

// exchange puts a copy in the place of a database, and what was there elsewhere, while no process runs of the roles that
// are on it.
func (h *house) exchange(of *postgrestest.Server, from, to string, roles ...string) {
	h.t.Helper()
	data := filepath.Join(of.Folder(), "data")
	h.whole.Cleanup(func() { os.RemoveAll(to) })
	for _, role := range roles {
		for i := range seatsOfARole {
			h.kill(seatName(role, i))
		}
	}
	h.check(of.Restart(false, func() { h.check(errors.Join(os.Rename(data, to), os.Rename(from, data))) }))
	for _, role := range roles {
		for i := range seatsOfARole {
			h.revive(seatName(role, i))
		}
	}
}

// starts returns which processes of a role start on an older copy of their database.
func (h *house) starts(role string) (violations []string) {
	h.t.Helper()
	for i := range seatsOfARole {
		c := h.children[seatName(role, i)]
		refused := func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.errs != nil && strings.Contains(c.errs.String(), "older copy")
		}
		if !h.until(mishap{}, refused) || c.alive() {
			violations = append(violations, c.Name+" starts on an older copy of its database")
		}
	}
	return violations
}

// befall gives processes their dooms.
func (h *house) befall(m mishap) {
	for _, name := range h.names {
		h.doom(name, m.dooms[name])
	}
}

// answering does what is called for until it is told to stop. Then nothing more befalls anybody, or whoever called
// would wait in vain.
func (h *house) answering(m mishap) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			h.until(mishap{calls: m.calls, waits: 20 * time.Millisecond}, func() bool { return false })
			h.full.stay(h.fleet)
			for _, name := range h.names {
				for range h.notes(name, "full") {
					h.full.hear(h.fleet, wire.StorageFull)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		h.full.end(h.fleet)
		for _, name := range h.names {
			os.Remove(filepath.Join(h.dir, name+".dooms"))
			os.Remove(filepath.Join(h.dir, name+".calls"))
		}
	}
}

// full is the disk of a database, which is full until somebody is refused for it, whether a device or a neighbour, or a
// server that cannot go on without room has kept many waiting. The helper's first row of a plan needs a table, for which
// there is none.
type full struct {
	mu            sync.Mutex
	empty         func() error // gives the room back; nil: there is room
	refused, away int
	why           error // why it cannot be filled
}

func (d *full) fill(f *fleet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused, d.away = 0, 0
	d.empty, d.why = f.postgres.Fill()
}

// stay takes what has come free: PostgreSQL deletes files of tables that were dropped when it pleases.
func (d *full) stay(f *fleet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty != nil {
		f.postgres.Fill()
	}
}

// end gives the room back that nobody has missed.
func (d *full) end(f *fleet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty != nil {
		f.check(d.empty())
	}
	d.empty = nil
}

// missed reports whether a disk was full and nobody has noticed.
func (d *full) missed() bool { return d.why == nil && d.refused+d.away == 0 }

func (d *full) hear(f *fleet, code wire.Code) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty == nil {
		return
	}
	switch code {
	case wire.StorageFull:
		d.refused++
	case wire.Overloaded:
		d.away++
	}
	var err error
	switch {
	case d.refused >= 1:
		err = d.empty()
	case d.away >= 30:
		err = f.postgres.Restart(true, func() { err = d.empty() })
	default:
		return
	}
	d.empty = nil
	if err != nil {
		f.t.Error(err)
	}
}

// drawn draws a doom at one of some points.
func drawn(r *rand.Rand, do string, most int, points ...string) []doom {
	return []doom{{do, 1 + r.IntN(most), points[r.IntN(len(points))]}}
}

// sharedStore returns the store that a process shares with others; nil: it shares none.
func (s setting) sharedStore() (keep.Store, error) {
	if s.url == "" {
		return nil, nil
	}
	keys, err := blob.OpenFolder(s.keys)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Start(context.Background(), s.url, keys)
	if err != nil || s.twin == "" {
		return store, err
	}
	return &lonely{Store: store, bug: s.twin, suffix: strings.ReplaceAll(filepath.Base(s.dir), "#", "-")}, nil
}

// seat runs a process of a role that others of the same role stand beside.
func (o order) seat(role string, s setting, f *fates) error {
	s.twin = o.Station.Twin
	if o.Station.Slow == 0 {
		s.reports = 2 // a shard: several of each crowd
	}
	come := s.failpoint
	s.failpoint = func(name string) error {
		if name == "job-verified" {
			f.note("jobs")
			time.Sleep(o.Station.Slow)
		}
		return come(name)
	}
	p, err := launch(role, s)
	if err != nil {
		return err
	}
	return o.listen(p)
}
