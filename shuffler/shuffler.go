// Package shuffler collects what devices hand in and mixes it, so that nobody
// can tell whose an envelope is. It is the part of a mixing operator without a
// network and without a clock: the caller brings contributions and batches, and
// says when an epoch ends.
//
// The entry hop is a Collector, which counts respondents, deletes some of their
// contributions where the plan keeps the sizes of crowds private, and holds back
// crowds that are too small, followed by a Hop. Every later hop is a Hop alone: it
// checks, permutes, takes off its layer, and hands on. A shuffler cannot read
// what it mixes, nor tell a dummy from a report.
package shuffler

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/dp/noise"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/plan"
)

// ErrWithheld is the error of a batch in which too few respondents are left to
// hide among: nothing of it may leave.
var ErrWithheld = errors.New("shuffler: withheld")

// ErrMixed is the error of a second batch of a crowd, whatever it holds.
var ErrMixed = errors.New("shuffler: a batch of this crowd has left already, and a second one would show the difference of the two")

// instance is what a plan says about one instance of its shuffler.
type instance struct {
	plan      [32]byte
	number    uint16
	hops      []plan.Party
	slots     []int // bytes of room for a token, by layer
	crowds    int
	suite     envelope.Suite
	payload   int // bytes
	perDevice int // envelopes in a contribution
	minimum   int // n_min: distinct respondents in a batch
	maximum   int // n_max; 0: no limit
	honest    int // n_h: of these, the ones whose noise the guarantee counts on
	deletion  *plan.Deletion
}

func newInstance(p plan.Plan, number int) (instance, error) {
	if err := p.Validate(); err != nil {
		return instance{}, err
	}
	if number < 0 || number >= len(p.Route.Mix.Instances) {
		return instance{}, fmt.Errorf("shuffler: the plan has no instance %d: it has %d, counted from 0", number, len(p.Route.Mix.Instances))
	}
	if d := p.Crowd.Deletion; d != nil {
		if err := (noise.DiscreteLaplace{Decay: d.Noise}).Validate(); err != nil {
			return instance{}, fmt.Errorf("shuffler: crowd.deletion.noise: %w", err)
		}
	}
	return instance{
		plan:      p.Hash(),
		number:    uint16(number),
		hops:      p.Route.Mix.Instances[number].Hops,
		slots:     p.Slots(number),
		crowds:    p.Crowds(),
		suite:     envelope.Suite(p.Envelopes.Suite),
		payload:   p.Envelopes.PayloadBytes,
		perDevice: p.Envelopes.PerDevice,
		minimum:   p.Crowd.Minimum,
		maximum:   p.Crowd.Maximum,
		honest:    p.HonestMinimum(),
		deletion:  p.Crowd.Deletion,
	}, nil
}

// size is the length in bytes of an envelope as it reaches a hop: the layers
// of this and the later hops and of the analyzer are still on.
func (in instance) size(hop int) int {
	size := in.suite.Size(len(in.hops)-hop+1, in.payload)
	for _, slot := range in.slots[hop:] {
		size += slot
	}
	return size
}

// accepts checks what contributions and batches have in common. The reasons
// name what the plan says, never what a respondent sent.
func (in instance) accepts(hash [32]byte, number uint16, crowd uint32) error {
	switch {
	case hash != in.plan:
		return fmt.Errorf("shuffler: made for the plan that begins with %x: this is %x", in.plan[:6], hash[:6])
	case number != in.number:
		return fmt.Errorf("shuffler: made for instance %d: this is instance %d", int(in.number)+1, int(number)+1)
	case int64(crowd) >= int64(in.crowds):
		return fmt.Errorf("shuffler: names a crowd that the plan has not: it has %d, counted from 0", in.crowds)
	}
	return nil
}
