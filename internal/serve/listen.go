package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"
)

// limitListener accepts a connection only while fewer than limit are open.
// The others wait in the system's queue, and cost nothing here.
func limitListener(l net.Listener, limit int) net.Listener {
	return &limited{Listener: l, places: make(chan struct{}, limit), closed: make(chan struct{})}
}

type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// debugServer gives profiles on a port of its own, which only this machine
// reaches: they show what the service holds in memory.
type debugServer struct {
	listener net.Listener
	http     *http.Server
}

// loopback refuses an address that other machines reach.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errors.New("serve: profiles are for this machine only: give a loopback debug address such as 127.0.0.1:6060")
	}
	return nil
}

func listenDebug(address string) (*debugServer, error) {
	if err := loopback(address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve: debug address: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return &debugServer{l, &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}, nil
}

func (d *debugServer) serve() error { return d.http.Serve(d.listener) }
func (d *debugServer) close()       { d.http.Close() }
