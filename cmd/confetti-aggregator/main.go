// Command confetti-aggregator adds up answers that arrive in shares, as confetti serve leader and confetti serve
// helper do, and does nothing else. Used by operators of aggregators.
//
// The code that could read an answer, open a sum, estimate or publish is not in the binary: its tests check that.
package main

import (
	"io"
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/daemon"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
)

type cli struct {
	Role string `arg:"" help:"Which of the two aggregators of its plans it is: leader, that devices send to, or helper." enum:"leader,helper"`
	daemon.Flags
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process.
func run(args []string, out, err io.Writer) int {
	var c cli
	return daemon.Main("confetti-aggregator", "Add up answers that arrive in shares, without being able to read them.", &c, func(out, logs io.Writer) error {
		return c.Start(&aggregated.Config{
			Role:  map[string]dap.Role{"leader": dap.Leader, "helper": dap.Helper}[c.Role],
			Place: shelves.Place{Connect: postgres.Start},
		}, out, logs)
	}, args, out, err)
}
