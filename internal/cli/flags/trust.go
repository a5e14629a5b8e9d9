package flags

import (
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

// Trust say whose plans are accepted.
type Trust struct {
	Publisher  []string `help:"Public keys of publishers whose plans are accepted." placeholder:"KEY"`
	Publishers string   `help:"File of such publishers, with the ends of their keys: confetti publishers." type:"path" placeholder:"FILE"`
}

// Given says whether anybody is named.
func (f Trust) Given() bool { return len(f.Publisher) > 0 || f.Publishers != "" }

// Trusted returns those who are named.
func (f Trust) Trusted() (plan.Publishers, error) {
	if f.Publishers == "" {
		return plan.Trust(f.Publisher...), nil
	}
	if len(f.Publisher) > 0 {
		return plan.Publishers{}, terminal.Usagef("the file says everything: give --publishers or --publisher, not both")
	}
	return plan.ReadPublishers(f.Publishers)
}
