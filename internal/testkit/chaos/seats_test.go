package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/plan"
)

// seats are the roles of which three processes each stand on a database, behind one address.
var seats = []string{"leader", "helper", "issuer"}

// tokenKeys counts the keys that houses make, of all of this process: each has a file of its own among the issuer's.
var tokenKeys atomic.Int32

func newHouse(t *testing.T) *house {
	return furnish(t, seats, nil, shape{sum: true, tokens: true, hops: []int{0}, minimum: 2, devices: seatDevices, crowds: seatCrowds}, postgrestest.OwnDisk, "min_wal_size=32MB", "max_wal_size=64MB")
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
	for i := range aggregators { // a key of tokens signs for one plan
		h.ring.pair.tokens[i], err = token.GenerateKey()
		h.check(err)
		h.check(partykey.CreateTokens(filepath.Join(h.ring.keys("issuer"), fmt.Sprintf("house-%d.json", tokenKeys.Add(1))), h.ring.pair.tokens[i], "test"))
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
			dooms[seatName("helper", i)] = drawn(r, "kill", 1, "helper-verified", "rows/spend", "rows/spend/committed", "rows/add", "rows/add/committed", "helper-added", "rows/share", "rows/share/committed", "share-drawn")
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

// Three processes of a leader, of a helper and of an issuer stand on one PostgreSQL. Whatever
// befalls them: a person has one token and one report, however many processes they ask at once,
// what was acknowledged is in the sum once, every process gives the same sum, and one process at a time
// adds a shard up. Houses with a bug of those that processes beside each other have are caught.
func TestSeats(t *testing.T) {
	if testing.Short() {
		t.Skip("the processes would be this one, which the race detector slows down")
	}
	t.Parallel()
	h := newHouse(t)
	for seed := *firstSeed; seed < *firstSeed+uint64(*workerSeeds); seed++ {
		for _, one := range wards {
			if !h.try(t, fmt.Sprintf("%s, seed %d", one.name, seed), func(t *testing.T) {
				said := h.collect(one.draw(seed))
				for again := range uint64(5) { // what PostgreSQL has freed may be room enough, once
					if one.name == fullDisk && h.full.missed() {
						said = append(said, h.collect(one.draw(seed+again))...)
					}
				}
				for _, v := range slices.Concat(said, h.flips(), h.withdraw(patience)) {
					t.Error(v)
				}
				if h.full.why != nil {
					t.Log(h.full.why)
				} else if one.name == fullDisk {
					if t.Logf("%d were refused for want of room, and %d had to wait", h.full.refused, h.full.away); h.full.missed() {
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

// jobs counts how many of the last collection leaders have had verified.
func (h *house) jobs() (n int) {
	for i := range seatsOfARole {
		n += h.notes(seatName("leader", i), "jobs")
	}
	return n
}
