package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	counts "github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// hall is two hops and a public log of three processes each, behind one address each and on one PostgreSQL, and an
// analyzer on another.
type hall struct {
	*house
	db   *rows.Store // the analyzer's, as this process reads it
	last *http.Client
}

var hopSeats = []string{hopName(0, 0), hopName(0, 1)}

const hallDevices = 10

func newHall(t *testing.T) *hall {
	t.Helper()
	h := &hall{house: furnish(t, append(hopSeats[:2:2], logSeats), []string{"analyzer"}, shape{hops: []int{2}, minimum: 3, devices: hallDevices, crowds: 2, logged: true})}
	var err error
	h.db, err = rows.Open(t.Context(), rows.Config{DSN: h.books.DSN()})
	h.check(err)
	t.Cleanup(func() { h.db.Close() })
	h.last, err = serve.Client(serve.Path(filepath.Join(h.dir, "roots.pem")))
	h.check(err)
	t.Cleanup(h.last.CloseIdleConnections)
	return h
}

// hallMishap is what befalls a hall beside the dooms of its processes.
type hallMishap struct {
	mishap
	between func(h *hall, d int)   // behind a device
	rotten  int                    // contributions that change on disk before the epoch ends
	early   bool                   // the epoch may end before its time
	after   func(h *hall) []string // when all is counted
}

// visit has a device send a contribution of its own to each process of the entry, and returns the cell that
// was acknowledged; negative: none, since the epoch is over.
func (h *hall) visit(d int, early bool, violate func(string, ...any)) (cell int) {
	hash, crowd := h.signed.Plan.Hash(), d%2
	bodies := map[int][]byte{}
	for i := range seatsOfARole {
		c, err := h.forge(i*maxDevices+d, 0, crowd)
		h.check(err)
		bodies[i] = c.Body
	}
	var mu sync.Mutex
	over, acknowledged := false, -1 // in whichever try: a later one may find the epoch over
	kept := h.everywhere(hopSeats[0], wire.AlreadyContributed, func(name string, i int) ([]byte, *wire.Problem, error) {
		answer, p, err := h.ask(name, http.MethodPut, wire.ContributionPath(hash, 0, wire.ContributionID(bodies[i])), wire.ContributionType, "Bearer "+h.ring.bearers[d], bodies[i])
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil && p == nil:
			acknowledged = i*maxDevices + d
		case early && p != nil && p.Code == wire.EpochOver:
			over = true
			return nil, nil, nil
		}
		return answer, p, err
	})
	if over {
		return acknowledged
	}
	if len(kept) > 1 {
		violate("device %d has %d contributions acknowledged", d, len(kept))
	}
	for i := range kept {
		cell = i*maxDevices + d
	}
	return cell
}

// collect runs a collection from its plan to its release while a mishap befalls the hall, and returns what must
// not have come of it.
func (h *hall) collect(m hallMishap) (violations []string) {
	h.t.Helper()
	violate := func(format string, a ...any) { violations = append(violations, fmt.Sprintf(format, a...)) }
	defer h.answering(m.mishap)()
	begin := opens.Add(time.Duration(h.begun) * 6 * time.Hour)
	h.begun++
	h.fleet.at(begin.Add(time.Minute))
	var err error
	h.signed, err = h.ring.plan(fmt.Sprint("hall ", h.begun), h.shape, h.address, plan.Times{Opens: begin, Closes: begin.Add(time.Hour)})
	h.check(err)
	h.proto, err = protocol.New(h.signed.Plan)
	h.check(err)
	h.persist(func() error {
		_, err := serve.PutIntoLog(h.t.Context(), h.last, h.address(logSeats), h.signed)
		return err
	})
	for i, role := range hopSeats { // one process of each is told, another one each time
		h.persist(func() error { return h.registerWith(h.children[seatName(role, (h.begun+i)%seatsOfARole)]) })
	}
	h.persist(func() error { return h.registerWith(h.children["analyzer"]) })
	h.befall(m.mishap)
	wanted := []map[int]bool{{}, {}}
	for d := range hallDevices {
		if cell := h.visit(d, m.early, violate); cell >= 0 {
			wanted[d%2][cell] = true
		}
		if m.between != nil {
			m.between(h, d)
		}
	}
	h.fleet.at(h.signed.Plan.Times.Closes.Add(time.Minute))
	var batches []rows.Batch
	if !h.until(mishap{waits: m.waits}, func() bool {
		batches, err = h.db.Batches(context.Background(), h.signed.Plan.Name())
		return err == nil && len(batches) == len(wanted)
	}) {
		violate("of %d crowds %d have come to their end", len(wanted), len(batches))
		return violations
	}
	missing := 0
	for _, b := range batches {
		var kept []byte
		h.persist(func() (err error) { kept, err = h.db.Tally(context.Background(), b); return err })
		t := h.proto.NewTally().(*counts.Counts)
		h.check(t.UnmarshalBinary(kept))
		for cell, n := range t.N {
			switch acknowledged := wanted[b.Crowd][cell]; {
			case acknowledged && n == 0:
				missing++
			case n > 1 || n > 0 && !acknowledged:
				violate("cell %d of crowd %d is counted %d times, acknowledged: %t", cell, b.Crowd, n, acknowledged)
			}
		}
	}
	said := 0
	h.until(mishap{}, func() bool { said = h.lost(); return said == m.rotten }) // a process reads the marks of others each second
	if missing != m.rotten || said != m.rotten {
		violate("%d acknowledged contributions are not counted, the hop says of %d that they were set aside, and %d have changed", missing, said, m.rotten)
	}
	if m.after != nil {
		violations = append(violations, m.after(h)...)
	}
	h.fleet.at(h.signed.Plan.Times.Closes.Add(2 * time.Hour))
	if !h.until(mishap{}, func() bool { return h.release() != nil }) {
		violate("there is no release")
	} else {
		violations = append(violations, h.logs()...)
	}
	return violations
}

// lost is how many contributions the entry says that it has set aside.
func (h *hall) lost() (n int) {
	h.t.Helper()
	h.persist(func() error {
		text, p, err := h.ask(hopSeats[0], http.MethodGet, wire.StatusPath(h.signed.Plan.Hash()), "", "", nil)
		if p != nil {
			err = p
		}
		var all []struct{ Lost string }
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err == nil && len(all) == 1 && all[0].Lost != "" {
			_, err = fmt.Sscan(all[0].Lost, &n)
		}
		return err
	})
	return n
}

// logs wants the plan and its release in the log, once each.
func (h *hall) logs() []string {
	has := map[string]int{}
	h.persist(func() error {
		text, p, err := h.ask(logSeats, http.MethodGet, wire.LogPlanPath(h.signed.Plan.Hash()), "", "", nil)
		if p != nil {
			err = p
		}
		var all []relay.LogEntry
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		clear(has)
		for _, e := range all {
			has[e.Kind]++
		}
		if err == nil && has["release"] == 0 {
			err = errors.New("chaos: the release does not stand in the log yet")
		}
		return err
	})
	if has["plan"] != 1 || has["release"] != 1 || len(has) != 2 {
		return []string{fmt.Sprintf("the log has %v", has)}
	}
	return nil
}

// execute changes what the hops have in their database.
func (h *hall) execute(role, statement string) {
	h.t.Helper()
	h.persist(func() error {
		db, err := sql.Open("pgx", h.postgres.In(schemaOf(role)))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Exec(statement)
		return err
	})
}

// rot changes a bit of the newest contribution.
func (h *hall) rot() {
	h.execute(hopSeats[0], `DO $$ DECLARE s text := (SELECT 'confetti_s' || number FROM confetti_shelves WHERE shelf LIKE 'in-%' AND tabled AND state < 2 ORDER BY number DESC LIMIT 1);
		BEGIN EXECUTE format('UPDATE %I SET v = set_bit(v, 300, 1 - get_bit(v, 300)) WHERE n = (SELECT max(n) FROM %1$I)', s); END $$`)
}

// setAside sets aside what is damaged of the newest inbox, as a process does when the epoch ends.
func (h *hall) setAside() {
	h.t.Helper()
	keys, err := blob.OpenFolder(filepath.Join(h.dir, hopSeats[0]+"-keys"))
	h.check(err)
	store, err := postgres.Open(h.t.Context(), postgres.Config{URL: h.postgres.In(schemaOf(hopSeats[0])), Keys: keys})
	h.check(err)
	_, err = store.SetAside(h.t.Context(), fmt.Sprintf("in-%s_0_0", h.signed.Plan.Name()))
	h.check(errors.Join(err, store.Close()))
}

// halls are what befalls a hall, each drawn from a seed.
var halls = []struct {
	name string
	draw func(seed uint64) hallMishap
}{
	{"processes of a hop, of the log and the analyzer are killed", func(seed uint64) hallMishap {
		r := seeded.New(seed, 30)
		dooms := map[string][]doom{"analyzer": drawn(r, "kill", 1, "manifest-kept", "part-dealt", "batch-dealt", "batch-opened", "rows/count", "rows/count/committed", "shard-counted")}
		for i := range seatsOfARole {
			dooms[seatName(hopSeats[0], i)] = append(drawn(r, "kill", 3, "contribution-kept"), drawn(r, "kill", 1, "epoch-marked", "epoch-sealed", "parts-written", "parts-marked", "step-done", "epoch-mixed", "outbox-written", "mixed", "parts-purged", "part-sent", "next-acknowledged", "forwarded")...)
			dooms[seatName(logSeats, i)] = drawn(r, "kill", 1, "entered", "checkpoint signed")
			dooms[seatName(hopSeats[1], i)] = drawn(r, "kill", 1, "manifest-kept", "part-kept", "batch-kept", "parts-written", "parts-marked", "step-done", "outbox-written", "mixed", "part-sent", "next-acknowledged", "forwarded")
		}
		return hallMishap{mishap: mishap{dooms: dooms}}
	}},
	{"the database of the hops goes away", func(seed uint64) hallMishap {
		r, times := seeded.New(seed, 31), int(seed)
		return hallMishap{mishap: mishap{
			dooms: map[string][]doom{
				seatName(hopSeats[0], 0): append(drawn(r, "call", 3, "contribution-kept"), drawn(r, "call", 1, "epoch-marked", "parts-written", "step-done", "outbox-written", "next-acknowledged")...),
				seatName(hopSeats[0], 1): drawn(r, "call", 4, "contribution-kept"),
				seatName(hopSeats[1], 0): drawn(r, "call", 1, "part-kept", "batch-kept", "outbox-written"),
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
		}}
	}},
	{"a contribution rots in the database", func(seed uint64) hallMishap {
		at := int(seed) % hallDevices
		return hallMishap{rotten: 1, between: func(h *hall, d int) {
			if d == at {
				h.rot()
			}
		}}
	}},
	{"bits flip in every table", func(uint64) hallMishap {
		return hallMishap{rotten: 1, between: func(h *hall, d int) {
			if d < hallDevices-1 {
				return
			}
			h.rot()
			h.setAside()
			for _, v := range h.flips() {
				h.t.Error(v)
			}
		}, after: func(h *hall) []string { return h.flips() }}
	}},
	{"the clock of one process is ahead", func(seed uint64) hallMishap {
		at, who := hallDevices-3+int(seed)%2, seatName(hopSeats[0], int(seed)%seatsOfARole)
		return hallMishap{early: true, between: func(h *hall, d int) {
			if d == at {
				h.check(writeClock(h.dir, who, 2*time.Hour))
			}
		}, after: func(h *hall) []string {
			h.check(os.Remove(filepath.Join(h.dir, who+".clock")))
			return nil
		}}
	}},
	{"the database of the hops is put back as it was", func(uint64) hallMishap {
		var older string
		return hallMishap{between: func(h *hall, d int) {
			if d == hallDevices-1 {
				older = h.copied(&h.postgres)
			}
		}, after: func(h *hall) []string { return h.putBack(older) }}
	}},
}

// putBack puts an older copy in the place of the hops' database, and says which processes start on it of the hop
// whose next one is not on it too. Then it puts the newest back.
func (h *hall) putBack(older string) (violations []string) {
	h.t.Helper()
	newest := older + "-newest"
	h.exchange(&h.postgres, older, newest, hopSeats...)
	violations = h.starts(hopSeats[1])
	h.exchange(&h.postgres, newest, older, hopSeats...)
	return violations
}

// Three processes of an entry, of the hop behind it and of a log stand on one PostgreSQL, with an analyzer. Whatever
// befalls them: a person has one contribution, however many processes they ask at once, what was acknowledged is
// counted once, or was set aside and is said to be, and a release stands in the log once.
func TestHall(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	t.Parallel()
	h := newHall(t)
	for seed := *firstSeed; seed < *firstSeed+uint64(*workerSeeds); seed++ {
		for _, one := range halls {
			if !h.try(t, fmt.Sprintf("%s, seed %d", one.name, seed), func(t *testing.T) {
				m := one.draw(seed)
				for _, v := range append(h.collect(m), h.withdraw(patience)...) {
					t.Error(v)
				}
				if n := h.met(); n == 0 && len(m.dooms) > 0 {
					t.Error("nothing befell anybody")
				}
			}) {
				return
			}
		}
	}
	for _, twin := range []struct{ name, role, want string }{
		{inMemory, hopSeats[0], "has [23] contributions acknowledged"},
		{unheard, hopSeats[1], regexp.QuoteMeta(hopSeats[1]) + "#[02] goes on with a plan that is withdrawn"},
		{stubborn, hopSeats[0], "of 2 crowds [01] have come to their end"},
	} {
		if !h.try(t, twin.name, func(t *testing.T) {
			m := hallMishap{}
			if twin.name == stubborn {
				m.waits, m.between = 10*time.Second, func(h *hall, d int) {
					if d == 0 {
						h.rot()
					}
				}
			}
			for _, role := range hopSeats {
				for i := range seatsOfARole {
					bug := ""
					if role == twin.role {
						bug = twin.name
					}
					h.become(bug, seatName(role, i))
				}
			}
			said := append(h.collect(m), h.withdraw(patienceWith(twin.name))...)
			t.Logf("%q", said)
			if !slices.ContainsFunc(said, func(v string) bool { return regexp.MustCompile(twin.want).MatchString(v) }) {
				t.Error("it is not caught")
			}
		}) {
			return
		}
	}
}
