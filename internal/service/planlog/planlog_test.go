package planlog_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cosignature "github.com/transparency-dev/formats/note"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/service/planlog"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/witness"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv("LOG_TO_KILL"); folder != "" {
		addUntilKilled(folder)
	}
	atomicfiletest.InMemory()
	os.Exit(m.Run())
}

// world is a log with two witnesses, and what a device is told of them.
type world struct {
	t         *testing.T
	options   planlog.Options
	log       *planlog.Service
	policy    plan.Log
	publisher ed25519.PrivateKey
	witnesses []string // their files
}

func key(t *testing.T) relay.SignKey {
	t.Helper()
	k, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func note(t *testing.T, text string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, publisher: key(t).Private()}
	own := key(t)
	verifier, err := own.Public().Note("log.example/plans")
	w.policy.Key = note(t, verifier, err)
	w.options = planlog.Options{
		Folder: t.TempDir(), Name: "log.example/plans", Key: own, Interval: 100 * time.Millisecond,
		Publishers: serve.Trust(plan.Publisher(w.publisher.Public().(ed25519.PublicKey))),
	}
	for _, name := range []string{"one.example", "two.example"} {
		w.witness(name)
	}
	w.open()
	return w
}

// witness starts one, for as long as the test runs.
func (w *world) witness(name string) {
	w.t.Helper()
	own := key(w.t)
	verifier, err := own.Public().Note(name)
	verifier, err = cosignature.VKeyToCosignatureV1(note(w.t, verifier, err))
	w.policy.Witnesses = append(w.policy.Witnesses, note(w.t, verifier, err))
	file := filepath.Join(w.t.TempDir(), "checkpoint")
	w.witnesses = append(w.witnesses, file)
	one, err := witness.Open(w.policy.Key, own, name, file)
	if err != nil {
		w.t.Fatal(err)
	}
	server, err := serve.New(serve.Config{Name: "witness", Routes: one.Routes()})
	if err != nil {
		w.t.Fatal(err)
	}
	at := httptest.NewServer(server)
	w.t.Cleanup(at.Close)
	w.options.Witnesses = append(w.options.Witnesses, planlog.Witness{Key: verifier, URL: at.URL})
}

// open is a start of the log; it ends with the test, or when it is opened again.
func (w *world) open() {
	w.t.Helper()
	w.log = w.start(w.options)
	w.t.Cleanup(func() { w.log.Close() })
}

func (w *world) start(o planlog.Options) *planlog.Service {
	w.t.Helper()
	made(w.t, o.Folder)
	s, err := planlog.New(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// made has a log's folder have a store, as whoever makes its keys and its configuration does.
func made(t *testing.T, folder string) {
	t.Helper()
	if err := shelves.Make(filepath.Join(folder, "shelves")); err != nil && !errors.Is(err, keep.ErrExists) {
		t.Fatal(err)
	}
}

// signed is a plan that is told from others by its title.
func (w *world) signed(title string) plan.Signed {
	p := example.Density("rr")
	p.Title = title
	p.Envelopes = plan.Envelopes{PerDevice: 4, PayloadBytes: 8, Suite: "x25519"}
	return plan.Sign(p, w.publisher)
}

func (w *world) trusts() plan.Publishers {
	p := plan.Trust(plan.Publisher(w.publisher.Public().(ed25519.PublicKey)))
	p.Log = w.policy
	return p
}

// logged is a plan as its publisher hands it out.
func (w *world) logged(s *planlog.Service, title string) plan.Signed {
	w.t.Helper()
	signed := w.signed(title)
	e, err := s.Add(w.t.Context(), signed)
	if err != nil {
		w.t.Fatal(err)
	}
	signed.Evidence = &e
	return signed
}

// refused says that nobody with the policy takes the text, for want of evidence.
func (w *world) refused(what string, text []byte) {
	w.t.Helper()
	u, err := plan.SplitSigned(text)
	if err != nil {
		return
	}
	if err := u.Verify(w.trusts()); err == nil {
		w.t.Errorf("%s is taken by who has not parsed it", what)
	}
	if signed, err := u.Parse(); err == nil && signed.Verify(w.trusts()) == nil {
		w.t.Errorf("%s is taken", what)
	}
}

func TestAPlanThatIsShownToOneDeviceAloneIsRefused(t *testing.T) {
	w := newWorld(t)
	everybodys := w.logged(w.log, "everybody's")
	text := everybodys.Marshal()
	again, err := plan.ParseSigned(text)
	if err != nil || !bytes.Equal(again.Marshal(), text) || again.Plan.Name() != w.signed("everybody's").Plan.Name() {
		t.Fatal("a plan with evidence is not read as it was written: ", err)
	}
	if err := again.Verify(w.trusts()); err != nil {
		t.Fatal(err)
	}
	alone := w.signed("alone")
	if err := alone.Verify(w.trusts()); !isNotLogged(err) {
		t.Errorf("without evidence: %v", err)
	}
	alone.Evidence = everybodys.Evidence
	if err := alone.Verify(w.trusts()); !isNotLogged(err) {
		t.Errorf("with the evidence of another plan: %v", err)
	}
	w.refused("a plan with the evidence of another", alone.Marshal())
	for i := bytes.Index(text, []byte(`,"evidence"`)); i < len(text); i++ {
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[i] ^= 1 << bit
			w.refused(fmt.Sprintf("bit %d of byte %d of %d changed: %q", bit, i, len(text), changed[max(0, i-20):min(len(text), i+20)]), changed)
		}
	}
}

func isNotLogged(err error) bool {
	_, ok := errors.AsType[*plan.NotLoggedError](err)
	return ok
}

func TestOneWitnessOfTwoIsNotEnough(t *testing.T) {
	w := newWorld(t)
	signed := w.logged(w.log, "test")
	for i := range w.policy.Witnesses {
		twin := w.trusts()
		twin.Log.Witnesses = bytesOf(w.policy.Witnesses, i, key(t), t)
		if err := signed.Verify(twin); !isNotLogged(err) {
			t.Errorf("with another key of witness %d: %v", i, err)
		}
		if twin.Log.Least = 1; signed.Verify(twin) != nil {
			t.Error("one of two, where one is asked for, is refused")
		}
	}
}

// bytesOf has another key in the place of one.
func bytesOf(all []string, i int, other relay.SignKey, t *testing.T) []string {
	text, err := other.Public().Note("other.example")
	text, err = cosignature.VKeyToCosignatureV1(note(t, text, err))
	all = append([]string(nil), all...)
	all[i] = note(t, text, err)
	return all
}

func TestEveryEntryIsProvedAndNoneIsThereTwice(t *testing.T) {
	w := newWorld(t)
	const n = 70
	var all sync.WaitGroup
	plans := make([]plan.Signed, n)
	for i := range plans {
		all.Go(func() {
			plans[i] = w.signed(fmt.Sprint(i % (n / 2))) // each twice, at the same time
			e, err := w.log.Add(t.Context(), plans[i])
			if err != nil {
				t.Error(err)
				return
			}
			plans[i].Evidence = &e
		})
	}
	all.Wait()
	indexes := map[int64]string{}
	for i, p := range plans {
		if err := p.Verify(w.trusts()); err != nil {
			t.Fatalf("plan %d: %v", i, err)
		}
		if was, there := indexes[p.Evidence.Index]; there && was != p.Plan.Title {
			t.Errorf("plans %s and %s have one index", was, p.Plan.Title)
		}
		indexes[p.Evidence.Index] = p.Plan.Title
	}
	if len(indexes) != n/2 {
		t.Errorf("%d plans have %d entries", n/2, len(indexes))
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	w.open()
	if again := w.logged(w.log, "7"); indexes[again.Evidence.Index] != "7" {
		t.Error("after a start it has another entry")
	}
}

// A log that shows its witnesses another history than before gets no signature, and its
// plans are refused.
func TestAForkIsRefused(t *testing.T) {
	w := newWorld(t)
	w.logged(w.log, "one")
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	fork := w.options
	fork.Folder = t.TempDir()
	if other, err := planlog.New(t.Context(), fork); err == nil {
		other.Close()
		t.Error("an empty log has the witnesses of one that was not")
	}
	fork.Witnesses = nil
	alone := w.start(fork)
	w.logged(alone, "two")
	if err := alone.Close(); err != nil { // it is of the size that was cosigned
		t.Fatal(err)
	}
	twin := fork
	twin.Witnesses = w.options.Witnesses
	if other, err := planlog.New(t.Context(), twin); err == nil {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := other.Add(ctx, w.signed("three")); err == nil {
			t.Error("a log that has forgotten has the witnesses of the one before")
		}
		other.Close()
	}
	alone = w.start(fork)
	defer alone.Close()
	w.refused("a plan of a log without witnesses", w.logged(alone, "four").Marshal())
}

func TestAuditors(t *testing.T) {
	w := newWorld(t)
	titles := map[string]bool{}
	for _, title := range []string{"one", "two", "three"} {
		w.logged(w.log, title)
		titles[title] = true
	}
	server, err := serve.New(serve.Config{Name: "log", Routes: w.log.Routes(), Ready: w.log.Ready, Status: w.log.Status})
	if err != nil {
		t.Fatal(err)
	}
	asked, spoilt := map[string]bool{}, "" // a path whose answer is another than the log's
	at := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path] = true
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		text := answer.Body.Bytes()
		if r.URL.Path == spoilt {
			text[len(text)/2] ^= 1
		}
		to.WriteHeader(answer.Code)
		to.Write(text)
	}))
	defer at.Close()
	check := func() (uint64, error) {
		return planlog.Check(t.Context(), at.URL, w.policy, at.Client(), func(l planlog.Logged) error {
			if !titles[l.Signed.Plan.Title] {
				t.Errorf("entry %d is %q", l.Index, l.Signed.Plan.Title)
			}
			return nil
		})
	}
	if size, err := check(); err != nil || size != 3 {
		t.Fatalf("%d entries: %v", size, err)
	}
	// Whatever a log shows to one auditor alone is found.
	for path := range maps.Clone(asked) {
		spoilt = path
		if _, err := check(); err == nil {
			t.Errorf("%s was changed, and nobody noticed", path)
		}
	}
	spoilt = ""
	if len(asked) != 6 { // a checkpoint, a bundle, a tile and three texts
		t.Errorf("an auditor has asked for %q", slices.Sorted(maps.Keys(asked)))
	}
	if _, err := check(); err != nil {
		t.Error("put back as it was: ", err)
	}
}

// killed is how many plans the log that is killed is given.
const killed = 40

var killedKey = sync.OnceValue(func() relay.SignKey {
	k, err := relay.GenerateSignKey()
	if err != nil {
		panic(err)
	}
	return k
})

// addUntilKilled is another process: it puts plans into a log without witnesses, and says
// which entry each has.
func addUntilKilled(folder string) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	key, _, err := partykey.ReadSigning(filepath.Join(folder, "key.json"))
	if err != nil {
		fail(err)
	}
	s, err := planlog.New(context.Background(), planlog.Options{Folder: filepath.Join(folder, "log"), Name: "log.example/plans", Key: key, Interval: 100 * time.Millisecond})
	if err != nil {
		fail(err)
	}
	w := &world{publisher: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	var all sync.WaitGroup
	for i := range killed {
		time.Sleep(5 * time.Millisecond)
		all.Go(func() {
			if e, err := s.Add(context.Background(), w.signed(fmt.Sprint(i))); err == nil {
				fmt.Printf("%d %d\n", i, e.Index) // one write
			}
		})
	}
	all.Wait()
	os.Exit(0)
}

// Killed at any moment, a log has every plan of which it gave evidence, where it said, and
// none twice.
func TestAKilledLogGoesOn(t *testing.T) {
	for after := range 4 {
		folder := t.TempDir()
		if err := partykey.CreateSigning(filepath.Join(folder, "key.json"), killedKey(), "test"); err != nil {
			t.Fatal(err)
		}
		made(t, filepath.Join(folder, "log"))
		said := map[int]int64{}
		for range 3 { // killed, started and killed again
			var out bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(80+70*after)*time.Millisecond)
			c := exec.CommandContext(ctx, os.Args[0]) // killed when the time is over
			c.Env, c.Stdout = append(os.Environ(), "LOG_TO_KILL="+folder), &out
			c.Run()
			cancel()
			for line := range strings.Lines(out.String()) {
				var plan int
				var index int64
				if n, _ := fmt.Sscanf(line, "%d %d\n", &plan, &index); n != 2 || !strings.HasSuffix(line, "\n") {
					continue
				}
				if was, there := said[plan]; there && was != index {
					t.Errorf("plan %d has the entries %d and %d", plan, was, index)
				}
				said[plan] = index
			}
		}
		s, err := planlog.New(t.Context(), planlog.Options{Folder: filepath.Join(folder, "log"), Name: "log.example/plans", Key: killedKey(), Interval: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{publisher: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
		var all sync.WaitGroup
		var mu sync.Mutex
		taken := map[int64]int{}
		for i := range killed {
			all.Go(func() {
				e, err := s.Add(t.Context(), w.signed(fmt.Sprint(i)))
				mu.Lock()
				defer mu.Unlock()
				was, there := said[i]
				if err != nil || there && was != e.Index {
					t.Errorf("plan %d: entry %d, was %d: %v", i, e.Index, was, err)
				}
				taken[e.Index]++
			})
		}
		all.Wait()
		if len(taken) != killed {
			t.Errorf("%d plans have %d entries", killed, len(taken))
		}
		for index := range taken {
			if index >= killed {
				t.Errorf("entry %d: one of %d plans stands there twice", index, killed)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
