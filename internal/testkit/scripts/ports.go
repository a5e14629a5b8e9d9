package scripts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// Ports of trials begin above the last (cmd/internal/server/up), and those that a system gives to connections above these:
// a port that is free here stays free of both.
const firstPort, lastPort, block = 10000, 19983, 64

// blocks gives ports of blocks that it holds: it listens on the first of each, by which other processes leave it alone.
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
		first := firstPort + (from+i)%all*block
		if l, err := listen(first); err == nil {
			b.held, b.next, b.end = append(b.held, l), first+1, first+block
		}
	}
	return 0, errors.New("no port of 127.0.0.1 is free")
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

var own blocks

// Port returns a port of 127.0.0.1 that nothing listens on, and that no connection and no other test is given.
func Port() (int, error) { return own.port(os.Getpid()) }

// Ports sets variables to ports that nothing listens on: ports NAME...
func Ports(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ports NAME...")
	}
	for _, name := range args {
		port, err := Port()
		ts.Check(err)
		ts.Setenv(name, fmt.Sprint(port))
	}
}
