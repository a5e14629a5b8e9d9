package chaos

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	counts "github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

var (
	loadEnvelopes = flag.Int("load.envelopes", 3_200, "envelopes that TestLoad sends through a hop and an analyzer")
	loadSent      = flag.Int("load.sent", 64, "envelopes of a contribution")
	loadHands     = flag.Int("load.hands", 16, "contributions under way at once")
)

const loadShare = 16 // contributions under way on one connection

const loadCrowd = 782 // contributions of a crowd: 50,048 envelopes of 64 a contribution

// load is a hop and an analyzer, each a process of its own, over TLS and HTTP/2.
type load struct {
	*world
	t        *testing.T
	client   *http.Client
	peers    []*http.Client // a connection for every loadShare contributions under way
	hop      *child
	analyzer *child
	bearers  []string
	batches  string // folder of what the hop has handed on
}

// Pre-sealed envelopes go through one hop, which has each contribution on disk
// before it acknowledges it, and then into the analyzer's database. It measures
// and asserts no time; that memory does not grow with what has passed is asserted
// from a million envelopes on.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it is a measurement")
	}
	people := (*loadEnvelopes + *loadSent - 1) / *loadSent
	w := newLoad(t, people)
	var waits []time.Duration
	var accepting time.Duration
	var memory []int64
	for first := 0; first < people; first += loadCrowd {
		bodies := w.seal(first/loadCrowd, min(loadCrowd, people-first))
		begin := time.Now()
		waits = append(waits, w.accept(first, bodies)...)
		accepting += time.Since(begin)
		memory = append(memory, w.hop.memory(t, "VmRSS"))
	}
	openings := min(5000, *loadEnvelopes/16) // few beside few envelopes
	before := bareRate(openings)
	spent := w.hop.processor(t)
	begin := time.Now()
	if err := writeClock(w.dir, w.hop.Name, time.Until(w.signed.Plan.Times.Closes)+time.Minute); err != nil {
		t.Fatal(err)
	}
	w.wait()
	mixing := time.Since(begin)
	mixed := w.hop.processor(t) - spent
	hopPeak := w.hop.memory(t, "VmHWM")
	w.hop.kill()

	between := bareRate(openings)
	begin = time.Now()
	w.count()
	counting := time.Since(begin)
	counted := w.analyzer.processor(t)
	analyzerPeak := w.analyzer.memory(t, "VmHWM")
	w.analyzer.kill()

	n := float64(people * *loadSent)
	// The machine is never quite idle: each of the two is set beside what it could
	// do right before and after.
	after := bareRate(openings)
	bareHop, bareAnalyzer := (before.rate+between.rate)/2, (between.rate+after.rate)/2
	cost := (before.cost + between.cost + after.cost) / 3
	slices.Sort(waits)
	at := func(share float64) time.Duration { return waits[int(share*float64(len(waits)-1))] }
	t.Logf("%.0f envelopes in contributions of %d and crowds of at most %d contributions; %d cores", n, *loadSent, loadCrowd, runtime.GOMAXPROCS(0))
	t.Logf("bare crypto/hpke: %.0f, %.0f and %.0f openings a second before, between and after; processor %.1f us each", before.rate, between.rate, after.rate, cost)
	t.Logf("accept on disk: %.0f envelopes a second; latency median %.1f ms, p99 %.1f ms, most %.1f ms, %d at once", n/accepting.Seconds(), ms(at(0.5)), ms(at(0.99)), ms(at(1)), *loadHands)
	t.Logf("hop: mix and hand on %.0f a second (%.0f %% of bare), with accepting %.0f (%.0f %%); processor %.1f us an envelope (%.0f a contribution) to accept and %.1f to mix (bare is %.0f %% of both)",
		n/mixing.Seconds(), 100*n/mixing.Seconds()/bareHop, n/(accepting+mixing).Seconds(), 100*n/(accepting+mixing).Seconds()/bareHop, spent.Seconds()/n*1e6, spent.Seconds()/float64(people)*1e6, mixed.Seconds()/n*1e6, 100*cost/((spent+mixed).Seconds()/n*1e6))
	t.Logf("analyzer: open, count and keep %.0f a second (%.0f %% of bare); processor %.1f us an envelope (bare is %.0f %% of it)", n/counting.Seconds(), 100*n/counting.Seconds()/bareAnalyzer, counted.Seconds()/n*1e6, 100*cost/(counted.Seconds()/n*1e6))
	t.Logf("memory: hop %d MB at its peak, %d MB after the first crowd and %d MB after the last was accepted; analyzer %d MB at its peak", hopPeak>>20, memory[0]>>20, memory[len(memory)-1]>>20, analyzerPeak>>20)
	if early, late := memory[len(memory)/5], memory[len(memory)-1]; n >= 1e6 && late > early+early/2+64<<20 {
		t.Errorf("memory grows from %d MB after a fifth of the contributions to %d MB after all", early>>20, late>>20)
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func newLoad(t *testing.T, people int) *load {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &load{t: t, world: &world{ring: rings(), dir: t.TempDir()}}
	w.batches = filepath.Join(w.dir, "batches")
	ring := &ring{dir: filepath.Join(w.dir, "ring"), publisher: publisherKey}
	check(errors.Join(os.Mkdir(ring.dir, 0o700), os.Mkdir(w.batches, 0o700)))
	for _, name := range []string{"keys", "operators"} {
		check(os.Symlink(filepath.Join(w.ring.dir, name), filepath.Join(ring.dir, name)))
	}
	names := make([]string, people)
	for i := range names {
		names[i] = fmt.Sprint("respondent", i)
	}
	var err error
	w.bearers, err = serve.AddBearers(seeded.New(3), filepath.Join(ring.dir, "respondents"), names...)
	check(err)

	authority, err := serve.NewAuthority("chaos", 24*time.Hour)
	check(err)
	cert, key, err := authority.Server("127.0.0.1")
	check(err)
	check(errors.Join(
		atomicfile.Replace(filepath.Join(w.dir, "roots.pem"), authority.PEM(), 0o600),
		atomicfile.Replace(filepath.Join(w.dir, "cert.pem"), cert, 0o600), atomicfile.Replace(filepath.Join(w.dir, "key.pem"), key, 0o600),
	))
	w.client, err = serve.Client(serve.Path(filepath.Join(w.dir, "roots.pem")))
	check(err)
	t.Cleanup(w.client.CloseIdleConnections)
	for range (*loadHands + loadShare - 1) / loadShare {
		peer, err := serve.Client(serve.Path(filepath.Join(w.dir, "roots.pem")))
		check(err)
		t.Cleanup(peer.CloseIdleConnections)
		w.peers = append(w.peers, peer)
	}

	started := func(name string) *child {
		c := &child{order: order{Name: name, Dir: filepath.Join(w.dir, name), Ring: ring.dir, Home: w.dir}}
		check(errors.Join(os.Mkdir(c.Dir, 0o700), c.start()))
		t.Cleanup(func() { c.kill() })
		return c
	}
	w.hop, w.analyzer = started(hopName(0, 0)), started("analyzer")
	sink := w.sink(cert, key)
	address := func(name string) string {
		if name == "analyzer" {
			return "https://" + sink
		}
		return "https://" + w.hop.at
	}
	now := time.Now().Truncate(time.Second).UTC()
	shape := shape{hops: []int{1}, minimum: 2, crowds: (people + loadCrowd - 1) / loadCrowd, sent: *loadSent}
	w.signed, err = w.ring.plan("load", shape, address, plan.Times{Opens: now.Add(-time.Hour), Closes: now.Add(24 * time.Hour)})
	check(err)
	for _, c := range []*child{w.hop, w.analyzer} {
		check(w.put("https://"+c.at+wire.PlanPath(w.signed.Plan.Hash()), wire.SignedPlanType, w.ring.operator, bytes.NewReader(w.signed.Marshal())))
	}
	return w
}

// sink stands where the hop takes the analyzer to be, and keeps what comes in
// files, so that each of the two is measured with both cores to itself.
func (w *load) sink(cert, key []byte) string {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13})
	if err != nil {
		w.t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		f, err := os.Create(filepath.Join(w.batches, filepath.Base(r.URL.Path)))
		if err == nil {
			_, err = io.Copy(f, r.Body)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			w.t.Error(err)
		}
		out.WriteHeader(http.StatusCreated)
	})}
	done := make(chan struct{})
	go func() { s.Serve(l); close(done) }()
	w.t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}

func (w *load) put(url, contentType, bearer string, body io.Reader) error {
	r, err := http.NewRequest(http.MethodPut, url, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+bearer)
	res, err := w.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		return p
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// seal makes the contributions of a crowd.
func (w *load) seal(crowd, people int) [][]byte {
	p := w.signed.Plan
	route := envelope.Route(p.Hash(), 0, uint32(crowd), w.ring.open[0][0].Public(), w.ring.analyzer.Public())
	sealer, err := envelope.NewSealer(route[1:], p.Envelopes.PayloadBytes)
	if err != nil {
		w.t.Fatal(err)
	}
	form := example.Form(p, 0)
	bodies := make([][]byte, people)
	var wg sync.WaitGroup
	for core := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			r := seeded.New(4, uint64(crowd), uint64(core))
			for i := core; i < people; i += runtime.GOMAXPROCS(0) {
				var envelopes [][]byte
				said := counts.NewMessages(1)
				said.Say(uint32(i%cells), 0)
				for _, payload := range fragment.Pack(r, said.Bodies, *loadSent, p.Envelopes.PayloadBytes) {
					e, err := sealer.Seal(payload)
					if err != nil {
						w.t.Error(err)
						return
					}
					envelopes = append(envelopes, e)
				}
				var err error
				if bodies[i], err = form.Seal(w.ring.open[0][0].Public(), uint32(crowd), envelopes); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return bodies
}

// accept hands contributions in, several at once, and says how long each took.
func (w *load) accept(first int, bodies [][]byte) []time.Duration {
	waits := make([]time.Duration, len(bodies))
	next := make(chan int)
	var wg sync.WaitGroup
	for hand := range *loadHands {
		peer := &load{t: w.t, world: w.world, client: w.peers[hand/loadShare]}
		wg.Go(func() {
			for i := range next {
				begin := time.Now()
				path := wire.ContributionPath(w.signed.Plan.Hash(), 0, wire.ContributionID(bodies[i]))
				if err := peer.put("https://"+w.hop.at+path, wire.ContributionType, w.bearers[first+i], bytes.NewReader(bodies[i])); err != nil {
					w.t.Error(err)
				}
				waits[i] = time.Since(begin)
			}
		})
	}
	for i := range bodies {
		next <- i
	}
	close(next)
	wg.Wait()
	return waits
}

// wait returns when the hop has handed on every crowd.
func (w *load) wait() {
	for ; ; time.Sleep(20 * time.Millisecond) {
		res, err := w.client.Get("https://" + w.hop.at + wire.StatusPath(w.signed.Plan.Hash()))
		if err != nil {
			w.t.Fatal(err)
		}
		var all []struct {
			Failing string
			Crowds  []struct{ Phase string }
		}
		err = json.NewDecoder(res.Body).Decode(&all)
		res.Body.Close()
		if err != nil || len(all) != 1 || all[0].Failing != "" {
			w.t.Fatalf("the hop: %+v, %v", all, err)
		}
		waits := false
		for _, c := range all[0].Crowds {
			waits = waits || c.Phase != "forwarded"
		}
		if !waits {
			return
		}
	}
}

// count hands the batches to the analyzer, one after the other as a hop does.
func (w *load) count() {
	for crowd := range w.signed.Plan.Crowds() {
		f, err := os.Open(filepath.Join(w.batches, fmt.Sprint(crowd)))
		if err != nil {
			w.t.Fatal(err)
		}
		err = w.put("https://"+w.analyzer.at+wire.BatchPath(w.signed.Plan.Hash(), 0, 1, uint32(crowd)), wire.BatchType, "", f)
		if err = errors.Join(err, f.Close()); err != nil && !errors.Is(err, os.ErrClosed) {
			w.t.Fatal(err)
		}
	}
}
