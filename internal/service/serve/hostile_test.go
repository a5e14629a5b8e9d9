package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

func TestLimits(t *testing.T) {
	leakFree(t)
	wait, entered := make(chan struct{}), make(chan struct{}, 8)
	s := start(t, Config{
		Limits: Limits{Others: 2, PerAddress: 8, Memory: 2 * chunk, Header: 300 * time.Millisecond, Body: 300 * time.Millisecond, Connections: 8},
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
		if p := web.ReadProblem(response); p == nil || p.Code != wire.RequestTimeout {
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

// What is no request, or too large a one, is refused, and the next one is served.
func TestHostileConnections(t *testing.T) {
	leakFree(t)
	s := start(t, Config{Limits: Limits{Header: time.Second, Connections: 4, PerAddress: 4}})
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
