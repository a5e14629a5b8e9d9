// Command confetti-shuffler mixes as one hop, as confetti serve shuffler does, and does nothing else. Used by
// operators of hops.
//
// The code that could read a report, estimate or publish is not in the binary: tests of
// cmd/internal/shuffler check that. Nor is a database: confetti-shuffler-postgres has one.
package main

import (
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/shuffler"
)

func main() { os.Exit(shuffler.Run("confetti-shuffler", nil, os.Args[1:], os.Stdout, os.Stderr)) }
