package analyzerd_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// The same over HTTP/2 and TLS, where a body that is refused early leaves the
// connection good for the next.
func TestBatchesOverTheNetwork(t *testing.T) {
	c := collect(t, nil)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	ca, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := ca.Server("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Config{
		Name: "analyzer", Listen: "127.0.0.1:0", Routes: r.service.Routes(),
		TLS: serve.TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, ForceAttemptHTTP2: true}}
	put := func(path string, body []byte) int {
		q, err := http.NewRequest("PUT", "https://"+addr.String()+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", wire.BatchType)
		a, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		io.Copy(io.Discard, a.Body)
		if a.ProtoMajor != 2 {
			t.Errorf("answered over %s", a.Proto)
		}
		return a.StatusCode
	}
	for _, h := range c.handovers {
		good := body(t, h)
		for _, step := range []struct {
			body []byte
			want int
		}{
			{bytes.Repeat([]byte{1}, 1<<20), 422}, {good[:len(good)-1], 422}, {good, 201}, {good, 200},
		} {
			if got := put(path(h), step.body); got != step.want {
				t.Errorf("status %d, want %d", got, step.want)
			}
		}
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.countedOnce(c, 4)
}
