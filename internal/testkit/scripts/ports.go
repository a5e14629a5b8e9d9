package scripts

import (
	"fmt"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/confetti-dp/confetti/internal/loopback"
)

// Ports sets variables to ports that nothing listens on: ports NAME...
func Ports(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ports NAME...")
	}
	for _, name := range args {
		port, err := loopback.Port()
		ts.Check(err)
		ts.Setenv(name, fmt.Sprint(port))
	}
}
