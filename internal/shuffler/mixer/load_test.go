package mixer_test

import (
	"context"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
)

// How a crowd is measured that is larger than memory, in processes of their own; without
// a role the test is a small crowd in one.
var (
	role    = flag.String("load.role", "", "lay, work, check or plain")
	number  = flag.Int("load.envelopes", 5000, "of the crowd")
	dir     = flag.String("load.dir", "", "where the crowd lies")
	worker  = flag.Int("load.worker", 0, "which of the workers this is")
	workers = flag.Int("load.workers", 1, "that take steps")
	most    = flag.Int("load.part", 2000, "bytes of a part at least")
	limit   = flag.Duration("load.for", 24*time.Hour, "lay and work begin nothing after so long; started again they go on")
)

const payload = 8

// load is one hop, and what a crowd was made of.
type load struct {
	Plan  json.RawMessage
	Crowd mixer.Crowd
}

// A crowd in parts leaves whole, each envelope once, in another order than it came in.
func TestLoad(t *testing.T) {
	if *role == "" {
		*dir = t.TempDir()
		*workers = 2
		for *worker = range 2 {
			lay(t)
		}
		for *worker = range 2 { // one after the other: the second finds what the first left
			step(t, true)
		}
		*worker, *workers = 0, 1
		step(t, false)
		check(t)
		return
	}
	start := time.Now()
	switch *role {
	case "lay":
		lay(t)
	case "work":
		step(t, false)
	case "check":
		check(t)
	case "plain":
		plain(t)
	default:
		t.Fatalf("-load.role is %q: lay, work, check or plain", *role)
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	fmt.Printf("%s %d of %d: %.2f us of processor for each of %d envelopes, %.0f s by the wall, at most %d MB\n",
		*role, *worker+1, *workers, float64(cpu.Microseconds())/float64(*number), *number, time.Since(start).Seconds(), used.Maxrss>>10)
}

// hop makes the one hop that there is.
func (l load) hop(t testing.TB) *shuffler.Hop {
	var p plan.Plan
	key, _, err := partykey.ReadOpening(filepath.Join(*dir, "key.json"))
	if err = errors.Join(err, json.Unmarshal(l.Plan, &p)); err != nil {
		t.Fatal(err)
	}
	h, err := shuffler.NewHop(p, 0, 0, key)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func store(t testing.TB) blob.Store {
	s, err := blob.OpenFolder(filepath.Join(*dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sum of envelopes does not depend on their order.
func add(sum *[32]byte, e []byte) {
	digest := sha256.Sum256(e)
	for i := 0; i < len(sum); i += 8 {
		binary.BigEndian.PutUint64(sum[i:], binary.BigEndian.Uint64(sum[i:])+binary.BigEndian.Uint64(digest[i:]))
	}
}

// inside is what counts of one envelope.
func inside(i int) []byte {
	in := make([]byte, envelope.X25519.Size(1, payload))
	digest := sha256.Sum256(fmt.Appendf(nil, "what is in envelope %d", i))
	copy(in, digest[:])
	return in
}

// begin draws the keys of a crowd and writes down what it will be.
func begin(t testing.TB) {
	key, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := envelope.GenerateKey(envelope.X25519)
	if err == nil {
		err = partykey.CreateOpening(filepath.Join(*dir, "key.json"), key, "load")
	}
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	p := plan.Plan{
		Version: plan.Version, Title: "load",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 2, Repetitions: 1, Kernel: plan.Kernel{Name: "ip-signs", Seed: strings.Repeat("0", 64)},
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"all"}, Minimum: 3},
		Envelopes: plan.Envelopes{PerDevice: 1, PayloadBytes: payload, Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "hop", Key: key.Public().String()}}}}}},
		Analyzer:  plan.Party{Operator: "analyzer", Key: reader.Public().String(), Releases: example.Releaser},
		Times:     plan.Times{Opens: now, Closes: now.Add(time.Hour)},
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	l := load{Plan: text, Crowd: mixer.NewEntry("load", envelope.Head{
		Plan: p.Hash(), Respondents: uint64(*number), Envelopes: uint64(*number), Size: envelope.X25519.Size(1, payload),
	}, example.Form(p, 0).Bytes(), *most)}
	if text, err = json.Marshal(l); err == nil {
		err = os.WriteFile(filepath.Join(*dir, "load.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// gaps is a store that takes the parts which this process lays, and no others.
type gaps struct {
	blob.Store
	wanted map[string]bool
}

func (g gaps) Put(ctx context.Context, name string, body []byte) error {
	if !g.wanted[name] {
		return nil
	}
	return g.Store.Put(ctx, name, body)
}

// lay seals this worker's share of a crowd, of one layer round what counts, and lays it
// out. Parts that are there stay.
func lay(t testing.TB) {
	if _, err := os.Stat(filepath.Join(*dir, "load.json")); err != nil {
		begin(t)
	}
	end := time.Now().Add(*limit)
	l := laid(t)
	var p plan.Plan
	if err := json.Unmarshal(l.Plan, &p); err != nil {
		t.Fatal(err)
	}
	there, err := store(t).List(t.Context(), l.Crowd.Under+"/part")
	if err != nil {
		t.Fatal(err)
	}
	hop, err := envelope.ParsePublicKey(p.Route.Mix.Instances[0].Hops[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	form := example.Form(p, 0)
	mine := gaps{store(t), map[string]bool{}}
	late := errors.New("the time is over")
	nothing := make([]byte, l.Crowd.Body)
	err = l.Crowd.Lay(t.Context(), mine, func(take func([]byte) error) error {
		for i := range l.Crowd.Parts() {
			from, to := i*l.Crowd.Part, min((i+1)*l.Crowd.Part, int(l.Crowd.Envelopes))
			name := fmt.Sprintf("%s/part/%d", l.Crowd.Under, i)
			if i%*workers != *worker || slices.Contains(there, name) {
				for range to - from {
					if err := take(nothing); err != nil {
						return err
					}
				}
				continue
			}
			if time.Now().After(end) {
				return late
			}
			mine.wanted[name] = true
			sealed := make([][]byte, to-from)
			cores := runtime.GOMAXPROCS(0)
			var wg sync.WaitGroup
			for w := range cores {
				wg.Go(func() {
					for j := w; j < len(sealed); j += cores {
						var err error
						if sealed[j], err = form.Seal(hop, 0, [][]byte{inside(from + j)}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			for _, e := range sealed {
				if err := take(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, late) {
		t.Fatal(err)
	}
}

func laid(t testing.TB) (l load) {
	text, err := os.ReadFile(filepath.Join(*dir, "load.json"))
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// step takes this worker's share of the steps, and waits for the others'; once: until
// there is nothing of its own left.
func step(t testing.TB, once bool) {
	end := time.Now().Add(*limit)
	l := laid(t)
	h, s := l.hop(t), store(t)
	for {
		steps, err := l.Crowd.Steps(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		mine := 0
		for _, one := range steps {
			if one.Number%*workers != *worker {
				continue
			}
			if time.Now().After(end) {
				return
			}
			mine++
			if err := l.Crowd.Do(t.Context(), h, s, one); err != nil {
				t.Fatal(err)
			}
		}
		if len(steps) == 0 || once && mine == 0 {
			return
		}
		if mine == 0 {
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// whole sums up envelopes that come as a stream.
type whole struct {
	size, n int
	rest    []byte
	sum     [32]byte
}

func (w *whole) Write(p []byte) (int, error) {
	for w.rest = append(w.rest, p...); len(w.rest) >= w.size; w.rest = w.rest[w.size:] {
		add(&w.sum, w.rest[:w.size])
		w.n++
	}
	w.rest = append([]byte(nil), w.rest...)
	return len(p), nil
}

// check reads what leaves.
func check(t testing.TB) {
	l := laid(t)
	s := store(t)
	did, _, err := l.Crowd.Sums(t.Context(), s)
	w := whole{size: envelope.X25519.Size(1, payload)}
	if err = errors.Join(err, l.Crowd.Write(t.Context(), s, &w)); err != nil {
		t.Fatal(err)
	}
	var came [32]byte
	for i := range *number {
		add(&came, inside(i))
	}
	if did.In != *number || did.Out != did.In || w.n != did.Out || w.sum != came {
		t.Errorf("%+v; %d left, the same ones: %v", did, w.n, w.sum == came)
	}
}

// plain opens as many envelopes of the same length, with crypto/hpke alone, on all cores.
func plain(t testing.TB) {
	key, err := hpke.DHKEM(ecdh.X25519()).GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	e, err := hpke.Seal(key.PublicKey(), hpke.HKDFSHA256(), hpke.AES128GCM(), nil, make([]byte, envelope.X25519.Size(1, payload)))
	if err != nil {
		t.Fatal(err)
	}
	cores := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range cores {
		wg.Go(func() {
			for i := w; i < *number; i += cores {
				if _, err := hpke.Open(key, hpke.HKDFSHA256(), hpke.AES128GCM(), nil, e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
