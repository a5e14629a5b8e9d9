package loopback

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// Two that look from the same block on are given no port twice, none that is listened on, and none that a system gives to
// connections.
func TestNoPortIsGivenTwice(t *testing.T) {
	var both [2]blocks
	t.Cleanup(func() {
		for i := range both {
			for _, l := range both[i].held {
				l.Close()
			}
		}
	})
	given := map[int]bool{}
	for range 2 * block {
		for i := range both {
			port, err := both[i].port(os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			if given[port] || port < firstPort || port > lastPort {
				t.Fatalf("port %d is given twice, or is none of ours", port)
			}
			given[port] = true
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
	}
}

// A block is left alone of which one port is in use: its others may be of services that are started again.
func TestABlockInUseIsLeft(t *testing.T) {
	var mine, others blocks
	t.Cleanup(func() {
		for _, l := range append(mine.held, others.held...) {
			l.Close()
		}
	})
	at, err := mine.port(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	service, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", at))
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	mine.held[0].Close() // the trial has ended, and its service runs by itself
	from := (at - firstPort) / block
	if given, err := others.port(from); err != nil || (given-firstPort)/block == from {
		t.Errorf("%d beside %d: %v", given, at, err)
	}
}
