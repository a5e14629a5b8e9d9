// Command reader is what a mixing hop must not be: it could read reports.
package main

import (
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

func main() {
	p, err := protocol.New(plan.Plan{})
	if err != nil {
		return
	}
	p.NewTally()
}
