package scripts

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
