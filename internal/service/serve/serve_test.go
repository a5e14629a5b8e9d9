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
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
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
	return response, string(text), web.ReadProblem(response)
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
		Status: func(context.Context) *Status { return &Status{Facts: []Fact{{Name: "plans", Value: "3 <script>"}}} },
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
	if err := json.Unmarshal([]byte(text), &status); err != nil || len(status.Facts) == 0 || status.Facts[0].Name != "plans" || status.Since.IsZero() {
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
