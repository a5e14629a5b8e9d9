package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// unreachable is an answer to nobody.
func unreachable() *http.ResponseController {
	return http.NewResponseController(httptest.NewRecorder())
}

func refuses(t *testing.T, err error, what string) {
	t.Helper()
	if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != wire.Overloaded || p.RetryAfter == 0 {
		t.Errorf("%s: %v", what, err)
	}
}

// Places are given out up to what there are, in all and of one connection, address
// and respondent, and given back.
func TestPlacesAreBounded(t *testing.T) {
	p := newPool(6, 2, 4, time.Hour, &memory{})
	at := func(last byte) *connection { return &connection{address: netip.AddrFrom4([4]byte{10, 0, 0, last})} }
	a, b, c, d := at(1), at(1), at(1), at(2)
	var held []*place
	enter := func(conn *connection, sender Respondent, wantFull bool, what string) {
		t.Helper()
		pl, err := p.enter(unreachable(), conn, sender)
		if wantFull {
			refuses(t, err, what)
			return
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		held = append(held, pl)
	}
	enter(a, Respondent{}, false, "the first of a connection")
	enter(a, Respondent{}, false, "the second of a connection")
	enter(a, Respondent{}, true, "the third of a connection")
	enter(b, Respondent{}, false, "the third of an address")
	enter(b, Respondent{}, false, "the fourth of an address")
	enter(c, Respondent{}, true, "the fifth of an address")
	enter(d, Respondent{}, false, "one of another address")
	enter(nil, Respondent{}, false, "the sixth of all")
	enter(nil, Respondent{}, true, "the seventh of all")
	for _, pl := range held {
		pl.leave()
		pl.leave() // once is enough, twice is no more
	}
	held = nil
	for range p.ofSender {
		enter(nil, Respondent{1}, false, "one of a respondent")
	}
	enter(nil, Respondent{1}, true, "one too many of a respondent")
	enter(nil, Respondent{2}, false, "one of another respondent")
	for _, pl := range held {
		pl.leave()
	}
	if p.order.Len()+len(p.conns)+len(p.address)+len(p.senders) > 0 {
		t.Errorf("what is over is still counted: %+v", p)
	}
}

// Who waits for its sender gives its place up after a while, and who does not keeps
// it for as long as it needs.
func TestTheSlowestGivesItsPlaceUp(t *testing.T) {
	p := newPool(2, 9, 9, time.Millisecond, &memory{})
	enter := func() *place {
		t.Helper()
		pl, err := p.enter(unreachable(), nil, Respondent{})
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	busy, slow := enter(), enter()
	began, cut := make(chan struct{}), make(chan struct{})
	kept := make(chan bool)
	go func() {
		kept <- slow.waitToRead(time.Now().Add(time.Hour), func() int {
			close(began)
			<-cut
			return 0
		})
	}()
	<-began
	time.Sleep(2 * time.Millisecond)
	next := enter()
	close(cut)
	if <-kept {
		t.Error("it did not notice")
	}
	_, err := p.enter(unreachable(), nil, Respondent{})
	refuses(t, err, "nobody waits for its sender")
	if slow.waitToWrite(func() int { t.Error("it waits again"); return 0 }) {
		t.Error("it has its place again")
	}
	slow.leave()
	busy.leave()
	enter().leave()
	next.leave()
}

// Who sends quickly keeps a place that goes to others otherwise.
func TestAQuickSenderKeepsItsPlace(t *testing.T) {
	p := newPool(1, 9, 9, time.Millisecond, &memory{})
	p.quick = 1000
	pl, err := p.enter(unreachable(), nil, Respondent{})
	if err != nil {
		t.Fatal(err)
	}
	const minute = 60_000 // bytes at that rate
	for _, c := range []struct {
		sent int
		kept bool
	}{{2 * minute, true}, {0, false}} {
		p.mu.Lock()
		pl.since, pl.got = time.Now().Add(-time.Minute), 0
		p.mu.Unlock()
		pl.waitToRead(time.Now().Add(time.Hour), func() int { return c.sent })
		pl.waitToRead(time.Now().Add(time.Hour), func() int { // waits for more
			other, err := p.enter(unreachable(), nil, Respondent{})
			if kept := err != nil; kept != c.kept {
				t.Errorf("%d bytes in a minute: keeps its place: %v", c.sent, kept)
			}
			if err == nil {
				other.leave()
			}
			return 0
		})
	}
}

// The network's side of the same: whoever comes while all places are held by
// trickling bodies is served, and those whose place it took are told.
func TestATricklingBodyMakesRoom(t *testing.T) {
	leakFree(t)
	s := start(t, Config{
		Limits: Limits{Requests: 2, Memory: 1 << 20},
		Routes: map[string]Handler{wire.ContributionPattern: func(w http.ResponseWriter, r *http.Request) error {
			if r.Header.Get("Authorization") != "known" {
				return wire.Problemf(wire.Unauthenticated, "who is it?")
			}
			if err := Enter(r, Respondent{}); err != nil {
				return err
			}
			_, err := ReadBody(w, r, 1000)
			return err
		}},
	})
	path := wire.ContributionPath([32]byte{}, 0, [32]byte{})
	var told sync.WaitGroup
	codes := make(chan wire.Code, 2)
	for range cap(codes) {
		body, end := io.Pipe()
		defer end.Close()
		go end.Write([]byte("x"))
		told.Go(func() {
			r, _ := http.NewRequest("PUT", s.url+path, body)
			r.ContentLength = 1000
			r.Header.Set("Authorization", "known")
			response, err := s.client.Do(r)
			if err != nil {
				codes <- wire.Code(err.Error())
				return
			}
			codes <- web.ReadProblem(response).Code
			response.Body.Close()
		})
	}
	time.Sleep(100 * time.Millisecond)
	s.wants(wire.Overloaded, "PUT", path, bytes.NewReader(nil), "Authorization", "known") // they may be quick
	s.wants(wire.Unauthenticated, "PUT", path, bytes.NewReader(nil))                      // takes no place
	time.Sleep(patience)
	for range 2 {
		if _, _, p := s.do("PUT", path, bytes.NewReader(nil), "Authorization", "known"); p != nil {
			t.Error(p)
		}
	}
	if code := <-codes; code != wire.Overloaded {
		t.Errorf("who gave its place up is told %s", code)
	}
}

// A sender must keep a rate in every window, however much it sent before.
func TestABodyKeepsComing(t *testing.T) {
	window := 500 * time.Millisecond
	enough := int(window.Seconds() * leastRate)
	s := start(t, Config{
		Limits: Limits{Body: window},
		Routes: map[string]Handler{"PUT /v1/echo": func(w http.ResponseWriter, r *http.Request) error {
			_, err := ReadBody(w, r, 1<<20)
			return err
		}},
	})
	send := func(body func(w io.Writer, pause func(time.Duration))) *wire.Problem {
		c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: s.ca.Pool(), NextProtos: []string{"http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "PUT /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 10*enough)
		answered := make(chan struct{})
		var sending sync.WaitGroup
		sending.Go(func() {
			body(c, func(d time.Duration) {
				select {
				case <-answered:
				case <-time.After(d):
				}
			})
		})
		defer sending.Wait()
		defer close(answered)
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		answer := make([]byte, 20)
		io.ReadFull(c, answer)
		var status int
		fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
		return web.ReadProblem(&http.Response{StatusCode: status, Body: http.NoBody})
	}
	if p := send(func(w io.Writer, pause func(time.Duration)) {
		for range 20 { // in each window comes twice what must
			w.Write(make([]byte, enough/2))
			pause(window / 4)
		}
	}); p != nil {
		t.Errorf("a body that keeps coming: %d", p.Status)
	}
	if p := send(func(w io.Writer, pause func(time.Duration)) {
		w.Write(make([]byte, 9*enough))
		pause(10 * window)
		w.Write(make([]byte, enough))
	}); p == nil || p.Status != http.StatusRequestTimeout {
		t.Errorf("a body that stops near its end: %+v", p)
	}
}

// Connections without a request keep nobody out, and one address cannot have all.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	leakFree(t)
	s := start(t, Config{Limits: Limits{Connections: 8, PerAddress: 8}})
	var idle []net.Conn
	for range 30 {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	if _, _, p := s.do("GET", "/healthz", nil); p != nil {
		t.Error(p)
	}
	idle[0].SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := idle[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the one that was idle longest is still there: %v", err)
	}
}

// Who has requests under way is not let go of for others: they wait, or are turned
// away where they are of the address that has its share.
func TestBusyConnectionsStay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := limitConnections(l, 2, 2)
	defer all.Close()
	accepted := make(chan *connection, 3)
	go func() {
		for {
			c, err := all.Accept()
			if err != nil {
				return
			}
			accepted <- c.(*connection)
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	first := <-accepted
	end := first.begin()
	dial()
	second := <-accepted
	defer second.begin()()
	// Both are busy, and their address has its share.
	turnedAway := dial()
	turnedAway.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := turnedAway.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a third connection: %v", err)
	}
	end()
	dial()
	third := <-accepted
	if all.has(first) || !all.has(second) || !all.has(third) {
		t.Error("not the one without a request made room")
	}
	third.Close()
	third.Close()
	if all.address[third.address] != 1 || len(all.open) != 1 {
		t.Errorf("%d connections are counted", len(all.open))
	}
}

func TestAddressOfANetwork(t *testing.T) {
	for text, want := range map[string]string{"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::", "fe80::1%eth0": "fe80::"} {
		a := netip.MustParseAddr(text)
		if got, relay := addressOf(&connTo{a}, nil); got.String() != want || relay {
			t.Errorf("%s counts as %s, not %s", text, got, want)
		}
	}
	// Each address of a relay is the relay's.
	relays := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:7:7:8::/80")}
	for text, want := range map[string]string{"203.0.113.9": "203.0.113.0", "::ffff:203.0.113.77": "203.0.113.0", "2001:db8:7:7:8::5": "2001:db8:7:7:8::"} {
		if got, relay := addressOf(&connTo{netip.MustParseAddr(text)}, relays); got.String() != want || !relay {
			t.Errorf("%s counts as %s, %v, not %s", text, got, relay, want)
		}
	}
	if got, relay := addressOf(&connTo{netip.MustParseAddr("2001:db8:7:7:9::5")}, relays); relay || got.String() != "2001:db8:7:7::" {
		t.Errorf("a neighbour of the relay counts as %s, %v", got, relay)
	}
}

type connTo struct{ a netip.Addr }

func (c *connTo) RemoteAddr() net.Addr             { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.a, 1)) }
func (c *connTo) LocalAddr() net.Addr              { return nil }
func (c *connTo) Read([]byte) (int, error)         { return 0, io.EOF }
func (c *connTo) Write([]byte) (int, error)        { return 0, io.EOF }
func (c *connTo) Close() error                     { return nil }
func (c *connTo) SetDeadline(time.Time) error      { return nil }
func (c *connTo) SetReadDeadline(time.Time) error  { return nil }
func (c *connTo) SetWriteDeadline(time.Time) error { return nil }

// A handler that reads a body before it has checked the credential is a fault of
// the program, found by its first test.
func TestNoBodyIsReadOfAnUnknownSender(t *testing.T) {
	s, err := New(Config{Name: "test", Routes: map[string]Handler{wire.ContributionPattern: func(w http.ResponseWriter, r *http.Request) error {
		_, err := ReadBody(w, r, 1000)
		return err
	}}})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest("PUT", wire.ContributionPath([32]byte{}, 0, [32]byte{}), bytes.NewReader(nil)))
	if rec.Code != http.StatusInternalServerError {
		t.Errorf("status %d", rec.Code)
	}
}
