// Package loopback gives ports of this machine to services that are about to start. Used by cmd/internal/trial and
// internal/testkit/scripts.
package loopback

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
)

// Ports that a system gives to connections, and to whoever asks for any, begin above the last: one of these could be taken
// before its service starts.
const firstPort, lastPort, block = 20000, 31999, 32

// blocks gives ports of blocks of which nothing was listened on: it listens on the first of each to its process's end, by
// which other processes leave the block alone.
type blocks struct {
	mu        sync.Mutex
	held      []net.Listener
	next, end int
}

// port returns the next that nothing listens on. It looks for a block from the one of that number on.
func (b *blocks) port(from int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const all = (lastPort + 1 - firstPort) / block
	for i := range all {
		for b.next < b.end {
			b.next++
			if l, err := listen(b.next - 1); err == nil {
				return b.next - 1, l.Close()
			}
		}
		if first := firstPort + (from+i)%all*block; free(first+1, first+block) {
			if l, err := listen(first); err == nil {
				b.held, b.next, b.end = append(b.held, l), first+1, first+block
			}
		}
	}
	return 0, errors.New("no ports of " + host + " from " + strconv.Itoa(firstPort) + " to " + strconv.Itoa(lastPort) + " are free: stop a trial that is not needed")
}

// free reports whether nothing listens on the ports from one on, below another.
func free(from, below int) bool {
	for port := from; port < below; port++ {
		l, err := listen(port)
		if err != nil || l.Close() != nil {
			return false
		}
	}
	return true
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// Services of a trial listen there alone.
const host = "127.0.0.1"

var own blocks

// Port returns a port of 127.0.0.1 that nothing listens on, and that no other process is given while this one runs. It fails where
// all are taken.
func Port() (int, error) { return own.port(os.Getpid()) }
