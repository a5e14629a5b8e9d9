package serve

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"
)

// connections are those that are open. Where there is no room for another one, the
// connection goes that has had no request for longest: idle ones, however many,
// keep nobody out. Addresses are counted while their connections are open, and
// neither kept nor shown.
type connections struct {
	net.Listener
	most      int
	ofAddress int
	relays    []netip.Prefix // each counts as one address

	mu      sync.Mutex
	open    map[*connection]bool
	address map[netip.Addr]int
	freed   chan struct{} // one was closed
	closed  chan struct{}
	once    sync.Once
}

func limitConnections(l net.Listener, most, ofAddress int, relays ...netip.Prefix) *connections {
	return &connections{
		Listener: l, most: most, ofAddress: ofAddress, relays: relays, open: map[*connection]bool{}, address: map[netip.Addr]int{},
		freed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// connection is an open one.
type connection struct {
	net.Conn
	all      *connections
	address  netip.Addr
	relay    bool      // it is a relay's, and the address that of its network
	requests int       // under way; guarded by all.mu
	since    time.Time // there are none; likewise
}

// Accept returns the next connection for which there is room.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		one := &connection{Conn: c, all: l, since: time.Now()}
		one.address, one.relay = addressOf(c, l.relays)
		for !l.admit(one) {
			if l.full(one.address) { // of this address: the others are not to wait for it
				c.Close()
				break
			}
			select {
			case <-l.freed:
			case <-l.closed:
				c.Close()
				return nil, net.ErrClosed
			}
		}
		if l.has(one) {
			return one, nil
		}
	}
}

// admit makes room for a connection and counts it.
func (l *connections) admit(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.address[c.address] >= l.ofAddress && !l.displace(func(o *connection) bool { return o.address == c.address }) {
		return false
	}
	if len(l.open) >= l.most && !l.displace(func(*connection) bool { return true }) {
		return false
	}
	l.open[c] = true
	l.address[c.address]++
	return true
}

func (l *connections) has(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[c]
}

func (l *connections) full(address netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.address[address] >= l.ofAddress
}

// displace closes the connection that has had no request for longest. The caller
// holds mu.
func (l *connections) displace(of func(*connection) bool) bool {
	var longest *connection
	for c := range l.open {
		if c.requests == 0 && of(c) && (longest == nil || c.since.Before(longest.since)) {
			longest = c
		}
	}
	if longest == nil {
		return false
	}
	l.remove(longest)
	longest.Conn.Close()
	return true
}

// remove counts a connection no more. The caller holds mu.
func (l *connections) remove(c *connection) {
	if !l.open[c] {
		return
	}
	delete(l.open, c)
	less(l.address, c.address)
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// Close ends Accept.
func (l *connections) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Close gives the connection's room back.
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.all.remove(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// begin counts a request of the connection until end.
func (c *connection) begin() (end func()) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.requests++
	return func() {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.requests--
		c.since = time.Now()
		if c.requests == 0 {
			select {
			case c.all.freed <- struct{}{}: // it may go now
			default:
			}
		}
	}
}

// addressOf returns whose connection it is: of a relay, the address of its network.
func addressOf(c net.Conn, relays []netip.Prefix) (whose netip.Addr, relay bool) {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, of := range relays {
		if of.Contains(a) {
			return of.Addr(), true
		}
	}
	return Network(a), false
}

// Network returns the address by which somebody is counted: of IPv6 the network, since one machine
// has as many addresses as it likes.
func Network(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		if network, err := a.WithZone("").Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return a
}

type connKey struct{}

// withConnection is http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if one, ok := c.(*connection); ok {
		return context.WithValue(ctx, connKey{}, one)
	}
	return ctx
}
