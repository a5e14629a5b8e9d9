package postgres

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// between stands before a server as a pooler does: it tells of a server process that is not the one that answers. It
// counts statements that are prepared by name.
type between struct {
	own   bool // it tells of the process itself, as who only carries bytes does
	named atomic.Int32
}

// address returns where it stands before the server of a URL, as a URL.
func (b *between) address(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	q := u.Query()
	socket := filepath.Join(q.Get("host"), ".s.PGSQL.5432")
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				defer server.Close()
				defer client.Close()
				b.carry(server, client, false, func(kind byte, body []byte) {
					if kind == 'P' && body[0] != 0 { // Parse: its name comes first
						b.named.Add(1)
					}
				})
			}()
			go func() {
				defer server.Close()
				defer client.Close()
				b.carry(client, server, true, func(kind byte, body []byte) {
					if kind == 'K' && !b.own { // BackendKeyData: its process comes first
						body[0] ^= 1
					}
				})
			}()
		}
	}()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	q.Set("host", host)
	q.Set("port", port)
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}

// carry hands on messages until one cannot be read or written. The first one of a client has no kind.
func (b *between) carry(to io.Writer, from io.Reader, begun bool, see func(kind byte, body []byte)) {
	for ; ; begun = true {
		head := make([]byte, 5)
		if !begun {
			head = head[1:]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		if begun {
			see(head[0], body)
		}
		if _, err := to.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// Statements are prepared by name where the server itself answers, and none is where a pooler shows itself. One that
// showed itself as the server would be handed them: that is told apart.
func TestNothingIsPreparedBehindAPooler(t *testing.T) {
	for _, own := range []bool{false, true} {
		b := &between{own: own}
		_, c := disk(t, Config{}) // made past it
		c.URL = b.address(t, c.URL)
		s, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		shelf, err := s.Open(t.Context(), keep.Main)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			err := shelf.Update(t.Context(), func(tx keep.Tx) error { tx.Put(2, "k", []byte{byte(i)}); return nil })
			value, there, failed := shelf.Get(t.Context(), 2, "k")
			if err != nil || failed != nil || !there || value[0] != byte(i) {
				t.Errorf("what is written is not read: %v, %v, %t, %v", err, failed, there, value)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := b.named.Load(); own != (n > 0) {
			t.Errorf("a pooler %t: %d statements are prepared by name", !own, n)
		}
	}
}

// A pooler may come to stand between while a service runs: connections from before are let go.
func TestAPoolerComesBetween(t *testing.T) {
	s, _ := opened(t, Config{})
	shelf := created(t, s, "a")
	before := s.(*store).pool.Stat().TotalConns()
	s.(*store).pooled.Store(true)
	if _, err := shelf.Insert(t.Context(), row1("k")); err != nil {
		t.Fatal(err)
	}
	conn, err := s.(*store).pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if lineOf(conn.Conn()).prepares || before == 0 {
		t.Errorf("of %d connections one that prepares is left", before)
	}
}
