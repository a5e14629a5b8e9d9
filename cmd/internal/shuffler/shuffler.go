// Package shuffler runs a program that mixes as one hop, and does nothing else. Used by cmd/confetti-shuffler and
// cmd/confetti-shuffler-postgres, which links a database besides.
package shuffler

import (
	"io"

	"github.com/confetti-dp/confetti/cmd/internal/daemon"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
)

type cli struct {
	daemon.Flags
	SetAside bool `help:"Go on without what is damaged in the folder or database, for good, say what it was, and end." xor:"as"`
	Worker   bool `help:"Take steps of the mixing of large crowds, beside the shuffler of the same configuration, on its PostgreSQL database." xor:"as"`
}

// Run runs the program of that name with its arguments, and returns its exit code. connect opens a
// PostgreSQL database; nil: the program has none.
func Run(name string, connect shelves.Connect, args []string, out, err io.Writer) int {
	var c cli
	return daemon.Main(name, "Mix contributions of a collection, without being able to read them.", &c, func(out, logs io.Writer) error {
		config := shufflerd.Config{Connect: connect}
		if c.Worker {
			return c.Start(&shufflerd.Worker{Config: config}, out, logs)
		}
		if c.SetAside {
			return c.Start(&shufflerd.SetAside{Config: config}, out, logs)
		}
		return c.Start(&config, out, logs)
	}, args, out, err)
}
