package chaos

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// The traffic of a whole collection, altered in every way, is refused by every
// service with a problem of its own, takes no memory, and changes nothing: the
// collection comes to its end with everybody counted once.
func TestAlteredTraffic(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		t.Run(fmt.Sprintf("tokens %v", tokens), func(t *testing.T) { altered(t, tokens) })
	}
}

func altered(t *testing.T, tokens bool) {
	w, err := newWorld(shape{hops: []int{2}, tokens: tokens, minimum: 3, devices: 6, crowds: 1}, "altered")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for d := range w.shape.devices {
		w.report(d)
	}
	// What it takes to hand in a batch comes before the batch does: each is altered
	// on its way, and arrives whole only afterwards.
	r := seeded.New(11)
	codes := map[wire.Code]int{}
	var traffic []*parcel
	w.net.tap = func(x *parcel) {
		traffic = append(traffic, x)
		if strings.Contains(x.path, "/batches/") {
			w.alter(t, r, []*parcel{x}, 150, codes)
		}
	}
	traffic = append(traffic, w.net.past...)
	before := heap()
	w.alter(t, r, traffic, 1500, codes)
	w.now = closes
	for range 3 {
		for _, name := range []string{"hop0.0", "hop0.1"} {
			w.step(name)
		}
	}
	w.alter(t, r, traffic, 1500, codes)
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("%d MB are held after it", grown>>20)
	}
	w.net.tap = nil
	w.finish()
	for _, v := range w.violations {
		t.Error(v)
	}
	if released := w.counted(); len(released) != 1 {
		t.Errorf("%d crowds were released, want 1", len(released))
	}
	for _, c := range []wire.Code{wire.BadRequest, wire.UnknownPlan, wire.NotFound, wire.WrongRole, wire.UnsupportedMediaType, wire.BatchRefused, wire.ReceiptRefused, wire.BatchTaken, wire.EpochOver, wire.MethodNotAllowed, wire.UnknownVersion} {
		if codes[c] == 0 {
			t.Errorf("nothing was refused as %s", c)
		}
	}
	t.Log(codes)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// alter sends altered copies of traffic, and wants nothing new to come of them.
func (w *world) alter(t *testing.T, r *rand.Rand, traffic []*parcel, n int, codes map[wire.Code]int) {
	t.Helper()
	for range n {
		whole := traffic[r.IntN(len(traffic))]
		x := *whole
		x.header = x.header.Clone()
		how := mutate(r, &x, traffic[r.IntN(len(traffic))])
		to := w.nodes[x.to]
		if r.IntN(10) == 0 { // to whom it is not meant for
			to = w.nodes[w.services()[r.IntN(len(w.services()))]]
		}
		req, err := http.NewRequest(x.method, "https://x"+x.path, bytes.NewReader(x.body))
		if err != nil {
			continue // no request at all
		}
		req.Header = x.header
		rec := httptest.NewRecorder()
		to.handler.ServeHTTP(rec, req)
		res := rec.Result()
		if res.StatusCode < 300 {
			// 200 changes nothing: a page that all may see, or a crowd that is here
			// already, which its receipts alone tell. 201 is for what is whole.
			if res.StatusCode == http.StatusCreated && !bytes.Equal(x.body, whole.body) {
				t.Errorf("%s answers %s of %s %s with 201", to.name, how, x.method, x.path)
			}
			continue
		}
		p := web.ReadProblem(res)
		if p == nil || p.Remedy == "" || p.Status != res.StatusCode || res.StatusCode >= 500 {
			t.Errorf("%s answers %s of %s %s with %d and %v", to.name, how, x.method, x.path, res.StatusCode, p)
			continue
		}
		if kind, known := wire.KindOf(p.Code); !known || kind.Status != res.StatusCode {
			t.Errorf("%s answers %s with the code %s", to.name, how, p.Code)
		}
		codes[p.Code]++
	}
}

// mutate alters a request in one way and says how.
func mutate(r *rand.Rand, x *parcel, other *parcel) string {
	body := bytes.Clone(x.body)
	at := 0
	if len(body) > 0 {
		at = r.IntN(len(body))
	}
	parts := strings.Split(x.path, "/")
	switch r.IntN(11) {
	case 0:
		if len(body) > 0 {
			body[at] ^= 1 << r.IntN(8)
		}
		x.body = body
		return "a flipped bit of the body"
	case 1:
		x.body = body[:at]
		return "a shorter body"
	case 2:
		more := make([]byte, 1+r.IntN(3000))
		rng.Reader(r).Read(more)
		x.body = append(body, more...)
		return "a longer body"
	case 3:
		x.body = append(body[:at:at], other.body[min(at, len(other.body)):]...)
		if bytes.Equal(x.body, body) {
			x.body = nil
		}
		return "a spliced body"
	case 4:
		rng.Reader(r).Read(body)
		x.body = body
		return "a random body"
	case 5:
		i := 1 + r.IntN(len(parts)-1)
		parts[i] = []string{"", "..", "0", "1", "65536", "-1", strings.Repeat("0", 64), strings.Repeat("ff", 32), "%00", "v2"}[r.IntN(10)]
		x.path = strings.Join(parts, "/")
		return "another path"
	case 6:
		x.path = strings.Join(parts[:1+r.IntN(len(parts))], "/")
		if x.path == "" {
			x.path = "/"
		}
		return "a shorter path"
	case 7:
		x.header.Set("Content-Type", []string{"", "text/plain", strings.NewReplacer("version=1", "version=2", "version=2", "version=1").Replace(x.header.Get("Content-Type")), other.header.Get("Content-Type")}[r.IntN(4)])
		return "another type"
	case 8:
		made := make([]byte, token.Size)
		rng.Reader(r).Read(made)
		x.header.Set("Authorization", []string{"", "Bearer x", tokenwire.Authorization(made), other.header.Get("Authorization")}[r.IntN(4)])
		return "another authorization"
	case 9:
		x.method = []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPut}[r.IntN(4)]
		return "another method"
	default:
		x.path = other.path
		return "another's path"
	}
}

// endless is a body without an end that counts what was read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

// Of a body that is too long no service reads much more than one that is not.
func TestEndlessBodies(t *testing.T) {
	w, err := newWorld(shape{hops: []int{2}, tokens: true, minimum: 2, devices: 2, crowds: 1}, "endless")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	hash := w.signed.Plan.Hash()
	for name, c := range map[string]struct{ method, path, contentType, to string }{
		"contribution": {http.MethodPut, wire.ContributionPath(hash, 0, [32]byte{1}), wire.ContributionType, "hop0.0"},
		"batch":        {http.MethodPut, wire.BatchPath(hash, 0, 1, 0), wire.BatchType, "hop0.1"},
		"last batch":   {http.MethodPut, wire.BatchPath(hash, 0, 2, 0), wire.BatchType, "analyzer"},
		"tokens":       {http.MethodPost, wire.TokensPath(hash), wire.TokenRequestType, "issuer"},
		"plan":         {http.MethodPut, wire.PlanPath(hash), wire.SignedPlanType, "hop0.0"},
	} {
		body := &endless{}
		r := httptest.NewRequest(c.method, c.path, body)
		r.ContentLength = -1
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("Authorization", "Bearer "+w.ring.bearers[0])
		rec := httptest.NewRecorder()
		w.nodes[c.to].handler.ServeHTTP(rec, r)
		p := web.ReadProblem(rec.Result())
		if p == nil || p.Status >= 500 {
			t.Errorf("%s: %v", name, p)
		}
		if most := int64(10 << 20); body.read > most { // a plan may have 8 MB
			t.Errorf("%s: %d MB were read", name, body.read>>20)
		}
	}
}

// Those who open connections and say nothing, or half of it, are let go of, and
// keep nobody waiting.
func TestStalledConnections(t *testing.T) {
	w, err := newWorld(shape{hops: []int{1}, minimum: 2, devices: 2, crowds: 1}, "stalled")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	authority, err := serve.NewAuthority("chaos", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	target, stop := listen(t, w.nodes["hop0.0"].config, authority, serve.Limits{Connections: 32, PerAddress: 32, Header: time.Second, Body: time.Second, Idle: time.Second})
	defer stop()
	config := &tls.Config{RootCAs: authority.Pool(), ServerName: "127.0.0.1"}
	path := wire.ContributionPath(w.signed.Plan.Hash(), 0, [32]byte{1})
	size := len(w.prepared(t, 0).body)
	head := fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n", path, wire.ContributionType, w.ring.bearers[1], size)
	var wg sync.WaitGroup
	ended := make(chan struct{})
	for i := range 60 { // more than there is room for
		c, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer c.Close()
			var conn net.Conn = c
			if i%4 > 0 {
				conn = tls.Client(c, config)
			}
			switch i % 4 { // nothing; a TLS handshake; half a header; half a body
			case 1:
				conn.(*tls.Conn).Handshake()
			case 2:
				io.WriteString(conn, head[:len(head)/2])
			case 3:
				io.WriteString(conn, head+"\r\nhalf")
			}
			io.Copy(io.Discard, conn) // until the service lets go
		})
	}
	go func() { wg.Wait(); close(ended) }()
	// Meanwhile an honest device is served, though it may wait for a place.
	x := w.net.past[0]
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	served := 0
	for deadline := time.Now().Add(patience); served == 0 && time.Now().Before(deadline); { // on a busy machine it may be late too, and comes again
		r, err := http.NewRequest(x.method, "https://"+target+x.path, bytes.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = x.header
		if res, err := client.Do(r); err == nil {
			res.Body.Close()
			served = res.StatusCode
		}
	}
	if served != http.StatusCreated && served != http.StatusOK {
		t.Errorf("an honest device is answered with %d", served)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("connections that say nothing are kept")
	}
}

// prepared is a device's contribution, made and not delivered.
func (w *world) prepared(t *testing.T, d int) *parcel {
	t.Helper()
	w.net.fault["hop0.0"] = []string{"cut"}
	w.report(d)
	if len(w.net.past) == 0 {
		t.Fatal("the device has sent nothing")
	}
	return w.net.past[len(w.net.past)-1]
}

// listen has a service answer at a port of this machine.
func listen(t *testing.T, c serve.Config, a *serve.Authority, l serve.Limits) (address string, stop func()) {
	t.Helper()
	cert, key, err := a.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Limits = "127.0.0.1:0", l
	c.TLS = serve.TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil)
	s, err := serve.New(c)
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	return at.String(), func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
