// Command confetti-aggregator adds up answers that arrive in shares, as confetti serve leader and confetti serve
// helper do, and does nothing else. Used by operators of aggregators.
//
// The code that could read an answer, open a sum, estimate or publish is not in the binary: tests of
// cmd/internal/aggregator check that. Nor is a database: confetti-aggregator-postgres has one.
package main

import (
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/aggregator"
)

func main() { os.Exit(aggregator.Run("confetti-aggregator", nil, os.Args[1:], os.Stdout, os.Stderr)) }
