package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// frame is one of HTTP/2 (RFC 9113, section 4.1).
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	b = binary.BigEndian.AppendUint32(append(b, kind, flags), stream)
	return append(b, payload...)
}

const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	data, headers, reset, settings, ping, windowUpdate, continuation = 0, 1, 3, 4, 6, 8, 9
	endStream, endHeaders                                            = 1, 4
)

// asked is the header block of a request, each field written out (RFC 7541, 6.2.2).
func asked(method, path string) []byte {
	block := []byte{0x87} // https
	for _, f := range [][2]string{{":method", method}, {":path", path}, {":authority", "a"}} {
		block = append(block, 0)
		for _, s := range f {
			block = append(append(block, byte(len(s))), s...)
		}
	}
	return block
}

// What is known to have taken servers of HTTP down, all at once from several
// connections and for as long as the service takes it, leaves its memory small and
// honest requests answered.
func TestFloodsOfTheProtocolKeepNobodyOut(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // memory is bounded as people run it
	leakFree(t)
	s := start(t, Config{Routes: map[string]Handler{
		"GET /v1/much": func(w http.ResponseWriter, r *http.Request) error { _, err := w.Write(make([]byte, 1<<20)); return err },
		"PUT /v1/echo": func(w http.ResponseWriter, r *http.Request) error { _, err := ReadBody(w, r, 1<<20); return err },
	}})
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 64<<20))
	z.Close()
	dial := func(protocol string) (net.Conn, error) {
		d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: &tls.Config{RootCAs: s.ca.Pool(), NextProtos: []string{protocol}}}
		return d.Dial("tcp", s.addr)
	}
	opened := append([]byte(preface), frame(settings, 0, 0, nil)...)
	get, put := asked("GET", "/v1/much"), asked("PUT", "/v1/echo")
	// Each writes to a connection until it is closed or has had enough.
	attacks := map[string]struct {
		protocol string
		bytes    func(n int) []byte // the n-th of what is sent; nil: nothing any more
	}{
		"streams begun and taken back": {"h2", func(n int) []byte {
			return append(frame(headers, endStream|endHeaders, uint32(2*n+1), get), frame(reset, 0, uint32(2*n+1), []byte{0, 0, 0, 8})...)
		}},
		"headers that go on and on": {"h2", func(n int) []byte {
			if n == 0 {
				return frame(headers, 0, 1, get)
			}
			return frame(continuation, 0, 1, append([]byte{0, 1, 'x', 127, 0xff - 127, 1}, bytes.Repeat([]byte("x"), 255+1)...))
		}},
		"settings":       {"h2", func(n int) []byte { return frame(settings, 0, 0, []byte{0, 4, 0, 0, byte(n >> 8), byte(n)}) }},
		"pings":          {"h2", func(int) []byte { return frame(ping, 0, 0, make([]byte, 8)) }},
		"empty bodies":   {"h2", func(n int) []byte { return bodyOf(n, put, nil) }},
		"bodies by byte": {"h2", func(n int) []byte { return bodyOf(n, put, []byte{0}) }},
		"answers that are not taken": {"h2", func(n int) []byte {
			if n == 0 { // a window of no bytes
				return append(frame(settings, 0, 0, []byte{0, 4, 0, 0, 0, 0}), frame(headers, endStream|endHeaders, 1, get)...)
			}
			if n > 64 {
				return nil
			}
			return frame(headers, endStream|endHeaders, uint32(2*n+1), get)
		}},
		"windows too wide": {"h2", func(int) []byte { return frame(windowUpdate, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff}) }},
		"chunks with a long name": {"http/1.1", func(n int) []byte {
			if n == 0 {
				return []byte("PUT /v1/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
			}
			return []byte("1;" + strings.Repeat("x", 3<<10) + "\r\n0\r\n")
		}},
		"a header for ever": {"http/1.1", func(n int) []byte {
			if n == 0 {
				return []byte("GET /v1/much HTTP/1.1\r\nHost: x\r\n")
			}
			return fmt.Appendf(nil, "X-%d: %s\r\n", n, strings.Repeat("x", 1<<10))
		}},
		"questions without waiting": {"http/1.1", func(int) []byte { return []byte("GET /v1/much HTTP/1.1\r\nHost: x\r\n\r\n") }},
		"what unpacks to much": {"http/1.1", func(n int) []byte {
			return append(fmt.Appendf(nil, "PUT /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", bomb.Len()), bomb.Bytes()...)
		}},
		"continue, please": {"http/1.1", func(n int) []byte {
			if n > 0 {
				return nil
			}
			return []byte("PUT /v1/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n")
		}},
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer sync.OnceFunc(func() { close(stop) })()
	for name, a := range attacks {
		for range 2 {
			all.Go(func() {
				for n := 0; ; { // again, when the service has had enough of a connection
					c, err := dial(a.protocol)
					if err == nil {
						if a.protocol == "h2" {
							c.Write(opened)
						}
						c.SetDeadline(time.Now().Add(10 * time.Second))
						gone := make(chan struct{})
						all.Go(func() {
							defer close(gone)
							if name != "answers that are not taken" && name != "questions without waiting" {
								io.Copy(io.Discard, c)
							}
						})
						for n = 0; err == nil; n++ {
							b := a.bytes(n)
							if b == nil {
								select {
								case <-stop:
								case <-time.After(time.Second):
								}
								break
							}
							if _, err = c.Write(b); err == nil {
								select {
								case <-stop:
									err = io.EOF
								default:
								}
							}
						}
						c.Close()
						<-gone
					}
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			})
		}
	}
	var most uint64
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		// The attackers have the same processors: what counts is that there is an answer.
		c := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool()}}}
		response, err := c.Get(s.url + "/healthz")
		if err != nil {
			t.Error(err)
			continue
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("an honest request: status %d", response.StatusCode)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	t.Logf("%d attackers, at most %d MiB in use, theirs included", 2*len(attacks), most>>20)
	if most > 256<<20 {
		t.Errorf("%d MiB are in use", most>>20)
	}
}

// bodyOf is a request whose body comes in frames of these bytes.
func bodyOf(n int, header, some []byte) []byte {
	if n == 0 {
		return frame(headers, endHeaders, 1, header)
	}
	return frame(data, 0, 1, some)
}
