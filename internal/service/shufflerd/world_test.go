package shufflerd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/testkit/example"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	if os.Getenv(workerDir) != "" {
		os.Exit(workerProcess())
	}
	code := postgrestest.Main(m, "fsync=on")
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const (
	minimum   = 3
	perDevice = 2
	payload   = 16
	devices   = 12 // that have a bearer token
)

// world is one instance of a plan with a service for each hop, an analyzer that
// reads everything, and a network that is a function call.
type world struct {
	t        testing.TB
	dir      string
	plan     plan.Plan
	signed   plan.Signed
	analyzer envelope.PrivateKey
	publish  ed25519.PrivateKey
	opening  []envelope.PrivateKey // of the hops
	bearers  string
	tokens   map[string]string // bearer tokens by respondent

	now       time.Time
	failpoint func(hop int, name string) error
	rates     Limits

	publishers *serve.Publishers // whose plans hops take; nil: that of the plan, for good

	url       string // of a database that processes of a hop share; "": a folder for each
	partBytes int    // of crowds in parts; 0: all are mixed in memory

	around func(keep.Store) keep.Store // what services see of their stores; nil: them
	log    bytes.Buffer
	logger *slog.Logger // to log

	hops []*node

	mu        sync.Mutex
	batches   map[uint32][]byte // at the analyzer, by crowd
	receipts  map[uint32][]relay.SignedReceipt
	parts     map[[32]byte]map[int][]byte // at the analyzer, of batches by digest
	arrived   int                         // parts that a later hop has taken
	again     int                         // parts that it had
	cut       bool                        // the analyzer is out of reach
	elsewhere bool                        // somebody else answers for it
	unheard   bool                        // the analyzer takes a batch, and its answer is lost

	mono   time.Duration        // of the monotonic clock, where one is watched
	clock  bool                 // it is
	date   time.Time            // what everybody else says; zero: they are out of reach
	refuse func() *wire.Problem // what the analyzer says to a batch; nil: it takes it
}

// node is a running service.
type node struct {
	store   keep.Store
	blobs   blob.Store
	service *Service
	server  *serve.Server
}

func newWorld(t testing.TB, hops int, change func(*plan.Plan)) *world {
	t.Helper()
	w := &world{
		t: t, dir: t.TempDir(), now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		tokens: map[string]string{}, batches: map[uint32][]byte{}, receipts: map[uint32][]relay.SignedReceipt{},
		rates: Limits{Visits: serve.Visits{Rate: 1e6, Burst: 1e6}},
	}
	var err error
	if w.analyzer, err = envelope.GenerateKey(envelope.X25519); err != nil {
		t.Fatal(err)
	}
	_, w.publish, err = ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var in plan.Instance
	for h := range hops {
		open, err := envelope.GenerateKey(envelope.X25519)
		if err != nil {
			t.Fatal(err)
		}
		sign, err := relay.GenerateSignKey()
		if err != nil {
			t.Fatal(err)
		}
		keys := w.keys(h)
		if err := errors.Join(
			partykey.CreateOpening(filepath.Join(keys, "open.json"), open, "test"),
			partykey.CreateSigning(filepath.Join(keys, "sign.json"), sign, "test"),
		); err != nil {
			t.Fatal(err)
		}
		w.opening = append(w.opening, open)
		in.Hops = append(in.Hops, plan.Party{
			Operator: fmt.Sprint("operator ", h), Key: open.Public().String(),
			URL: fmt.Sprintf("https://hop%d.test", h), Receipts: sign.Public().String(),
		})
	}
	w.plan = plan.Plan{
		Version: plan.Version, Title: "test",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 2, Repetitions: perDevice,
			Kernel: plan.Kernel{Name: "ip-signs", Seed: strings.Repeat("0", 64)},
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"a", "b"}, Minimum: minimum},
		Envelopes: plan.Envelopes{PerDevice: perDevice, PayloadBytes: payload, Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{in}}},
		Analyzer:  plan.Party{Operator: "analyzer", Key: w.analyzer.Public().String(), URL: "https://analyzer.test", Releases: example.Releaser},
		Times:     plan.Times{Opens: w.now.Add(-time.Hour), Closes: w.now.Add(time.Hour)},
	}
	if change != nil {
		change(&w.plan)
	}
	if err := w.plan.Validate(); err != nil {
		t.Fatal(err)
	}
	w.signed, w.logger = plan.Sign(w.plan, w.publish), slog.New(slog.NewTextHandler(&w.log, nil))
	w.bearers = filepath.Join(w.dir, "bearers")
	for d := range devices {
		w.respondent(fmt.Sprint("device", d))
	}
	for h := range hops {
		w.hops = append(w.hops, nil)
		w.start(h)
		if err := w.hops[h].service.Load(context.Background(), w.signed); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for h := range w.hops {
			w.stop(h)
		}
	})
	return w
}

func (w *world) keys(hop int) string {
	dir := filepath.Join(w.dir, fmt.Sprint("keys", hop))
	mkdir(w.t, dir)
	return dir
}

func (w *world) blobs(hop int) string { return filepath.Join(w.folder(hop), rows.BlobsFolder) }

// start brings a hop up on what it left on disk.
func (w *world) start(hop int) {
	w.t.Helper()
	if err := w.tryStart(hop, false); err != nil {
		w.t.Fatal(err)
	}
}

// tryStart is start where the disk may be damaged.
func (w *world) tryStart(hop int, setAside bool) error {
	w.t.Helper()
	n, err := w.process(hop, setAside)
	if err == nil {
		w.hops[hop] = n
	}
	return err
}

// keep opens what processes of a hop share.
func (w *world) keep(hop int) (keep.Store, error) {
	if w.url == "" {
		return rows.OpenFolder(w.folder(hop), serve.Common{Keys: w.keys(hop)})
	}
	keys, err := blob.OpenFolder(filepath.Join(w.dir, fmt.Sprint("shelfkeys", hop)))
	if err != nil {
		return nil, err
	}
	return postgres.Start(context.Background(), w.url, keys)
}

// process starts one of a hop's.
func (w *world) process(hop int, setAside bool) (*node, error) {
	w.t.Helper()
	ctx := context.Background()
	store, err := w.keep(hop)
	if err != nil {
		return nil, err
	}
	if w.around != nil {
		store = w.around(store)
	}
	bearers, err := serve.ReadBearers(w.bearers)
	if err != nil {
		w.t.Fatal(err)
	}
	var watched *clock.Clock
	if w.clock {
		watched = clock.Watch(func() time.Time { return w.now }, func() time.Duration { return w.mono })
	}
	blobs, err := blob.OpenFolder(w.blobs(hop))
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := New(ctx, Options{
		Blobs: blobs, PartBytes: w.partBytes, Share: w.url != "", StepLease: testLease,
		Common: serve.Common{
			Log: w.logger, Clock: watched, Keys: w.keys(hop), Client: &http.Client{Transport: w}, Now: func() time.Time { return w.now },
			Failpoint: func(name string) error {
				if w.failpoint == nil {
					return nil
				}
				return w.failpoint(hop, name)
			},
		},
		Store: store, Publishers: cmp.Or(w.publishers, serve.Trust(w.signed.Publisher)), Bearers: bearers, Limits: w.rates, SetAside: setAside,
	})
	if err != nil {
		store.Close()
		return nil, err
	}
	server, err := serve.New(serve.Config{Name: "shuffler", Routes: s.Routes(), Private: s.Private(), Ready: s.Ready, Status: s.Status})
	if err != nil {
		w.t.Fatal(err)
	}
	return &node{store, blobs, s, server}, nil
}

func (w *world) stop(hop int) {
	if n := w.hops[hop]; n != nil {
		n.store.Close()
		w.hops[hop] = nil
	}
}

func (w *world) restart(hop int) {
	w.t.Helper()
	w.stop(hop)
	w.start(hop)
}

// respondent gives somebody a bearer token.
func (w *world) respondent(name string) string {
	w.t.Helper()
	if _, there := w.tokens[name]; !there {
		token, err := serve.AddBearer(seeded.New(uint64(len(w.tokens))), w.bearers, name)
		if err != nil {
			w.t.Fatal(err)
		}
		w.tokens[name] = token
	}
	return w.tokens[name]
}

func message(device, i int) []byte {
	b := make([]byte, payload)
	binary.BigEndian.PutUint32(b, uint32(device))
	binary.BigEndian.PutUint32(b[4:], uint32(i))
	return b
}

// sent is what devices of a crowd say, sorted.
func sent(devices ...int) []string {
	var all []string
	for _, d := range devices {
		for i := range perDevice {
			all = append(all, string(message(d, i)))
		}
	}
	slices.Sort(all)
	return all
}

// contribution is the body of a device, fresh each time.
func (w *world) contribution(crowd uint32, device int) []byte {
	w.t.Helper()
	var keys []envelope.PublicKey
	for _, k := range w.opening {
		keys = append(keys, k.Public())
	}
	layers := envelope.Route(w.plan.Hash(), 0, crowd, append(keys, w.analyzer.Public())...)
	for h, slot := range w.plan.Slots(0) {
		layers[h].Slot = slot
	}
	s, err := envelope.NewSealer(layers[1:], w.plan.Envelopes.PayloadBytes)
	if err != nil {
		w.t.Fatal(err)
	}
	var envelopes [][]byte
	for i := range w.plan.Envelopes.PerDevice {
		e, err := s.Seal(append(message(device, i), make([]byte, w.plan.Envelopes.PayloadBytes-payload)...))
		if err != nil {
			w.t.Fatal(err)
		}
		envelopes = append(envelopes, e)
	}
	body, err := example.Form(w.plan, 0).Seal(keys[0], crowd, envelopes)
	if err != nil {
		w.t.Fatal(err)
	}
	return body
}

// request is the PUT of a contribution.
func (w *world) request(name string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPut, wire.ContributionPath(w.plan.Hash(), 0, wire.ContributionID(body)), bytes.NewReader(body))
	r.Header.Set("Content-Type", wire.ContributionType)
	r.Header.Set("Authorization", "Bearer "+w.respondent(name))
	return r
}

// do sends a request to a hop and returns the status, and the code of a problem.
func (w *world) do(hop int, r *http.Request) (int, wire.Code) {
	w.t.Helper()
	rec := httptest.NewRecorder()
	w.hops[hop].server.ServeHTTP(rec, r)
	res := rec.Result()
	if p := web.ReadProblem(res); p != nil {
		return res.StatusCode, p.Code
	}
	return res.StatusCode, ""
}

// contribute sends a device's contribution and wants it taken.
func (w *world) contribute(crowd uint32, devices ...int) {
	w.t.Helper()
	for _, d := range devices {
		if status, code := w.do(0, w.request(fmt.Sprint("device", d), w.contribution(crowd, d))); status != http.StatusCreated {
			w.t.Fatalf("device %d: %d %s", d, status, code)
		}
	}
}

func (w *world) end() { w.now = w.plan.Times.Closes }

// errCrash is what a failpoint returns where a hop dies.
var errCrash = errors.New("crash")

// endAndCrash ends the collection, and kills a hop at a step of what is due then.
func (w *world) endAndCrash(hop int, at string) {
	w.failpoint = func(h int, n string) error {
		if h == hop && n == at {
			return errCrash
		}
		return nil
	}
	w.end()
	if err := w.step(); !errors.Is(err, errCrash) {
		w.t.Fatal(err)
	}
}

// step lets every hop do what is due, entry first.
func (w *world) step() error {
	var errs []error
	for _, n := range w.hops {
		if n != nil {
			errs = append(errs, n.service.Step(context.Background()))
		}
	}
	return errors.Join(errs...)
}

// settled wants nothing left on the disk of a hop but marks.
func (w *world) settled(hop int) {
	w.t.Helper()
	shelves, err := w.hops[hop].store.List(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	left, err := w.hops[hop].blobs.List(context.Background(), postName(w.plan.Hash(), 0, hop))
	if err != nil {
		w.t.Fatal(err)
	}
	left = append(left, shelves...)
	left = slices.DeleteFunc(left, func(name string) bool {
		number, ofCrowd := rows.CrowdOfShelf(name, postName(w.plan.Hash(), 0, hop))
		if c, err := strconv.Atoi(number); ofCrowd && err == nil { // a batch that was refused leaves the key to the next one
			return found(w.hops[hop].service, w.plan.Hash()).posts[0].state(uint32(c)).Phase == ""
		}
		return strings.Contains(name, "/"+spentKind+"/") || name == "steps"
	})
	if len(left) > 0 {
		w.t.Errorf("hop %d still holds %v", hop, left)
	}
}

func wantCrowds(t testing.TB, w *world, want map[uint32][]string) {
	t.Helper()
	got := map[uint32][]string{}
	for c := range w.batches {
		got[c] = w.read(c)
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the analyzer has %d crowds with %v; want %d", len(got), got, len(want))
	}
}

// fresh starts a stopped hop on an empty disk, with the plan.
func (w *world) fresh(hop int) {
	w.t.Helper()
	notes, err := filepath.Glob(filepath.Join(w.dir, fmt.Sprint("keys", hop), "begun-*")) // its keys tell of what is lost
	for _, gone := range append(notes, w.folder(hop)) {
		err = errors.Join(err, os.RemoveAll(gone))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.start(hop)
	if err := w.hops[hop].service.Load(context.Background(), w.signed); err != nil {
		w.t.Fatal(err)
	}
}

// found is what a service has of a plan.
func found(s *Service, hash [32]byte) *served {
	p, _ := s.plans.Find(hash)
	return p
}
