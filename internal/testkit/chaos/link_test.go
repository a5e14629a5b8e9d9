package chaos

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// link is a TCP proxy with an address of its own: what is behind it may move, and
// what goes through it is slow, cut off, or goes nowhere.
type link struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	others []string // of several that it leads to in turn, in the place of target
	rand   *rand.Rand
	healed bool
	open   map[net.Conn]bool
	wg     sync.WaitGroup
}

func newLink(r *rand.Rand) (*link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &link{listener: l, rand: r, open: map[net.Conn]bool{}}
	k.wg.Go(k.serve)
	return k, nil
}

func (k *link) to(target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target = target
}

// heal ends all faults; connections that have one are cut.
func (k *link) heal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.healed = true
	k.cut()
}

func (k *link) cut() {
	for c := range k.open {
		c.Close()
	}
}

func (k *link) close() {
	k.listener.Close()
	k.mu.Lock()
	k.healed = true
	k.cut()
	k.mu.Unlock()
	k.wg.Wait()
}

// keep remembers a connection until it is forgotten.
func (k *link) keep(c net.Conn, open bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if open {
		k.open[c] = true
	} else {
		delete(k.open, c)
		c.Close()
	}
}

func (k *link) serve() {
	for {
		c, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.keep(c, true)
		k.wg.Go(func() {
			defer k.keep(c, false)
			k.carry(c)
		})
	}
}

// fate is what becomes of a connection.
type fate struct {
	refused bool
	bytes   [2]int64         // each way before it is cut; 0: no limit
	pause   [2]time.Duration // each way before each piece
}

// draw is mostly nothing, so that something gets through.
func (k *link) draw() (f fate, target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	target = k.target
	if len(k.others) > 0 {
		target = k.others[0]
		k.others = append(k.others[1:], target)
	}
	if k.healed {
		return f, target
	}
	way := k.rand.IntN(2)
	switch k.rand.IntN(6) {
	case 0:
		f.refused = true
	case 1: // a few thousand bytes are in the middle of a handshake or a body
		f.bytes[way] = 1 + k.rand.Int64N(6000)
	case 2:
		f.pause[way] = time.Duration(k.rand.IntN(30)) * time.Millisecond
	case 3: // the request arrives, the answer does not
		f.bytes[1] = 1500 + k.rand.Int64N(3000)
	}
	return f, target
}

func (k *link) carry(c net.Conn) {
	f, target := k.draw()
	if f.refused {
		return
	}
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	k.keep(to, true)
	defer k.keep(to, false)
	var wg sync.WaitGroup
	for way, ends := range [2][2]net.Conn{{c, to}, {to, c}} {
		wg.Go(func() {
			pipe(ends[0], ends[1], f.bytes[way], f.pause[way])
			c.Close()
			to.Close()
		})
	}
	wg.Wait()
}

// pipe copies until either end closes, or so many bytes have gone.
func pipe(from io.Reader, to io.Writer, most int64, pause time.Duration) {
	buf := make([]byte, 2048)
	for gone := int64(0); ; {
		n, err := from.Read(buf)
		if most > 0 && gone+int64(n) > most {
			to.Write(buf[:most-gone])
			return
		}
		time.Sleep(pause)
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
		gone += int64(n)
	}
}
