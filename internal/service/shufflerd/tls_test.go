package shufflerd

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Two hops as they run: TLS 1.3 and HTTP/2 on loopback, clocks and background
// work of their own. One of the crowds has more than fits one piece of a box.
func TestOverTLS(t *testing.T) {
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	certificate := func() tls.Certificate {
		cert, key, err := authority.Server("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}, ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()

	const perDevice, devices = 256, 4 // envelopes of more than 1,024 bytes: together more than a chunk
	w := newWorld(t, 2, func(p *plan.Plan) {
		p.Question.Density.Repetitions, p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = perDevice, perDevice, 1024
		p.Times = plan.Times{Closes: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	})
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()

	// The analyzer is the world's, and says when it has a crowd.
	arrived := make(chan string, 1)
	analyzer := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.analyze(out, r)
		if r.Method == http.MethodPut {
			arrived <- r.Proto
		}
	}))
	analyzer.EnableHTTP2 = true
	analyzer.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate()}}
	analyzer.StartTLS()
	defer analyzer.Close()

	var urls []string
	var services []*Service
	for h := range 2 {
		w.stop(h)
		store, err := w.keep(h)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		blobs, err := blob.OpenFolder(w.blobs(h))
		if err != nil {
			t.Fatal(err)
		}
		bearers, err := serve.ReadBearers(w.bearers)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(ctx, Options{Common: serve.Common{Keys: w.keys(h), Client: client}, Store: store, Blobs: blobs, Publishers: serve.Trust(w.signed.Publisher), Bearers: bearers})
		if err != nil {
			t.Fatal(err)
		}
		pair := certificate()
		own := serve.TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil)
		server, err := serve.New(serve.Config{Name: "shuffler", Listen: "127.0.0.1:0", TLS: own, Routes: s.Routes()})
		if err != nil {
			t.Fatal(err)
		}
		addr, err := server.Listen()
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, "https://"+addr.String())
		services = append(services, s)
		background.Go(func() { s.Run(ctx) })
		background.Go(func() {
			if err := server.Serve(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for h := range 2 {
		w.plan.Route.Mix.Instances[0].Hops[h].URL = urls[h]
	}
	w.plan.Analyzer.URL = analyzer.URL
	w.signed = plan.Sign(w.plan, w.publish)

	put := func(url, kind string, body []byte, change func(*http.Request)) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", kind)
		if change != nil {
			change(r)
		}
		res, err := client.Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
		if res.StatusCode != http.StatusCreated || res.ProtoMajor != 2 {
			return fmt.Errorf("%s %s", res.Proto, res.Status)
		}
		return nil
	}
	for _, url := range urls {
		if err := put(url+wire.PlanPath(w.plan.Hash()), wire.SignedPlanType, w.signed.Marshal(), nil); err != nil {
			t.Fatal(err)
		}
	}
	var devicesDone sync.WaitGroup
	errs := make([]error, devices)
	for d := range devices {
		body := w.contribution(0, d)
		devicesDone.Go(func() {
			errs[d] = put(urls[0]+wire.ContributionPath(w.plan.Hash(), 0, wire.ContributionID(body)), wire.ContributionType, body, func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+w.tokens[fmt.Sprint("device", d)])
			})
		})
	}
	devicesDone.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := services[0].Close(ctx, w.plan.Hash()); err != nil {
		t.Fatal(err)
	}
	select {
	case proto := <-arrived:
		if proto != "HTTP/2.0" {
			t.Errorf("the analyzer was reached over %s", proto)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("nothing arrived: %+v", services[0].Statuses(t.Context()))
	}
	if got := w.read(0); len(got) != devices*perDevice {
		t.Errorf("%d envelopes arrived", len(got))
	}
}
