package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/wire"
)

// started is a service on a loopback port, and a client that trusts it.
type started struct {
	t      *testing.T
	url    string
	addr   string
	client *http.Client
	ca     *Authority
	log    *bytes.Buffer
	stop   func() error
}

func start(t *testing.T, c Config) *started {
	t.Helper()
	ca, err := NewAuthority("test", time.Hour)
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
	s := &started{t: t, ca: ca, log: &bytes.Buffer{}}
	c.Name, c.Listen = "test", "127.0.0.1:0"
	c.TLS = TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, ca.Pool())
	c.Log = slog.New(slog.NewTextHandler(s.log, nil))
	server, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s.addr, s.url = addr.String(), "https://"+addr.String()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, ForceAttemptHTTP2: true}
	s.client = &http.Client{Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	stopped := false
	s.stop = func() error {
		stopped = true
		transport.CloseIdleConnections()
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if !stopped {
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// do sends a request and returns status, body and the problem in it.
func (s *started) do(method, path string, body io.Reader, header ...string) (*http.Response, string, *wire.Problem) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, string(text), wire.ReadProblem(response)
}

func (s *started) wants(code wire.Code, method, path string, body io.Reader, header ...string) {
	s.t.Helper()
	if _, text, p := s.do(method, path, body, header...); p == nil || p.Code != code {
		s.t.Errorf("%s %s: %.100s, want the problem %s", method, path, text, code)
	}
}

func leakFree(t *testing.T) { t.Cleanup(func() { goleak.VerifyNone(t) }) }

func TestServiceAnswers(t *testing.T) {
	leakFree(t)
	ready := errors.New("the queue is not open")
	s := start(t, Config{
		Routes: map[string]Handler{
			"GET /v1/plans/{plan}": func(w http.ResponseWriter, r *http.Request) error {
				fmt.Fprintf(w, "%s %q %d", r.Proto, r.RemoteAddr, len(r.Header))
				return nil
			},
			"PUT /v1/echo": func(w http.ResponseWriter, r *http.Request) error {
				b, err := ReadBody(w, r, 100_000)
				if err != nil {
					return err
				}
				_, err = w.Write(b)
				return err
			},
			"GET /v1/panic": func(http.ResponseWriter, *http.Request) error { panic("a secret") },
			"GET /v1/fail":  func(http.ResponseWriter, *http.Request) error { return errors.New("for the log only") },
			"GET /v1/half": func(w http.ResponseWriter, r *http.Request) error {
				w.Write(make([]byte, 10))
				return errors.New("half of it")
			},
		},
		Ready:  func(context.Context) error { return ready },
		Status: func(context.Context) *Status { return &Status{Facts: []Fact{{"plans", "3 <script>"}}} },
	})

	// HTTP/2, and nothing of the client: only what Go's client cannot leave out.
	_, text, _ := s.do("GET", "/v1/plans/x", nil, "X-Forwarded-For", "192.0.2.1", "Cookie", "a=b", "User-Agent", "me")
	if text != `HTTP/2.0 "" 1` {
		t.Errorf("a handler sees %s", text)
	}
	s.wants(wire.NotFound, "GET", "/v1/other", nil)
	s.wants(wire.NotFound, "GET", "//v1/echo", nil)
	s.wants(wire.UnknownVersion, "GET", "/v2/plans", nil)
	if r, _, p := s.do("POST", "/v1/echo", nil); p == nil || p.Code != wire.MethodNotAllowed || r.Header.Get("Allow") != "PUT" {
		t.Errorf("POST where PUT is meant: %v", p)
	}
	s.wants(wire.Internal, "GET", "/v1/panic", nil)
	s.wants(wire.Internal, "GET", "/v1/fail", nil)
	if r, err := s.client.Get(s.url + "/v1/half"); err == nil {
		if _, err = io.ReadAll(r.Body); err == nil {
			t.Error("half an answer came through as a whole one")
		}
		r.Body.Close()
	}
	if l := s.log.String(); strings.Contains(l, "a secret") || strings.Contains(l, "127.0.0.1") && !strings.Contains(l, "msg=serving") || !strings.Contains(l, "for the log only") {
		t.Errorf("the log says %s", l)
	}

	for n, want := range map[int]bool{0: true, 1: true, 99_999: true, 100_000: true, 100_001: false, 1_000_000: false} {
		for _, known := range []bool{true, false} { // whether the length is announced
			var body io.Reader = bytes.NewReader(make([]byte, n))
			if !known {
				body = io.MultiReader(body)
			}
			_, text, p := s.do("PUT", "/v1/echo", body)
			if (p == nil) != want || want && len(text) != n || !want && p.Code != wire.TooLarge {
				t.Errorf("a body of %d bytes: %v", n, p)
			}
		}
	}

	s.wants(wire.Overloaded, "GET", "/readyz", nil)
	ready = nil
	for path, want := range map[string]string{
		"/readyz": "ready", "/healthz": "ok", "/metrics": `confetti_http_requests_total{route="PUT /v1/echo",status="200"}`,
		"/": "3 &lt;script&gt;", "/status.json": `"service":"test"`,
	} {
		if _, text, p := s.do("GET", path, nil); p != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %.200s", path, text)
		}
	}
	_, text, _ = s.do("GET", "/status.json", nil)
	var status Status
	if err := json.Unmarshal([]byte(text), &status); err != nil || len(status.Facts) != 1 || status.Since.IsZero() {
		t.Errorf("status %+v (%v)", status, err)
	}
}

func TestPrivateRoutesAreNotCounted(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) error { return nil }
	s := start(t, Config{Routes: map[string]Handler{"GET /v1/a": h, "GET /v1/b": h}, Private: map[string]bool{"GET /v1/a": true}})
	s.do("GET", "/v1/a", nil)
	s.do("GET", "/v1/b", nil)
	if _, text, _ := s.do("GET", "/metrics", nil); strings.Contains(text, "/v1/a") || !strings.Contains(text, "/v1/b") {
		t.Error("the metrics do not count b alone")
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := start(t, Config{})
	c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: s.ca.Pool(), MaxVersion: tls.VersionTLS12})
	if err == nil {
		c.Close()
		t.Error("TLS 1.2 was accepted")
	}
}

func TestLimits(t *testing.T) {
	leakFree(t)
	wait, entered := make(chan struct{}), make(chan struct{}, 8)
	s := start(t, Config{
		Limits: Limits{Requests: 2, Memory: 2 * chunk, Header: 300 * time.Millisecond, Body: 300 * time.Millisecond, Connections: 8},
		Routes: map[string]Handler{
			"GET /v1/wait": func(w http.ResponseWriter, r *http.Request) error {
				entered <- struct{}{}
				<-wait
				return nil
			},
			"PUT /v1/echo": func(w http.ResponseWriter, r *http.Request) error {
				_, err := ReadBody(w, r, 1<<20)
				return err
			},
		},
	})
	s.wants(wire.Overloaded, "PUT", "/v1/echo", bytes.NewReader(make([]byte, 3*chunk))) // more than the memory
	if _, _, p := s.do("PUT", "/v1/echo", bytes.NewReader(make([]byte, chunk))); p != nil {
		t.Errorf("the memory of an answered request is not free again: %v", p)
	}

	done := make(chan struct{})
	for range 2 {
		go func() { s.do("GET", "/v1/wait", nil); done <- struct{}{} }()
		<-entered
	}
	r, _, p := s.do("GET", "/v1/wait", nil)
	if p == nil || p.Code != wire.Overloaded || !p.Retry() || r.Header.Get("Retry-After") != "1" {
		t.Errorf("a third request: %v", p)
	}
	if _, _, p := s.do("GET", "/healthz", nil); p != nil {
		t.Errorf("a busy service is not healthy: %v", p)
	}
	close(wait)
	<-done
	<-done

	// A body that trickles is cut off, in a handler that goes on.
	reader, writer := io.Pipe()
	go func() {
		for {
			if _, err := writer.Write([]byte{0}); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	request, _ := http.NewRequest("PUT", s.url+"/v1/echo", reader)
	request.ContentLength = 1000
	response, err := s.client.Do(request)
	reader.Close()
	if err == nil {
		if p := wire.ReadProblem(response); p == nil || p.Code != wire.RequestTimeout {
			t.Errorf("a slow body: %v", p)
		}
		response.Body.Close()
	}

	// Headers that trickle cost a connection its life; meanwhile others are served.
	var slow []net.Conn
	for range 6 {
		c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: s.ca.Pool(), NextProtos: []string{"http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		slow = append(slow, c)
	}
	if _, _, p := s.do("GET", "/healthz", nil); p != nil {
		t.Errorf("under slow headers: %v", p)
	}
	for _, c := range slow {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection with a slow header lives on")
		}
	}
}

func TestRequestsUnderWayFinish(t *testing.T) {
	leakFree(t)
	entered, wait := make(chan struct{}), make(chan struct{})
	s := start(t, Config{Routes: map[string]Handler{"GET /v1/wait": func(w http.ResponseWriter, r *http.Request) error {
		close(entered)
		<-wait
		w.Write([]byte("whole"))
		return nil
	}}})
	answer := make(chan string)
	go func() {
		_, text, _ := s.do("GET", "/v1/wait", nil)
		answer <- text
	}()
	<-entered
	stopped := make(chan error)
	go func() { stopped <- s.stop() }()
	select {
	case <-stopped:
		t.Error("stopped before its request was answered")
	case <-time.After(50 * time.Millisecond):
	}
	close(wait)
	if text := <-answer; text != "whole" {
		t.Errorf("the answer is %q", text)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestProfilesAreForThisMachineOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:6060", "localhost:0", "127.0.0.1"} {
		if d, err := listenDebug(address); err == nil {
			d.close()
			t.Errorf("profiles at %s", address)
		}
	}
	d, err := listenDebug("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	go d.serve()
	r, err := http.Get("http://" + d.listener.Addr().String() + "/debug/pprof/")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("status %d", r.StatusCode)
	}
}

// What is no request, or too large a one, is refused, and the next one is served.
func TestHostileConnections(t *testing.T) {
	leakFree(t)
	s := start(t, Config{Limits: Limits{Header: time.Second, Connections: 4}})
	for _, hello := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\xff\xff", strings.Repeat("x", 1<<16)} {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(hello))
		c.Close()
	}
	secure := func(protocol string) net.Conn {
		c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: s.ca.Pool(), NextProtos: []string{protocol}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(5 * time.Second))
		return c
	}
	for _, garbage := range []string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x00", strings.Repeat("\x00", 1<<15)} {
		c := secure("h2")
		c.Write([]byte(garbage))
		io.Copy(io.Discard, c) // until the service closes it
		c.Close()
	}
	c := secure("http/1.1")
	fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 4*maxHeader))
	answer, _ := io.ReadAll(c)
	if !bytes.Contains(answer, []byte("431")) {
		t.Errorf("a header of %d bytes: %.60q", 4*maxHeader, answer)
	}
	c.Close()
	r, err := http.NewRequest("GET", s.url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", strings.Repeat("x", 4*maxHeader))
	if response, err := s.client.Do(r); err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of %d bytes over HTTP/2: status %d", 4*maxHeader, response.StatusCode)
		}
	}
	if _, _, p := s.do("GET", "/healthz", nil); p != nil {
		t.Errorf("after all that: %v", p)
	}
}

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
