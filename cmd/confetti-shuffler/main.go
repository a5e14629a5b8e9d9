// Command confetti-shuffler mixes as one hop, as confetti serve shuffler does, and does nothing else. Used by
// operators of hops.
//
// The code that could read a report, estimate or publish is not in the binary: its tests check that.
package main

import (
	"io"
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/daemon"
	"github.com/confetti-dp/confetti/internal/service/shufflerd"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
)

type cli struct {
	daemon.Flags
	SetAside bool `help:"Go on without what is damaged in the folder, for good, say what it was, and end." xor:"as"`
	Worker   bool `help:"Take steps of the mixing of large crowds, beside the shuffler of the same configuration." xor:"as"`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process.
func run(args []string, out, err io.Writer) int {
	var c cli
	return daemon.Main("confetti-shuffler", "Mix contributions of a collection, without being able to read them.", &c, func(out, logs io.Writer) error {
		config := shufflerd.Config{Connect: postgres.Start}
		if c.Worker {
			return c.Start(&shufflerd.Worker{Config: config}, out, logs)
		}
		if c.SetAside {
			return c.Start(&shufflerd.SetAside{Config: config}, out, logs)
		}
		return c.Start(&config, out, logs)
	}, args, out, err)
}
