package account

import (
	"fmt"
)

// LocalEpsilon returns the epsilon, with delta 0, of all that one respondent sends to an event or to
// its repetition: what everyone together learns. It is an error where only the messages of
// others hide what a device says.
func LocalEpsilon(e Event) (float64, error) {
	if _, err := statement(e); err != nil {
		return 0, err
	}
	sent, local := unshuffled(e, Replacement)
	if sent.Reason != "" {
		return 0, fmt.Errorf("account: no local epsilon: %s", sent.Reason)
	}
	return local.Epsilon, nil
}
