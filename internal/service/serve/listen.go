package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

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
