package mixer_test

import (
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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/blob"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/shuffler"
	"github.com/confetti-dp/confetti/shuffler/mixer"
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
)

const payload = 8

// load is one hop, and what a crowd was made of.
type load struct {
	Plan  json.RawMessage
	Crowd mixer.Crowd
	Sum   [32]byte // of all that is inside, whatever the order
}

// A crowd in parts leaves whole, each envelope once, in another order than it came in.
func TestLoad(t *testing.T) {
	if *role == "" {
		*dir = t.TempDir()
		for *worker = range 2 { // one after the other: the second finds what the first left
			*workers = 2
			if *worker == 0 {
				lay(t)
			}
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
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	fmt.Printf("%s: %d envelopes, %.2f us of processor each, %.0f s by the wall, at most %d MB\n",
		*role, *number, float64(cpu.Microseconds())/float64(*number), time.Since(start).Seconds(), used.Maxrss>>10)
}

// hop makes the one hop that there is.
func (l load) hop(t testing.TB) *shuffler.Hop {
	var p plan.Plan
	file, err := envelope.ReadKeyFile(filepath.Join(*dir, "key.json"))
	if err = errors.Join(err, json.Unmarshal(l.Plan, &p)); err != nil {
		t.Fatal(err)
	}
	h, err := shuffler.NewHop(p, 0, 0, file.Key)
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

// lay seals a crowd, of one layer round what counts, and lays it out.
func lay(t testing.TB) {
	key, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := envelope.GenerateKey(envelope.X25519)
	if err == nil {
		err = envelope.CreateKeyFile(filepath.Join(*dir, "key.json"), envelope.KeyFile{Key: key, Purpose: "load"})
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
		Analyzer:  plan.Party{Operator: "analyzer", Key: reader.Public().String()},
		Times:     plan.Times{Opens: now, Closes: now.Add(time.Hour)},
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	l := load{Plan: text, Crowd: mixer.New("load", envelope.Head{
		Plan: p.Hash(), Respondents: uint32(*number), Envelopes: uint32(*number), Size: envelope.X25519.Size(2, payload),
	}, *most)}
	inner := envelope.X25519.Size(1, payload)
	outer := envelope.Route(p.Hash(), 0, 0, key.Public(), reader.Public())
	sealer, err := envelope.NewSealer(outer[:1], inner)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Crowd.Lay(t.Context(), store(t), func(take func([]byte) error) error {
		const together = 1 << 14
		for from := 0; from < *number; from += together {
			sealed := make([][]byte, min(together, *number-from))
			cores := runtime.GOMAXPROCS(0)
			sums := make([][32]byte, cores)
			var wg sync.WaitGroup
			for w := range cores {
				wg.Go(func() {
					for i := w; i < len(sealed); i += cores {
						in := make([]byte, inner)
						digest := sha256.Sum256(fmt.Appendf(nil, "what is in envelope %d", from+i))
						copy(in, digest[:])
						add(&sums[w], in)
						var err error
						if sealed[i], err = sealer.Seal(in); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			for _, s := range sums {
				for i := 0; i < len(s); i += 8 {
					binary.BigEndian.PutUint64(l.Sum[i:], binary.BigEndian.Uint64(l.Sum[i:])+binary.BigEndian.Uint64(s[i:]))
				}
			}
			for _, e := range sealed {
				if err := take(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(l); err == nil {
		err = os.WriteFile(filepath.Join(*dir, "load.json"), text, 0o600)
	}
	if err != nil {
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
	if did.In != int(l.Crowd.Envelopes) || did.Out != did.In || w.n != did.Out || w.sum != l.Sum {
		t.Errorf("%+v; %d left, the same ones: %v", did, w.n, w.sum == l.Sum)
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
