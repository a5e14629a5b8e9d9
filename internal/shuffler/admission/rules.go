// Package admission holds an entry's rules: one well-formed contribution a respondent, a minimum crowd size, and
// random deletion where sizes are private. Used by party/shuffler and internal/service/inbox.
package admission

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/plan"
)

// ErrWithheld is the error of a crowd in which too few respondents are left to hide
// among: nothing of it may leave.
var ErrWithheld = errors.New("admission: withheld")

// Rules are what a plan says about contributions to one of its instances.
type Rules struct {
	envelope.Form // of every contribution
	Crowds        int
	Minimum       int            // n_min: distinct respondents in a batch
	Maximum       int            // n_max; 0: no limit
	Deletion      *plan.Deletion // nil: the sizes of crowds are public
}

// NewRules reads them from a plan, for one of its instances.
func NewRules(p plan.Plan, instance int) (Rules, error) {
	if err := p.Validate(); err != nil {
		return Rules{}, err
	}
	if p.Route.Mix == nil {
		return Rules{}, errors.New("admission: the plan's answers are summed by two aggregators: no hop takes them")
	}
	if instance < 0 || instance >= len(p.Route.Instances()) {
		return Rules{}, fmt.Errorf("admission: the plan has no instance %d: it has %d, counted from 0", instance, len(p.Route.Instances()))
	}
	if d := p.Crowd.Deletion; d != nil {
		if err := (noise.DiscreteLaplace{Decay: d.Noise}).Validate(); err != nil {
			return Rules{}, fmt.Errorf("admission: crowd.deletion.noise: %w", err)
		}
	}
	form := envelope.NewForm(p.Hash(), uint16(instance), envelope.Suite(p.Envelopes.Suite), p.Envelopes.PerDevice, p.Envelopes.PayloadBytes, p.Slots(instance))
	if p.SealedOnce() {
		if err := form.Validate(); err != nil {
			return Rules{}, fmt.Errorf("admission: %w", err)
		}
	}
	return Rules{Form: form, Crowds: p.Crowds(), Minimum: p.Crowd.Minimum, Maximum: p.Crowd.Maximum, Deletion: p.Crowd.Deletion}, nil
}

// Accepts checks what contributions and batches have in common. The reasons name what
// the plan says, never what a respondent sent.
func (e Rules) Accepts(hash [32]byte, instance uint16, crowd uint32) error {
	switch {
	case hash != e.Plan:
		return fmt.Errorf("admission: made for the plan that begins with %x: this is %x", e.Plan[:6], hash[:6])
	case instance != e.Instance:
		return fmt.Errorf("admission: made for instance %d: this is instance %d", int(e.Instance)+1, int(instance)+1)
	case int64(crowd) >= int64(e.Crowds):
		return fmt.Errorf("admission: names a crowd that the plan has not: it has %d, counted from 0", e.Crowds)
	}
	return nil
}

// Check returns the crowd of a contribution, and refuses one that is not, in form, what every device sends. It
// looks at the length and the header, and opens nothing: cover takes the same steps.
func (e Rules) Check(body []byte) (crowd uint32, err error) {
	form, crowd, err := envelope.ParseForm(body)
	if err == nil {
		err = e.Accepts(form.Plan, form.Instance, crowd)
	}
	switch {
	case err != nil:
		return 0, err
	case form.Envelopes != e.Envelopes:
		return 0, fmt.Errorf("admission: a contribution of %d envelopes: the plan wants %d from everybody", form.Envelopes, e.Envelopes)
	case form != e.Form:
		return 0, &envelope.SizeError{Got: len(body), Want: e.Bytes()}
	}
	return crowd, nil
}

// Head returns what is to be mixed of a crowd of so many respondents: their envelopes, as they lie in
// contributions.
func (e Rules) Head(crowd uint32, respondents int) envelope.Head {
	return envelope.Head{
		Plan: e.Plan, Instance: e.Instance, Crowd: crowd, Respondents: uint64(respondents),
		Envelopes: uint64(respondents) * uint64(e.Envelopes), Size: e.Size,
	}
}

// Survivors draws which contributions of a crowd of n stay: kept[i] speaks of
// the i-th. The error is ErrWithheld where nothing of the crowd may leave.
//
// Where the plan keeps the sizes of crowds private it is randomized deletion
// (ESA, Algorithm 3): max(0, n + Z - T) stay, whole and chosen uniformly, Z
// discrete Laplace. If Z > T, which would take more than there are, the crowd is
// lost. Of more than the plan's maximum so many stay, chosen alike. After this nobody but the entry knows n: batches, receipts, metrics and
// pages speak of those that stay.
func (e Rules) Survivors(r *rand.Rand, n int) (kept []bool, respondents int, err error) {
	stay := n
	if d := e.Deletion; d != nil {
		z := noise.DiscreteLaplace{Decay: d.Noise}.Sample(r)
		if stay = max(0, n+z-d.Threshold); stay > n {
			stay = 0
		}
	}
	if stay < e.Minimum {
		return nil, 0, ErrWithheld
	}
	if e.Maximum > 0 { // not who came first: that would favour those who are quick
		stay = min(stay, e.Maximum)
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
