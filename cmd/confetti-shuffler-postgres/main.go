// Command confetti-shuffler-postgres mixes as confetti-shuffler does, on shelves that lie in a PostgreSQL database,
// alone or as one of several processes of a hop. Used by operators of hops.
package main

import (
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/shuffler"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres"
)

func main() {
	os.Exit(shuffler.Run("confetti-shuffler-postgres", postgres.Start, os.Args[1:], os.Stdout, os.Stderr))
}
