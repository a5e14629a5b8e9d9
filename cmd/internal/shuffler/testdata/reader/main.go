// Command reader is what a mixing hop must not be: it could read reports.
package main

import (
	"os"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

func main() {
	p, err := protocol.New(plan.Plan{})
	if err != nil {
		return
	}
	if err := fragment.Count(p.NewTally(), []byte(os.Args[0])); err != nil {
		os.Exit(1)
	}
}
