package shufflerd

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// listen has a hop of the world answer at a port of this machine. dial makes a
// connection of its own.
func (w *world) listen(hop int, limits serve.Limits) (address string, dial func(protocol string) net.Conn) {
	w.t.Helper()
	authority, err := serve.NewAuthority("test", time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	cert, key, err := authority.Server("127.0.0.1")
	if err != nil {
		w.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		w.t.Fatal(err)
	}
	server, err := serve.New(serve.Config{
		Name: "shuffler", Listen: "127.0.0.1:0", Routes: w.hops[hop].service.Routes(), Limits: limits,
		TLS: serve.TLS(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := server.Listen()
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	return at.String(), func(protocol string) net.Conn {
		c, err := tls.Dial("tcp", at.String(), &tls.Config{RootCAs: authority.Pool(), NextProtos: []string{protocol}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { c.Close() })
		return c
	}
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	b = binary.BigEndian.AppendUint32(append(b, kind, flags), stream)
	return append(b, payload...)
}

// begun is the header of a request on a stream of HTTP/2, each field written out
// (RFC 7541, section 6.2.2), and one byte of its body.
func begun(stream uint32, method, path string, length int, mediaType string) []byte {
	block := []byte{0x87} // https
	text := func(s string) {
		if len(s) < 127 {
			block = append(block, byte(len(s)))
		} else { // and shorter than 255
			block = append(block, 127, byte(len(s)-127))
		}
		block = append(block, s...)
	}
	for _, field := range [][2]string{{":method", method}, {":path", path}, {":authority", "a"}, {"content-length", fmt.Sprint(length)}, {"content-type", mediaType}} {
		block = append(block, 0)
		text(field[0])
		text(field[1])
	}
	return append(frame(1, 4, stream, block), frame(0, 0, stream, []byte{'{'})...)
}

// An honest device is served at once, or when it comes again, while connections
// trickle: requests without a credential on every stream that there is, and those
// of respondents who send a byte and no more.
func TestTricklersKeepNobodyOut(t *testing.T) {
	w := newWorld(t, 2, func(p *plan.Plan) { p.Times.Closes = time.Now().Add(time.Hour).UTC().Truncate(time.Second) })
	w.now = time.Now()
	size := len(w.contribution(0, 0))
	const hostile = 8
	for i := range hostile {
		w.respondent(fmt.Sprint("hostile", i))
	}
	for i := range 20 {
		w.respondent(fmt.Sprint("device", i))
	}
	w.restart(0) // it knows the tokens from now on, not only within a second
	address, dial := w.listen(0, serve.Limits{})

	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	copied := strings.TrimSuffix(string(w.signed.Marshal()), string(w.signed.Plan.Canonical())+"}")
	attacks := map[string]func(){
		"plans of strangers, 64 streams on each of 100 connections": func() {
			for range 100 {
				c := dial("h2")
				b := append([]byte(preface), frame(4, 0, 0, nil)...)
				for i := range uint32(64) {
					b = append(b, begun(2*i+1, "PUT", wire.PlanPath([32]byte{}), 8<<20, wire.SignedPlanType)...)
				}
				c.Write(b)
			}
		},
		"a publisher's name and then nothing, on 100 connections": func() {
			for range 100 {
				fmt.Fprintf(dial("http/1.1"), "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 200000\r\n\r\n%s", wire.PlanPath([32]byte{}), wire.SignedPlanType, copied)
			}
		},
		"beginnings of batches, on 100 connections": func() {
			for range 100 {
				fmt.Fprintf(dial("http/1.1"), "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 200000\r\n\r\nx", wire.BatchPath(w.plan.Hash(), 0, 1, 0), wire.BatchType)
			}
		},
		"contributions of respondents, on 100 connections": func() {
			for i := range 100 {
				fmt.Fprintf(dial("http/1.1"), "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\nx",
					wire.ContributionPath(w.plan.Hash(), 0, [32]byte{byte(i)}), wire.ContributionType, w.tokens[fmt.Sprint("hostile", i%hostile)], size)
			}
		},
		"headers that do not end, on 100 connections": func() {
			for range 100 {
				io.WriteString(dial("http/1.1"), "GET / HTTP/1.1\r\nHost: x\r\nX: ")
			}
		},
		"nothing, on 1,200 connections": func() {
			for range 1200 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
			}
		},
	}
	device := 0
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		attacks[name]()
		time.Sleep(200 * time.Millisecond) // all that they have sent has come
		begin := time.Now()
		body := w.contribution(0, device)
		authorization := "Bearer " + w.tokens[fmt.Sprint("device", device)]
		device++
		tries, status := 0, 0
		for ; status != http.StatusCreated && tries < 3; tries++ {
			if tries > 0 {
				time.Sleep(time.Second)
			}
			c := dial("http/1.1")
			fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s",
				wire.ContributionPath(w.plan.Hash(), 0, wire.ContributionID(body)), wire.ContributionType, authorization, len(body), body)
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			line := make([]byte, 12)
			io.ReadFull(c, line)
			fmt.Sscanf(string(line), "HTTP/1.1 %d", &status)
		}
		t.Logf("%s: status %d at try %d, after %v", name, status, tries, time.Since(begin).Round(time.Millisecond))
		if status != http.StatusCreated {
			t.Errorf("%s: an honest device is answered with %d", name, status)
		}
	}
	// A publisher is not kept out either.
	p := w.plan
	p.Title = "another"
	fine := plan.Sign(p, w.publish)
	text := fine.Marshal()
	status := 0
	for tries := 0; status != http.StatusCreated && tries < 3; tries++ {
		c := dial("http/1.1")
		fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", wire.PlanPath(fine.Plan.Hash()), wire.SignedPlanType, len(text), text)
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		answer := make([]byte, 12)
		io.ReadFull(c, answer)
		fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
		if !bytes.HasPrefix(answer, []byte("HTTP/1.1 201")) {
			time.Sleep(time.Second)
		}
	}
	if status != http.StatusCreated {
		t.Errorf("a publisher is answered with %d", status)
	}
}

// Whoever copies a publisher's name from a plan, which is public, and trickles a long
// body under it, keeps no publisher of a long plan waiting.
func TestALongPlanThatTricklesKeepsNobodyOut(t *testing.T) {
	w := newWorld(t, 1, nil)
	_, dial := w.listen(0, serve.Limits{})
	text := w.signed.Marshal()
	slow := dial("http/1.1")
	fmt.Fprintf(slow, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", wire.PlanPath([32]byte{}), wire.SignedPlanType, 8<<20, text[:len(text)/2])
	stop := make(chan struct{})
	var trickles sync.WaitGroup
	trickles.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond): // twice the least rate of a body
				slow.Write(make([]byte, 6<<10))
			}
		}
	})
	defer trickles.Wait()
	defer close(stop)
	time.Sleep(time.Second)

	p := w.plan
	p.Question.Density.Vocabulary = strings.Repeat("v", 4<<20)
	fine := plan.Sign(p, w.publish)
	text = fine.Marshal()
	begin := time.Now()
	status := 0
	for tries := 0; status != http.StatusCreated && tries < 5; tries++ {
		if tries > 0 {
			time.Sleep(time.Second)
		}
		c := dial("http/1.1")
		fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", wire.PlanPath(fine.Plan.Hash()), wire.SignedPlanType, len(text), text)
		c.SetReadDeadline(time.Now().Add(30 * time.Second))
		line := make([]byte, 12)
		io.ReadFull(c, line)
		fmt.Sscanf(string(line), "HTTP/1.1 %d", &status)
	}
	t.Logf("status %d after %v", status, time.Since(begin).Round(time.Millisecond))
	if status != http.StatusCreated {
		t.Errorf("a publisher is answered with %d", status)
	}
}
