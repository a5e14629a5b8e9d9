package aggregated

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	code := postgrestest.Main(m, "fsync=on")
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	minimum = 3
	cells   = 4
	devices = 12 // that have a bearer token
)

var errKilled = errors.New("killed")

// world is the two aggregators of a plan, and a network that is a function call.
type world struct {
	t         testing.TB
	dir       string
	plan      plan.Plan
	signed    plan.Signed
	publisher ed25519.PrivateKey
	analyzer  envelope.PrivateKey
	tokens    []string // bearer tokens
	random    *rand.Rand

	mu        sync.Mutex
	now       time.Time
	failpoint func(role dap.Role, name string) error
	// meddle stands between the leader and the helper: it sends a request on as often as it
	// likes, or not, and gives the answer.
	meddle func(r *http.Request, send func() *http.Response) (*http.Response, error)
	pair   map[dap.Role]aggregator.Pair
	// atAnalyzer is the plan's analyzer; nil: it is out of reach.
	atAnalyzer func(r *http.Request) *http.Response

	jobs      int // of a shard
	databases map[dap.Role]string
	blobs     blob.Store                  // where bodies of reports lie; nil: in the leader's database
	around    func(keep.Store) keep.Store // what services see of their stores; nil: them
	nodes     map[dap.Role]*node
}

// database is a new one's place: a folder, but for tests on PostgreSQL.
var database = func(t testing.TB) string { return filepath.Join(t.TempDir(), "shelves") }

// open opens what is at such a place.
func open(place string) (keep.Store, error) {
	if strings.Contains(place, "://") || strings.Contains(place, "=") {
		return postgres.Start(context.Background(), place, nil)
	}
	if err := shelves.Make(place); err != nil && !errors.Is(err, keep.ErrExists) {
		return nil, err
	}
	return shelves.Folder(place, serve.Common{}, true)
}

// reportsIn is where bodies of reports lie of a new world; nil: in its database.
var reportsIn = func(testing.TB) blob.Store { return nil }

// node is a running service.
type node struct {
	store   keep.Store
	service *Service
	server  *serve.Server
	stop    func()
}

func newWorld(t testing.TB, change func(*plan.Plan)) *world {
	t.Helper()
	return makeWorld(t, change, nil)
}

// makeWorld is newWorld whose services see their stores through another one.
func makeWorld(t testing.TB, change func(*plan.Plan), around func(keep.Store) keep.Store) *world {
	t.Helper()
	w := &world{t: t, around: around, blobs: reportsIn(t), jobs: 100, dir: t.TempDir(), now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), random: seeded.New(17), nodes: map[dap.Role]*node{}, databases: map[dap.Role]string{}, pair: map[dap.Role]aggregator.Pair{}}
	var err error
	if w.analyzer, err = envelope.GenerateKey(envelope.X25519); err != nil {
		t.Fatal(err)
	}
	_, publish, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	route := &plan.Sum{
		Leader: w.party(dap.Leader), Helper: w.party(dap.Helper), Wire: plan.WireDAP18, Proof: plan.ProofPrio3,
		Circuit: plan.Circuit{Kind: plan.CircuitHistogram, Length: cells}, Chunk: 2, Noise: plan.NoiseDevices,
	}
	w.plan = plan.Plan{
		Version: plan.Version, Title: "test",
		Question: plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "colour", Kind: "categories", Values: []string{"red", "green", "blue", "none"}}},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"},
		Crowd:     plan.Crowd{Minimum: minimum},
		Envelopes: plan.Envelopes{Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: plan.RouteSum, Sum: route},
		Analyzer:  plan.Party{Operator: "analyzer", Key: w.analyzer.Public().String(), URL: "https://analyzer.test", Releases: example.Releaser},
		Times:     plan.Times{Opens: w.now.Add(-time.Hour), Closes: w.now.Add(time.Hour)},
	}
	if change != nil {
		change(&w.plan)
	}
	if err := w.plan.Validate(); err != nil {
		t.Fatal(err)
	}
	w.signed, w.publisher = plan.Sign(w.plan, publish), publish
	names := make([]string, devices)
	for d := range names {
		names[d] = fmt.Sprint("device", d)
	}
	if w.tokens, err = serve.AddBearers(w.random, filepath.Join(w.dir, "bearers"), names...); err != nil {
		t.Fatal(err)
	}
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		w.pair[role] = aggregator.NewPair([32]byte{1})
		w.databases[role] = database(t)
		w.start(role)
		if err := w.nodes[role].service.Load(t.Context(), w.signed); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for role := range w.nodes {
			w.kill(role)
		}
	})
	return w
}

// party has keys of its own.
func (w *world) party(role dap.Role) plan.Party {
	w.t.Helper()
	open, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		w.t.Fatal(err)
	}
	sign, err := relay.GenerateSignKey()
	if err != nil {
		w.t.Fatal(err)
	}
	keys := w.keys(role)
	if err := errors.Join(
		os.MkdirAll(keys, 0o700),
		partykey.CreateOpening(filepath.Join(keys, "open.json"), open, "test"),
		partykey.CreateSigning(filepath.Join(keys, "sign.json"), sign, "test"),
	); err != nil {
		w.t.Fatal(err)
	}
	return plan.Party{Operator: fmt.Sprint("operator ", role), Key: open.Public().String(), URL: fmt.Sprintf("https://party%d.test", role), Receipts: sign.Public().String()}
}

func (w *world) keys(role dap.Role) string { return filepath.Join(w.dir, fmt.Sprint("keys", role)) }

// start brings an aggregator up on what it left on disk.
func (w *world) start(role dap.Role) {
	w.t.Helper()
	fail := func(name string) error {
		w.mu.Lock()
		fail := w.failpoint
		w.mu.Unlock()
		if fail == nil {
			return nil
		}
		return fail(role, name)
	}
	kept, err := open(w.databases[role])
	if err != nil {
		w.t.Fatal(err)
	}
	seen := kept
	if w.around != nil {
		seen = w.around(kept)
	}
	s, server := w.process(role, seen, 0, fail)
	w.nodes[role] = &node{kept, s, server, func() { kept.Close() }}
}

// process is an aggregator on a store, which it shares where it has a lease.
func (w *world) process(role dap.Role, store keep.Store, lease time.Duration, fail func(string) error) (*Service, *serve.Server) {
	w.t.Helper()
	bearers, err := serve.ReadBearers(filepath.Join(w.dir, "bearers"))
	if err != nil {
		w.t.Fatal(err)
	}
	var blobs blob.Store
	if role == dap.Leader {
		blobs = w.blobs
	}
	s, err := New(context.Background(), Options{
		Blobs:  blobs,
		Common: serve.Common{Keys: w.keys(role), Client: &http.Client{Transport: w}, Now: w.time, Failpoint: fail},
		Role:   role, Store: store, Publishers: serve.Trust(w.signed.Signers()...), Pair: w.pair[role], Bearers: bearers,
		Limits: serve.Visits{Rate: 1e6, Burst: 1e6}, Lease: lease,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	s.most, s.shard = 4, w.jobs // jobs of a few reports
	server, err := serve.New(serve.Config{Name: s.Role(), Routes: s.Routes(), Ready: s.Ready, Status: s.Status, Private: private, Visited: visited, Handed: handed})
	if err != nil {
		w.t.Fatal(err)
	}
	return s, server
}

// kill ends an aggregator; what is not on disk is gone.
func (w *world) kill(role dap.Role) {
	if n := w.nodes[role]; n != nil {
		n.stop()
		delete(w.nodes, role)
	}
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// close lets the plan's time pass.
func (w *world) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.plan.Times.Closes
}

// RoundTrip is the network.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	send := func() *http.Response {
		rec := httptest.NewRecorder()
		in := r.Clone(r.Context())
		in.RequestURI, in.Body, in.ContentLength = r.URL.RequestURI(), io.NopCloser(bytes.NewReader(body)), int64(len(body))
		var role dap.Role
		if _, err := fmt.Sscanf(r.URL.Host, "party%d.test", &role); err != nil || w.nodes[role] == nil {
			return nil
		}
		w.nodes[role].server.ServeHTTP(rec, in)
		return rec.Result()
	}
	w.mu.Lock()
	meddle := w.meddle
	w.mu.Unlock()
	if meddle != nil && r.URL.Host == "party3.test" {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return meddle(r, send)
	}
	if w.atAnalyzer != nil && r.URL.Host == "analyzer.test" {
		return w.atAnalyzer(r), nil
	}
	if res := send(); res != nil {
		return res, nil
	}
	return nil, errors.New("no route to host")
}

// ask makes a request and returns status, body and header.
func (w *world) ask(role dap.Role, path, mediaType, bearer string, body []byte) (int, []byte, http.Header) {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("https://party%d.test%s", role, path), bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaType)
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := w.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, text, res.Header
}

func (w *world) task() *task.Task {
	w.t.Helper()
	t, err := task.New(w.plan, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// report is a device's, of a cell.
func (w *world) report(cell int) dap.Report {
	w.t.Helper()
	vector := make([]uint64, cells)
	vector[cell] = 1
	r, err := w.task().Report(w.random, vector, w.time(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// lie is the report of a device that says every cell, with the proof of a circuit that
// allows that.
func (w *world) lie() dap.Report {
	w.t.Helper()
	t := w.task()
	var err error
	if t.VDAF, err = prio3.New(prio3.SumVec{Length: cells, Max: 1}, w.plan.Route.Sum.Chunk, dap.Context(t.ID)); err != nil {
		w.t.Fatal(err)
	}
	r, err := t.Report(w.random, []uint64{1, 1, 1, 1}, w.time(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// upload sends a report as a device does, and returns the status.
func (w *world) upload(device int, r dap.Report) int {
	w.t.Helper()
	status, _, _ := w.ask(dap.Leader, dap.ReportsPath(w.task().ID), dap.UploadType, w.tokens[device], r.Append(nil))
	return status
}

// all has devices say the cells, and checks that each is told that it is kept.
func (w *world) all(said ...int) {
	w.t.Helper()
	for d, cell := range said {
		if status := w.upload(d, w.report(cell)); status != http.StatusOK {
			w.t.Fatalf("device %d is answered %d", d, status)
		}
	}
}

func (w *world) step() error { return w.nodes[dap.Leader].service.Step(context.Background()) }

// collected is what the analyzer gets: the body and the receipts, as they travel.
func (w *world) collected() (status int, body []byte, receipts string) {
	w.t.Helper()
	status, body, header := w.ask(dap.Leader, dap.CollectionPath(w.task().ID), dap.CollectionType, "", dap.CollectionReq{}.Marshal())
	return status, body, header.Get(handover.ReceiptHeader)
}

// opened are the sums that the analyzer finds in what it gets, after all its checks.
func (w *world) opened() (sums []int64, reports uint64) {
	w.t.Helper()
	status, body, header := w.collected()
	if status != http.StatusOK {
		w.t.Fatalf("the analyzer is answered %d: %s", status, body)
	}
	c, err := dap.ParseCollected(body)
	if err != nil {
		w.t.Fatal(err)
	}
	receipts, err := decodeReceipts(header, 2)
	if err != nil {
		w.t.Fatal(err)
	}
	keys, err := relay.ReceiptKeys(w.plan)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := handover.CheckShares(receipts, keys[0], w.plan.Hash(), 0, dap.MarshalShare(c.Leader), dap.MarshalShare(c.Helper)); err != nil {
		w.t.Fatal(err)
	}
	if sums, err = w.task().Open(w.analyzer, c); err != nil {
		w.t.Fatal(err)
	}
	return sums, c.Reports
}

func (w *world) want(want []int64, reports uint64) {
	w.t.Helper()
	if sums, n := w.opened(); !slices.Equal(sums, want) || n != reports {
		w.t.Errorf("%d reports sum to %v, want %d and %v", n, sums, reports, want)
	}
}

// sum returns the one row of what an aggregator has added up.
func (w *world) sum(role dap.Role) (sum []byte, err error) {
	err = w.kept(role).Sums(w.t.Context(), 0, func(text []byte) error { sum = bytes.Clone(text); return nil })
	return sum, err
}

// sharded has reports lie in shards of a few jobs from now on.
func (w *world) sharded(jobs int) {
	w.jobs, w.nodes[dap.Leader].service.shard = jobs, jobs
}

// found is what a service has of a plan.
func found(s *Service, hash [32]byte) *served {
	p, _ := s.plans.Find(hash)
	return p
}
