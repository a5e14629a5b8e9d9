// Command confetti-aggregator-postgres adds up answers as confetti-aggregator does, on shelves that lie in a
// PostgreSQL database. Used by operators of aggregators.
package main

import (
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/aggregator"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
)

func main() {
	os.Exit(aggregator.Run("confetti-aggregator-postgres", postgres.Start, os.Args[1:], os.Stdout, os.Stderr))
}
