package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// seats are the roles of which three processes each stand on a database, behind one address.
var seats = []string{"leader", "helper", "issuer"}

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

func newHouse(t *testing.T) *house {
	return furnish(t, seats, nil, shape{sum: true, tokens: true, hops: []int{0}, minimum: 2, devices: seatDevices, crowds: seatCrowds}, postgrestest.OwnDisk, "min_wal_size=32MB", "max_wal_size=64MB")
}

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
	h.web = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: h.authority.Pool()}, DisableKeepAlives: true}}
	for _, role := range roles {
		h.check(h.postgres.Schema(schemaOf(role)))
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

// address is where a process listens, or behind one door all of a role.
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

// everywhere has three variants of something asked of the three processes of a role at once, again
// and again until one is done and each other is refused with the code, and returns which are done.
func (h *house) everywhere(role string, taken wire.Code, ask func(name string, variant int) ([]byte, *wire.Problem, error)) (done map[int][]byte) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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

// visit is what a device does, in the worst way that it can: it asks each process of the issuer
// for another token, and sends each process of the leader another report with what it has got. It
// returns the cell that was acknowledged.
func (h *house) visit(d int, violate func(string, ...any)) (cell int) {
	hash, bearer := h.signed.Plan.Hash(), "Bearer "+h.ring.bearers[d]
	requests := map[int][]*token.Request{}
	bodies := map[int][]byte{}
	for i := range seatsOfARole {
		var asks tokenwire.Request
		for hop := range aggregators {
			q, err := token.NewRequest(token.Seed{byte(d), byte(i), 7}, h.ring.pair.tokens[hop].Public(), token.Context{Plan: hash, Hop: uint8(hop)})
			h.check(err)
			requests[i] = append(requests[i], q)
			asks.Asks = append(asks.Asks, tokenwire.Ask{Hop: uint8(hop), Blinded: q.Blinded})
		}
		bodies[i] = asks.Marshal()
	}
	signed := h.everywhere("issuer", wire.TokenIssued, func(name string, i int) ([]byte, *wire.Problem, error) {
		return h.ask(name, http.MethodPost, wire.TokensPath(hash), wire.TokenRequestType, bearer, bodies[i])
	})
	if len(signed) > 1 {
		violate("device %d has got %d tokens", d, len(signed))
	}
	which := slices.Min(slices.Collect(maps.Keys(signed)))
	response, err := tokenwire.ParseResponse(signed[which])
	h.check(err)
	var tokens [][]byte
	for i, q := range requests[which] {
		made, err := q.Finish(response.Answers[i])
		h.check(err)
		tokens = append(tokens, made)
	}
	t := h.task(d % seatCrowds)
	reports := map[int][]byte{}
	for i := range seatsOfARole {
		vector := make([]uint64, h.signed.Plan.Route.Sum.Circuit.Length)
		vector[i*maxDevices+d] = 1
		report, err := t.Report(rng.New(), vector, h.signed.Plan.Times.Opens, tokens[1])
		h.check(err)
		reports[i] = report.Append(nil)
	}
	kept := h.everywhere("leader", wire.AlreadyContributed, func(name string, i int) ([]byte, *wire.Problem, error) {
		return h.ask(name, http.MethodPost, dap.ReportsPath(t.ID), dap.UploadType, tokenwire.Authorization(tokens[0]), reports[i])
	})
	if len(kept) > 1 {
		violate("device %d has %d reports acknowledged", d, len(kept))
	}
	return slices.Min(slices.Collect(maps.Keys(kept)))*maxDevices + d
}

// collect runs a collection from its plan to its sums while a mishap befalls the house, and
// returns what must not have come of it.
func (h *house) collect(m mishap) (violations []string) {
	h.t.Helper()
	var mu sync.Mutex
	violate := func(format string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		violations = append(violations, fmt.Sprintf(format, a...))
	}
	defer h.answering(m)()
	begin := opens.Add(time.Duration(h.begun) * 6 * time.Hour)
	h.begun++
	h.fleet.at(begin.Add(time.Minute))
	var err error
	for i, name := range aggregators { // a key of tokens signs for one plan
		h.ring.pair.tokens[i], err = token.GenerateKey()
		h.check(err)
		h.check(partykey.CreateTokens(filepath.Join(h.ring.keys("issuer"), fmt.Sprintf("house-%d-%s.json", h.begun, name)), h.ring.pair.tokens[i], "test"))
	}
	h.signed, err = h.ring.sumPlan(fmt.Sprint("house ", h.begun), h.shape, h.address, plan.Times{Opens: begin, Closes: begin.Add(time.Hour)})
	h.check(err)
	for i, role := range seats { // one process of each is told, another one each time
		name := seatName(role, (h.begun+i)%seatsOfARole)
		h.persist(func() error {
			_, p, err := h.ask(name, http.MethodPut, wire.PlanPath(h.signed.Plan.Hash()), wire.SignedPlanType, "Bearer "+h.ring.operator, h.signed.Marshal())
			if p != nil {
				err = p
			}
			return err
		})
	}
	h.befall(m)
	wanted := make([]map[int]bool, seatCrowds)
	for d := range seatDevices {
		if c := d % seatCrowds; wanted[c] == nil {
			wanted[c] = map[int]bool{}
		}
		wanted[d%seatCrowds][h.visit(d, violate)] = true
	}
	h.fleet.at(h.signed.Plan.Times.Closes.Add(time.Minute))
	for c := range seatCrowds {
		var first []byte
		for i := range seatsOfARole { // each process has the same
			name, body := seatName("leader", i), dap.CollectionReq{}.Marshal()
			var answer []byte
			h.persist(func() (err error) {
				var p *wire.Problem
				answer, p, err = h.ask(name, http.MethodPost, dap.CollectionPath(h.task(c).ID), dap.CollectionType, "", body)
				if p != nil {
					err = p
				}
				if err == nil && answer == nil {
					err = errors.New("chaos: it is not added up yet")
				}
				return err
			})
			if first != nil && !bytes.Equal(first, answer) {
				violate("%s gives the analyzer another sum of crowd %d", name, c)
			}
			first = answer
		}
		collected, err := dap.ParseCollected(first)
		h.check(err)
		sums, err := h.task(c).Open(h.ring.analyzer, collected)
		h.check(err)
		if int(collected.Reports) != len(wanted[c]) {
			violate("the sum of crowd %d has %d reports, and %d were acknowledged", c, collected.Reports, len(wanted[c]))
		}
		for cell, n := range sums {
			if want := int64(0); n != want && !wanted[c][cell] || n != 1 && wanted[c][cell] {
				violate("cell %d of crowd %d is counted %d times", cell, c, n)
			}
		}
	}
	return violations
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

// flips has bits flip in each table of the roles' databases while no process of them runs, and returns which nobody
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
		}
	}()
	return func() {
		cancel()
		<-ended
		for _, name := range h.names {
			os.Remove(filepath.Join(h.dir, name+".dooms"))
			os.Remove(filepath.Join(h.dir, name+".calls"))
		}
	}
}

// wards are what befalls a house, each drawn from a seed.
var wards = []struct {
	name string
	draw func(seed uint64) mishap
}{
	// Processes of every role end by signal 9 at steps of theirs.
	{"processes of a role are killed", func(seed uint64) mishap {
		r := seeded.New(seed, 20)
		dooms := map[string][]doom{}
		for i := range seatsOfARole {
			dooms[seatName("leader", i)] = append(drawn(r, "kill", 3, "reports-kept", "rows/take", "rows/take/committed"),
				drawn(r, "kill", 1, "rows/close", "rows/close/committed", "rows/jobs", "rows/jobs/committed", "job-verified", "rows/add", "rows/add/committed", "rows/share", "rows/share/committed", "share-drawn", "helper-shared", "sum-ready", "rows/forget", "rows/forget/committed")...)
			dooms[seatName("helper", i)] = drawn(r, "kill", 1, "helper-verified", "rows/add", "rows/add/committed", "helper-added", "rows/share", "rows/share/committed", "share-drawn")
			dooms[seatName("issuer", i)] = append(drawn(r, "kill", 4, "before mark", "after mark"), drawn(r, "kill", 3, "before mark", "after mark")...)
		}
		return mishap{dooms: dooms}
	}},
	// PostgreSQL cuts all connections, is stopped, and is killed, and starts again.
	{"the database of a role goes away", func(seed uint64) mishap {
		r := seeded.New(seed, 21)
		times := int(seed)
		return mishap{
			dooms: map[string][]doom{
				"leader#0": append(drawn(r, "call", 3, "reports-kept", "rows/take/committed"), drawn(r, "call", 1, "rows/jobs", "job-verified", "rows/add/committed", "share-drawn")...),
				"leader#1": drawn(r, "call", 1, "rows/jobs/committed", "job-verified", "rows/add", "rows/share", "helper-shared"),
				"helper#0": drawn(r, "call", 1, "helper-verified", "rows/add/committed"), "helper#1": drawn(r, "call", 1, "helper-verified", "rows/share"),
				"issuer#0": drawn(r, "call", 3, "before mark", "after mark"),
			},
			calls: func(f *fleet, who string) {
				var err error
				switch times++; times % 3 {
				case 1:
					err = f.postgres.Terminate()
				case 2:
					err = f.postgres.Restart(false, func() {})
				default:
					err = f.postgres.Restart(true, func() {})
				}
				if err != nil {
					f.t.Error(err)
				}
			},
		}
	}},
	// The disk of PostgreSQL is full for a while.
	{fullDisk, func(seed uint64) mishap {
		return mishap{dooms: map[string][]doom{"leader#0": {{"call", 1 + int(seed)%3, "reports-kept"}}}, calls: func(f *fleet, _ string) { f.full.fill(f) }}
	}},
}

const fullDisk = "the database's disk is full"

// full is the disk of a database, which is full until some have been refused for it, or a server that cannot go on
// without room has kept many waiting.
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
	case d.refused >= 3:
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

// Three processes of a leader, of a helper and of an issuer stand on one PostgreSQL. Whatever
// befalls them: a person has one token and one report, however many processes they ask at once,
// what was acknowledged is in the sum once, every process gives the same sum, and one process adds
// a plan up. Houses with a bug of those that processes beside each other have are caught.
func TestSeats(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	t.Parallel()
	h := newHouse(t)
	for seed := *firstSeed; seed < *firstSeed+uint64(*workerSeeds); seed++ {
		for _, one := range wards {
			if !h.try(t, fmt.Sprintf("%s, seed %d", one.name, seed), func(t *testing.T) {
				for _, v := range slices.Concat(h.collect(one.draw(seed)), h.flips(), h.withdraw(patience)) {
					t.Error(v)
				}
				if h.full.why != nil {
					t.Log(h.full.why)
				} else if one.name == fullDisk {
					if t.Logf("%d were refused for want of room, and %d had to wait", h.full.refused, h.full.away); h.full.refused+h.full.away == 0 {
						t.Error("nobody has met the full disk")
					}
				}
				if n := h.met(); n == 0 {
					t.Error("nothing befell anybody")
				} else {
					t.Logf("%d things befell processes", n)
				}
			}) {
				return
			}
		}
	}
	for _, twin := range seatTwins {
		if !h.try(t, twin.name, func(t *testing.T) {
			h.slow = twin.role == "" || twin.name == leaseIgnored
			defer func() { h.slow = false }()
			for _, role := range seats {
				for i := range seatsOfARole {
					bug := ""
					if role == twin.role {
						bug = twin.name
					}
					h.become(bug, seatName(role, i))
				}
			}
			said := h.collect(mishap{})
			if n := h.jobs(); n != seatCrowds {
				said = append(said, fmt.Sprintf("%d jobs of %d crowds were done", n, seatCrowds))
			}
			said = append(said, h.withdraw(patienceWith(twin.name))...)
			t.Logf("%q", said)
			if twin.want == "" && len(said) > 0 || !slices.ContainsFunc(append(said, ""), func(v string) bool { return regexp.MustCompile(twin.want).MatchString(v) }) {
				t.Error("caught wrongly, or not at all")
			}
		}) {
			return
		}
	}
}

// jobs is how many of the last collection leaders have had verified.
func (h *house) jobs() (n int) {
	for i := range seatsOfARole {
		n += h.notes(seatName("leader", i), "jobs")
	}
	return n
}

const (
	leaseIgnored = "a lease that is ignored"
	inMemory     = "a duplicate is looked for in memory alone"
	unheard      = "what others have withdrawn is not read"
	stubborn     = "nothing is set aside"
)

// patienceWith returns how long a withdrawal is waited for: where nobody reads it, nothing comes of waiting.
func patienceWith(twin string) time.Duration {
	if twin == unheard {
		return 5 * time.Second
	}
	return patience
}

var seatTwins = []struct{ name, role, want string }{
	{"none: what takes longer than a lease is held by one process all the while", "", ""},
	{leaseIgnored, "leader", "[3-9] jobs of 2 crowds"},
	{inMemory, "leader", "has [23] reports acknowledged"},
	{inMemory, "issuer", "has got [23] tokens"},
	{unheard, "helper", "helper#[02] goes on with a plan that is withdrawn"},
}

// sharedStore is the store that a process shares with others; nil: it shares none.
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

// seat is a process of a role that others of the same role stand beside.
func (o order) seat(role string, s setting, f *fates) error {
	s.twin = o.Station.Twin
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

// lonely is the store of a process with a bug: it leaves others out.
type lonely struct {
	keep.Store
	bug, suffix string
}

func (l *lonely) Open(ctx context.Context, shelf string) (keep.Shelf, error) {
	if l.bug == leaseIgnored && shelf == "steps" {
		shelf += "-" + l.suffix
	}
	s, err := l.Store.Open(ctx, shelf)
	return l.around(shelf, s), err
}

func (l *lonely) Create(ctx context.Context, shelf string) (keep.Shelf, error) {
	if l.bug == leaseIgnored && shelf == "steps" {
		shelf += "-" + l.suffix
	}
	s, err := l.Store.Create(ctx, shelf)
	return l.around(shelf, s), err
}

func (l *lonely) SetAside(ctx context.Context, shelf string) (keep.Shelf, error) {
	if l.bug == stubborn {
		return nil, keep.ErrDamaged
	}
	return l.Store.SetAside(ctx, shelf)
}

func (l *lonely) around(name string, s keep.Shelf) keep.Shelf {
	switch {
	case l.bug == unheard && name == keep.Main:
		return deaf{s}
	case l.bug != inMemory || s == nil || name == keep.Main:
		return s
	}
	return &forgetful{Shelf: s, suffix: l.suffix}
}

// deaf is a main shelf on which no withdrawal is found.
type deaf struct{ keep.Shelf }

func (d deaf) Each(ctx context.Context, t keep.Table, prefix string, fn func(key string, value []byte) error) error {
	if t == 3 {
		return nil
	}
	return d.Shelf.Each(ctx, t, prefix, fn)
}

// forgetful is a shelf in whose first table a process finds what it has written itself alone.
type forgetful struct {
	keep.Shelf
	suffix string
}

func (f *forgetful) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	if t == 1 {
		key += f.suffix
	}
	return f.Shelf.Get(ctx, t, key)
}

func (f *forgetful) Insert(ctx context.Context, rows ...keep.Row) (bool, error) {
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].Table == 1 {
			rows[i].Key += f.suffix
		}
	}
	return f.Shelf.Insert(ctx, rows...)
}
