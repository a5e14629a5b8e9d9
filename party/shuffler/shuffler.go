// Package shuffler collects what devices hand in, withholds crowds that are too small, and mixes the others, so that
// nobody can tell whose an envelope is. Used by internal/service/shufflerd, which adds network and clock, and by simulate.
//
// In memory, as simulations run it, the entry hop is a Collector; the service's is internal/service/inbox, by the
// same rules. It counts respondents, deletes some of their contributions where the plan keeps the sizes of crowds
// private, and holds back crowds that are too small. A Hop follows, and every later hop is a Hop alone: it checks,
// takes off its layer, orders by a key that is destroyed behind it, and hands on. A shuffler cannot read what it mixes, nor tell a dummy from a report.
package shuffler

import (
	"errors"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
	"github.com/confetti-dp/confetti/plan"
)

// Collector gathers the contributions to one instance of one plan during one epoch, by
// crowd, in memory: see admission.Collector, which it is.
type Collector = admission.Collector

// Withheld says that nothing of a crowd leaves, and why.
type Withheld = admission.Withheld

// NewCollector starts an epoch of the plan's instance, counted from 0.
func NewCollector(p plan.Plan, instance int) (*Collector, error) {
	return admission.NewCollector(p, instance)
}

var (
	// ErrAlreadyContributed is the error of a respondent's second contribution.
	ErrAlreadyContributed = admission.ErrAlreadyContributed
	// ErrClosed is the error of a contribution that comes after the epoch's end.
	ErrClosed = admission.ErrClosed
	// ErrWithheld is the error of a batch in which too few respondents are left to hide
	// among: nothing of it may leave.
	ErrWithheld = admission.ErrWithheld
)

// ErrMixed is the error of a second batch of a crowd, whatever it holds.
var ErrMixed = errors.New("shuffler: a batch of this crowd has left already, and a second one would show the difference of the two")

// instance is what a plan says about one instance of its shuffler.
type instance struct {
	admission.Rules
	hops    []plan.Party
	slots   []int // bytes of room for a token, by layer
	suite   envelope.Suite
	payload int // bytes
	honest  int // n_h: of a batch's respondents, the ones whose noise the guarantee counts on
}

func newInstance(p plan.Plan, number int) (instance, error) {
	rules, err := admission.NewRules(p, number)
	if err != nil {
		return instance{}, err
	}
	return instance{
		Rules:   rules,
		hops:    p.Route.Instances()[number].Hops,
		slots:   p.Slots(number),
		suite:   envelope.Suite(p.Envelopes.Suite),
		payload: p.Envelopes.PayloadBytes,
		honest:  p.MinHonest(),
	}, nil
}

// size returns the length in bytes of an envelope as it reaches a hop: the layers
// of this and the later hops and of the analyzer are still on.
func (in instance) size(hop int) int {
	size := in.suite.Size(len(in.hops)-hop+1, in.payload)
	for _, slot := range in.slots[hop:] {
		size += slot
	}
	return size
}
