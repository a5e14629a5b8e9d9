// Package aggregator runs a program that adds up answers that arrive in shares, and does nothing else. Used by
// cmd/confetti-aggregator and cmd/confetti-aggregator-postgres, which links a database besides.
package aggregator

import (
	"io"

	"github.com/confetti-dp/confetti/cmd/internal/daemon"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated"
	"github.com/confetti-dp/confetti/internal/service/shelves"
)

type cli struct {
	Role string `arg:"" help:"Which of the two aggregators of its plans it is: leader, that devices send to, or helper." enum:"leader,helper"`
	daemon.Flags
	Worker bool   `help:"Add up shards of plans that have closed, beside the leader of the same configuration, on its PostgreSQL database." xor:"as"`
	Files  string `help:"Count what has closed without a network to the other aggregator, by files in this folder, and end: docs/scale-counting.md." type:"path" placeholder:"DIR" xor:"as"`
}

// Run runs the program of that name with its arguments, and returns its exit code. connect opens a
// PostgreSQL database; nil: the program has none.
func Run(name string, connect shelves.Connect, args []string, out, err io.Writer) int {
	var c cli
	return daemon.Main(name, "Add up answers that arrive in shares, without being able to read them.", &c, func(out, logs io.Writer) error {
		config := aggregated.Config{
			Role:  map[string]dap.Role{"leader": dap.Leader, "helper": dap.Helper}[c.Role],
			Place: shelves.Place{Server: shelves.Server{Connect: connect}},
		}
		if c.Worker {
			return c.Start(&aggregated.Worker{Config: config}, out, logs)
		}
		if c.Files != "" {
			return c.Start(&aggregated.Files{Config: config, Folder: c.Files}, out, logs)
		}
		return c.Start(&config, out, logs)
	}, args, out, err)
}
