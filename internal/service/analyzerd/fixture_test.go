package analyzerd_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	if os.Getenv(workerDSN) != "" {
		os.Exit(workerProcess())
	}
	code := postgrestest.Main(m, "fsync=on", "max_connections=300")
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

const (
	minimum   = 5 // respondents of a crowd in an instance
	perDevice = 4 // envelopes, one of them a dummy
	devices   = 40
)

var (
	publisher = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	// coordinator signs the rounds of studies.
	coordinator = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	closes      = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
)

// collection is a signed plan of two instances, of one and of two hops, with what
// its last hops hand to the analyzer.
type collection struct {
	signed    plan.Signed
	name      string
	analyzer  envelope.PrivateKey
	hops      [][]envelope.PrivateKey
	protocol  *protocol.Protocol
	signers   [][]relay.SignKey // of receipts, by instance and hop
	releaser  relay.SignKey     // of releases
	handovers []handover.Handover
}

// collect has the tiny density plan answered; change may alter it before.
func collect(t testing.TB, change func(*plan.Plan)) *collection {
	t.Helper()
	p := route()
	p.Question = plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
		Dimension: 3, Normalize: true,
		Kernel:      plan.Kernel{Name: "ip-identity", Seed: strings.Repeat("00", 32)},
		Repetitions: 1,
		Bitsum:      plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
	}}
	p.Budget = plan.Budget{Epsilon: 3.8, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected, DishonestShare: 0.2}
	p.Envelopes = plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: perDevice}
	if change != nil {
		change(&p)
	}
	return answered(t, p, vectors)
}

// vectors are what the devices of the tiny plan hold: two thirds of them are of crowd 0.
func vectors(i int) question.Value {
	return density.Labelled{Features: []float32{1, -0.5, float32(i) / 10}, Class: i % 3 / 2}
}

// route is a plan without a question.
func route() plan.Plan {
	return plan.Plan{
		Version: plan.Version,
		Title:   "A tiny collection",
		Crowd:   plan.Crowd{Names: []string{"hills", "shore"}, Minimum: minimum},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{
			{Hops: []plan.Party{{Operator: "North"}}}, {Hops: []plan.Party{{Operator: "East"}, {Operator: "West"}}},
		}}},
		Analyzer: plan.Party{Operator: "Research"},
		Times:    plan.Times{Closes: closes},
	}
}

// answered signs a plan and has it answered by all devices.
func answered(t testing.TB, p plan.Plan, value func(i int) question.Value) *collection {
	t.Helper()
	c := keyed(t, &p)
	c.answer(t, plan.Sign(p, publisher), value)
	return c
}

// keyed gives every party of a plan keys.
func keyed(t testing.TB, p *plan.Plan) *collection {
	t.Helper()
	c := &collection{}
	for _, in := range p.Route.Mix.Instances {
		keys := make([]relay.SignKey, len(in.Hops))
		for h := range in.Hops {
			var err error
			if keys[h], err = relay.GenerateSignKey(); err != nil {
				t.Fatal(err)
			}
			in.Hops[h].Receipts = keys[h].Public().String()
		}
		c.signers = append(c.signers, keys)
	}
	keys, err := simulate.NewKeys(p)
	if err != nil {
		t.Fatal(err)
	}
	c.analyzer, c.hops = keys.Analyzer, keys.Hops
	if c.releaser, err = relay.GenerateSignKey(); err != nil {
		t.Fatal(err)
	}
	p.Analyzer.Releases = c.releaser.Public().String()
	return c
}

// answer has a signed plan with the collection's keys answered by all devices.
func (c *collection) answer(t testing.TB, signed plan.Signed, value func(i int) question.Value) {
	t.Helper()
	proto, err := protocol.New(signed.Plan)
	if err != nil {
		t.Fatal(err)
	}
	c.answerBy(t, signed, proto, devices, value)
}

// answerBy has it answered by so many devices, in the state of its protocol.
func (c *collection) answerBy(t testing.TB, signed plan.Signed, proto *protocol.Protocol, devices int, value func(i int) question.Value) {
	t.Helper()
	p := signed.Plan
	c.signed, c.name, c.handovers, c.protocol = signed, p.Name(), nil, proto
	device, err := client.New(c.protocol, seeded.New(1))
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]*shuffler.Collector, len(c.hops))
	for i := range entries {
		if entries[i], err = shuffler.NewCollector(p, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range devices {
		sent, err := device.Report(value(i))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range sent {
			if err := entries[part.Instance].Add(fmt.Sprint(i), part.Body); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, entry := range entries {
		crowds, _ := entry.Close()
		for _, crowd := range crowds {
			c.handovers = append(c.handovers, c.mix(t, crowd, c.hops[i]))
		}
	}
	if want := len(entries) * p.Crowds(); len(c.handovers) != want {
		t.Fatalf("%d batches left the shufflers, want %d", len(c.handovers), want)
	}
}

// mix carries a crowd through its cascade, with receipts.
func (c *collection) mix(t testing.TB, crowd shuffler.Collected, keys []envelope.PrivateKey) handover.Handover {
	t.Helper()
	var h handover.Handover
	b := envelope.Batch{Plan: crowd.Plan, Instance: crowd.Instance, Crowd: crowd.Crowd, Respondents: uint64(len(crowd.Bodies))}
	for hop, key := range keys {
		mixer, err := shuffler.NewHop(c.signed.Plan, int(b.Instance), hop, key)
		if err != nil {
			t.Fatal(err)
		}
		var out envelope.Batch
		var counts shuffler.Receipt
		if hop == 0 {
			out, counts, err = mixer.Enter(crowd)
		} else {
			out, counts, err = mixer.Mix(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		r := relay.Receipt{
			Plan: b.Plan, Instance: b.Instance, Hop: uint8(hop), Crowd: b.Crowd, Respondents: b.Respondents,
			In: uint64(counts.In), Out: uint64(counts.Out), Dropped: uint64(counts.Dropped), Duplicates: uint64(counts.Duplicates),
		}
		if hop > 0 {
			r.BatchIn, r.Previous = h.Digest, h.Receipts[hop-1].Hash()
		}
		r.BatchOut = digest(t, out)
		h = handover.Handover{Receipts: append(h.Receipts, r.Sign(c.signers[b.Instance][hop])), Batch: out, Digest: r.BatchOut}
		b = out
	}
	return h
}

func digest(t testing.TB, b envelope.Batch) [32]byte {
	t.Helper()
	body, err := b.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(body)
}

// resign makes the last receipt bear out what was done to the batch.
func (c *collection) resign(t testing.TB, h handover.Handover) handover.Handover {
	t.Helper()
	h.Receipts = append([]relay.SignedReceipt(nil), h.Receipts...)
	last := len(h.Receipts) - 1
	r := h.Receipts[last].Receipt
	r.Dropped += r.Out - uint64(len(h.Batch.Envelopes))
	r.Out, r.Respondents = uint64(len(h.Batch.Envelopes)), h.Batch.Respondents
	h.Digest = digest(t, h.Batch)
	r.BatchOut = h.Digest
	h.Receipts[last] = r.Sign(c.signers[h.Batch.Instance][last])
	return h
}

func body(t testing.TB, h handover.Handover) []byte {
	t.Helper()
	b, err := h.Batch.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return handover.MarshalHandover(h.Receipts, b)
}

func path(h handover.Handover) string {
	return wire.BatchPath(h.Batch.Plan, h.Batch.Instance, h.Batch.Hop, h.Batch.Crowd)
}

// rig is a service on a database that outlives it.
type rig struct {
	t       testing.TB
	dsn     string
	keys    string // folder
	bearers *serve.Bearers
	token   string
	budget  analyzerd.Population
	watched *clock.Clock // nil: the time of day is always believed
	client  *http.Client // of the service; nil: it asks nobody
	planLog string       // address; "": none

	mu    sync.Mutex
	clock time.Time
	point string // the failpoint at which something happens
	then  func() error

	blobs      string            // folder; "": batches are counted in memory
	lease      time.Duration     // of a shard and of a dealer; 0: shardLease
	elsewhere  bool              // others count what is in it
	publishers *serve.Publishers // who is trusted; nil: the publisher, for good

	shared  *rows.Store // another's, of the same process; nil: it has its own
	store   *rows.Store
	audit   func(plan.Plan, []byte) ([]byte, error)
	metrics *serve.Metrics
	service *analyzerd.Service
	server  *serve.Server
}

func start(t testing.TB, dsn string, cs ...*collection) *rig {
	t.Helper()
	return startOn(t, dsn, nil, cs...)
}

// startOn is start on a store that another service of this process has open; nil: on its own.
func startOn(t testing.TB, dsn string, shared *rows.Store, cs ...*collection) *rig {
	t.Helper()
	r := &rig{t: t, dsn: dsn, shared: shared, keys: t.TempDir(), clock: closes.Add(-time.Hour), budget: analyzerd.Population{Epsilon: 100, Delta: 1e-3, Adjacency: account.Replacement}}
	for i, c := range cs {
		if err := partykey.CreateOpening(filepath.Join(r.keys, fmt.Sprintf("%d.json", i)), c.analyzer, "analyzer"); err != nil {
			t.Fatal(err)
		}
		if err := partykey.CreateSigning(filepath.Join(r.keys, fmt.Sprintf("releases-%d.json", i)), c.releaser, "analyzer"); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "operators")
	var err error
	if r.token, err = serve.AddBearer(seeded.New(3), file, "operator"); err != nil {
		t.Fatal(err)
	}
	if r.bearers, err = serve.ReadBearers(file); err != nil {
		t.Fatal(err)
	}
	r.restart()
	if shared == nil {
		t.Cleanup(func() { r.store.Close() })
	}
	return r
}

// restart is a new process on the same database.
func (r *rig) restart() {
	r.t.Helper()
	if r.store != nil && r.shared == nil {
		if err := r.store.Close(); err != nil {
			r.t.Fatal(err)
		}
	}
	fail := func(name string) error {
		r.mu.Lock()
		point, then := r.point, r.then
		r.mu.Unlock()
		if name == point {
			return then()
		}
		return nil
	}
	var err error
	if r.store = r.shared; r.shared == nil {
		r.store, err = rows.Open(context.Background(), rows.Config{DSN: r.dsn, Failpoint: fail})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	var blobs blob.Store
	if r.blobs != "" {
		if blobs, err = blob.OpenFolder(r.blobs); err != nil {
			r.t.Fatal(err)
		}
	}
	r.metrics = serve.NewMetrics()
	r.service, err = analyzerd.New(analyzerd.Options{
		Blobs: blobs, ShardBytes: shardBytes, ShardLease: cmp.Or(r.lease, shardLease), Elsewhere: r.elsewhere,
		Common: serve.Common{Keys: r.keys, Now: r.now, Failpoint: fail, Clock: r.watched, Client: r.client, Metrics: r.metrics},
		Store:  r.store, Operators: r.bearers, Trust: r.publishers,
		Publishers:  []analyzerd.Publisher{{Name: "Research", Key: plan.Publisher(publisher.Public().(ed25519.PublicKey)), Population: "residents"}},
		Populations: map[string]analyzerd.Population{"residents": r.budget},
		Coordinator: coordinator,
		Software:    "confetti test",
		Audit:       r.audit,
		PlanLog:     r.planLog,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.server, err = serve.New(serve.Config{Name: "analyzer", Routes: r.service.Routes(), Ready: r.service.Ready, Status: r.service.Status})
	if err != nil {
		r.t.Fatal(err)
	}
}

var errCrash = errors.New("a crash")

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock
}

func (r *rig) at(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = now
}

// hook has something happen at a failpoint; nowhere with an empty name.
func (r *rig) hook(point string, then func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.point, r.then = point, then
}

func (r *rig) fail(point string, with error) { r.hook(point, func() error { return with }) }

// do asks the service as an operator.
func (r *rig) do(method, path, contentType string, body []byte) *httptest.ResponseRecorder {
	r.t.Helper()
	q := httptest.NewRequest(method, path, bytes.NewReader(body))
	q.Header.Set("Content-Type", contentType)
	q.Header.Set("Authorization", "Bearer "+r.token)
	w := httptest.NewRecorder()
	r.server.ServeHTTP(w, q)
	return w
}

// wants fails the test unless the answer has this status and, for a problem, code.
// It returns the problem's detail.
func (r *rig) wants(w *httptest.ResponseRecorder, status int, code wire.Code) string {
	r.t.Helper()
	if w.Code != status {
		r.t.Errorf("status %d, want %d: %.300s", w.Code, status, w.Body)
		return ""
	}
	if status < 400 {
		return ""
	}
	p := web.ReadProblem(w.Result())
	if p.Code != code {
		r.t.Errorf("problem %s, want %s: %s", p.Code, code, p.Detail)
	}
	return p.Detail
}

func (r *rig) register(c *collection) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do("PUT", wire.PlanPath(c.signed.Plan.Hash()), wire.PlanType(c.signed), c.signed.Marshal())
}

func (r *rig) put(h handover.Handover) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do("PUT", path(h), wire.BatchType, body(r.t, h))
}

func (r *rig) get(path string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.do("GET", path, "", nil)
}

// databases make a fresh one of each kind.
var databases = map[string]func(t testing.TB) string{
	"folder":   func(t testing.TB) string { return filepath.Join(t.TempDir(), "shelves") },
	"postgres": postgrestest.Postgres,
}

// both runs a test on each kind of database.
func both(t *testing.T, test func(t *testing.T, dsn string)) {
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

const created, ok = http.StatusCreated, http.StatusOK
