// Command confetti-server runs every role as a service, a trial of all of them, and what operators ask of services.
// Used by operators; confetti starts it for the commands that are in it.
package main

import (
	"os"

	"github.com/confetti-dp/confetti/cmd/internal/server"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/release"
)

func main() {
	os.Exit(server.Program.Run(os.Args[1:], terminal.Streams{Out: os.Stdout, Err: os.Stderr, Version: release.Software()}))
}
