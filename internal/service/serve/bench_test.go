package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"testing"
	"time"
)

// One contribution of 64 envelopes, over loopback with TLS and HTTP/2.
func BenchmarkPut(b *testing.B) {
	ca, err := NewAuthority("test", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	cert, key, err := ca.Server("127.0.0.1")
	if err != nil {
		b.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		b.Fatal(err)
	}
	server, err := New(Config{
		Name: "test", Listen: "127.0.0.1:0", TLS: TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil),
		Routes: map[string]Handler{"PUT /v1/x": func(w http.ResponseWriter, r *http.Request) error {
			_, err := ReadBody(w, r, 1<<20)
			return err
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	addr, err := server.Listen()
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport}
	body := make([]byte, 64*150)
	b.SetBytes(int64(len(body)))
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			r, err := http.NewRequest("PUT", "https://"+addr.String()+"/v1/x", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			response, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			response.Body.Close()
		}
	})
	transport.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
}
