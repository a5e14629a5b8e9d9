package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/plan"
)

// Addresses returns who sees the network address of a device that answers a plan, and from whom a relay hides
// it; nothing where the plan names no relay.
func Addresses(p plan.Plan) (all []string) {
	hidden := map[string][]string{} // parties, by the relay's operator
	var relays, seeing []string
	add := func(to []string, name string) []string {
		if slices.Contains(to, name) {
			return to
		}
		return append(to, name)
	}
	for _, party := range p.Visited() {
		if party.Relay == nil {
			seeing = add(seeing, party.Operator)
			continue
		}
		by := party.Relay.Operator
		relays, hidden[by] = add(relays, by), add(hidden[by], party.Operator)
	}
	for _, by := range relays {
		all = append(all, fmt.Sprintf("%s sees the network address, cannot read what it carries, and hides the address from %s.", by, listed(hidden[by])))
	}
	if len(relays) > 0 && len(seeing) > 0 {
		all = append(all, fmt.Sprintf("Without a relay the address is shown to %s.", listed(seeing)))
	}
	return all
}

// listed joins names as a sentence does.
func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
