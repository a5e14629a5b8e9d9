package shuffler

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/noise"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/plan"
)

// Entry knows what the entry hop of an instance takes, and what of it stays. It
// holds nothing: Collector keeps contributions in memory, a service on disk.
type Entry struct{ in instance }

// NewEntry prepares the entry of the plan's instance, counted from 0.
func NewEntry(p plan.Plan, instance int) (*Entry, error) {
	in, err := newInstance(p, instance)
	if err != nil {
		return nil, err
	}
	return &Entry{in}, nil
}

// ContributionSize is the length in bytes of every contribution's encoding.
func (e *Entry) ContributionSize() int {
	return envelope.ContributionSize(e.in.perDevice, e.in.size(0))
}

// Check refuses a contribution that is not, in form, what every device sends.
func (e *Entry) Check(c envelope.Contribution) error {
	if err := e.in.accepts(c.Plan, c.Instance, c.Crowd); err != nil {
		return err
	}
	if got := len(c.Envelopes); got != e.in.perDevice {
		return fmt.Errorf("shuffler: a contribution of %d envelopes: the plan wants %d from everybody", got, e.in.perDevice)
	}
	for _, e2 := range c.Envelopes {
		if want := e.in.size(0); len(e2) != want {
			return &envelope.SizeError{Got: len(e2), Want: want}
		}
	}
	return nil
}

// Survivors draws which contributions of a crowd of n stay: kept[i] speaks of
// the i-th. The error is ErrWithheld where nothing of the crowd may leave.
//
// Where the plan keeps the sizes of crowds private it is randomized deletion
// (ESA, Algorithm 3): max(0, n + Z - T) stay, whole and chosen uniformly, Z
// discrete Laplace. If Z > T, which would take more than there are, the crowd is
// lost. Of more than the plan's maximum so many stay, chosen alike. After this nobody but the entry knows n: batches, receipts, metrics and
// pages speak of those that stay.
func (e *Entry) Survivors(r *rand.Rand, n int) (kept []bool, respondents int, err error) {
	stay := n
	if d := e.in.deletion; d != nil {
		z := noise.DiscreteLaplace{Decay: d.Noise}.Sample(r)
		if stay = max(0, n+z-d.Threshold); stay > n {
			stay = 0
		}
	}
	if stay < e.in.minimum {
		return nil, 0, ErrWithheld
	}
	if e.in.maximum > 0 { // not who came first: that would favour those who are quick
		stay = min(stay, e.in.maximum)
	}
	// The i-th stays with probability (still wanted) / (still to come): every
	// choice of so many is as likely.
	kept = make([]bool, n)
	for i, wanted := 0, stay; i < n; i++ {
		if r.IntN(n-i) < wanted {
			kept[i] = true
			wanted--
		}
	}
	return kept, stay, nil
}
