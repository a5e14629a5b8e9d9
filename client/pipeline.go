package client

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Pipeline turns a value into what the device hands in: Answer encodes, randomizes
// and fragments, Seal seals, Report is both. It is not safe for concurrent use.
type Pipeline struct {
	protocol *protocol.Protocol
	rand     *rand.Rand
	keys     [][]envelope.PublicKey // per instance: its hops, then the analyzer
	slots    [][]int                // likewise: bytes
	forms    []envelope.Form        // of the contributions to each instance
	sealers  map[destination]*envelope.Sealer
	tasks    []*task.Task // by crowd, of a plan whose answers are summed; nil where they are mixed
}

type destination struct{ instance, crowd int }

// Prepare makes the pipeline of a plan, with randomness from the operating
// system. It runs the accountant and refuses a plan whose promise does not
// follow from its numbers.
func Prepare(p plan.Plan) (*Pipeline, error) {
	proto, err := protocol.New(p)
	if err != nil {
		return nil, err
	}
	if _, err := proto.Promise(); err != nil {
		return nil, err
	}
	return New(proto, rng.New())
}

// New does what Prepare does, for a protocol whose promise has been checked already, with the
// caller's randomness: simulations replay a seed.
func New(p *protocol.Protocol, r *rand.Rand) (*Pipeline, error) {
	if p.Plan.Route.Table != nil {
		return nil, errors.New("client: the plan is of a table, which no device answers")
	}
	c := &Pipeline{protocol: p, rand: r, sealers: map[destination]*envelope.Sealer{}}
	var err error
	if c.tasks, err = tasksOf(p.Plan); err != nil {
		return nil, err
	}
	for i, in := range p.Plan.Route.Instances() {
		var keys []envelope.PublicKey
		for _, party := range append(in.Hops[:len(in.Hops):len(in.Hops)], p.Plan.Analyzer) {
			key, err := envelope.ParsePublicKey(party.Key)
			if err != nil {
				return nil, fmt.Errorf("client: instance %d, key of %s: %w", i+1, party.Operator, err)
			}
			keys = append(keys, key)
		}
		c.keys = append(c.keys, keys)
		c.slots = append(c.slots, p.Plan.Slots(i))
		c.forms = append(c.forms, formOf(p.Plan, p.Hash, i))
	}
	return c, nil
}

// formOf returns the form of contributions to an instance: of answers and of cover.
func formOf(p plan.Plan, hash [32]byte, instance int) envelope.Form {
	return envelope.NewForm(hash, uint16(instance), envelope.Suite(p.Envelopes.Suite), p.Envelopes.PerDevice, p.Envelopes.PayloadBytes, p.Slots(instance))
}

// Sealed is one contribution and, where its entry hop demands one, the token
// that goes with it.
type Sealed struct {
	Instance uint16
	Crowd    uint32
	Body     []byte // as it travels
	Token    []byte
}

// Answer is a report torn into payloads: already private, and not yet sealed.
type Answer struct {
	Crowd int
	Parts []Packed // one a contribution
	Unfit error    // nil, or *OutOfDomainError
}

// Packed is one part of an answer, and the instance of the shuffler that it goes
// through. Its payloads are permuted, with dummies among them. An answer that is summed
// has a vector in their place.
type Packed struct {
	Instance int
	Payloads [][]byte
	Body     int // bytes of a message in a payload, without the zeros behind it
	Vector   []uint64
}

// Report makes a device's contributions from the respondent's value: one, all of
// which goes through one instance of the shuffler, or one to each instance,
// where the plan spreads report fragments. With an *OutOfDomainError they are there
// too: the plan has no room for the value, and they say what it has for such a value.
// It keeps no backstop and has no tokens: it is for simulations.
func (c *Pipeline) Report(v question.Value) ([]Sealed, error) {
	a, err := c.Answer(v, nil, nil)
	if err != nil {
		return nil, err
	}
	sealed := make([]Sealed, len(a.Parts))
	for i, part := range a.Parts {
		if sealed[i], err = c.Seal(a.Crowd, part, nil); err != nil {
			return nil, err
		}
	}
	return sealed, a.Unfit
}

// Answer encodes, randomizes and fragments. Memory keeps backstops; nil forgets them.
// An answer of one part goes through one of the allowed instances, drawn at random;
// nil allows all of the plan's.
func (c *Pipeline) Answer(v question.Value, memory question.Memory, allowed []int) (Answer, error) {
	if c.tasks != nil {
		return c.measure(v, memory)
	}
	symbol, err := c.protocol.Encode(v)
	_, stands := errors.AsType[*question.OutOfDomainError](err)
	if err != nil && !stands {
		return Answer{}, err
	}
	unfit := err
	report, err := c.protocol.Randomize(c.rand, symbol, memory)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Crowd: report.Crowd, Unfit: unfit, Parts: make([]Packed, len(report.Parts))}
	for i := range a.Parts {
		a.Parts[i].Instance = i // one to each: plan.SpreadAll
	}
	switch {
	case len(a.Parts) == 1 && allowed != nil:
		a.Parts[0].Instance = allowed[c.rand.IntN(len(allowed))]
	case len(a.Parts) == 1:
		a.Parts[0].Instance = c.rand.IntN(len(c.keys))
	}
	for i, part := range report.Parts {
		if len(part) > 0 {
			a.Parts[i].Body = len(part[0])
		}
		a.Parts[i].Payloads = fragment.Pack(c.rand, part, c.protocol.Plan.Envelopes.PerDevice, c.protocol.Plan.Envelopes.PayloadBytes)
	}
	return a, nil
}

// Seal makes the contribution of a part. The tokens are the single-use ones that the
// hops of its instance demand, by hop: nil where one demands none. The entry's goes
// with the contribution and the others into the slots of their layers.
func (c *Pipeline) Seal(crowd int, part Packed, tokens [][]byte) (Sealed, error) {
	if c.tasks != nil {
		return Sealed{}, errors.New("client: the plan's answers are summed: they have no envelopes")
	}
	sealer, err := c.sealer(destination{part.Instance, crowd})
	if err != nil {
		return Sealed{}, err
	}
	if err := c.demanded(part.Instance, tokens); err != nil {
		return Sealed{}, err
	}
	fragments := part.Payloads
	out := Sealed{Instance: uint16(part.Instance), Crowd: uint32(crowd)}
	slots := make([][][]byte, len(fragments))
	for hop, token := range tokens {
		if hop == 0 {
			out.Token = token
			continue
		}
		if token == nil {
			continue
		}
		// One envelope carries it. Which one is drawn for each hop by itself: hops
		// that compare notes could follow an envelope that carried the tokens of all.
		at := c.rand.IntN(len(fragments))
		if slots[at] == nil {
			slots[at] = make([][]byte, len(tokens))
		}
		slots[at][hop] = token
	}
	for i := range slots {
		if slots[i] != nil {
			slots[i] = slots[i][c.outermost():]
		}
	}
	envelopes, err := sealer.SealAll(fragments, slots)
	if err != nil {
		return Sealed{}, err
	}
	if c.protocol.Plan.SealedOnce() {
		out.Body, err = c.forms[part.Instance].Seal(c.keys[part.Instance][0], out.Crowd, envelopes)
	} else {
		out.Body, err = envelope.Contribution{Plan: c.protocol.Hash, Instance: out.Instance, Crowd: out.Crowd, Envelopes: envelopes}.Marshal()
	}
	return out, err
}

// demanded checks that the tokens are what the hops of an instance demand.
func (c *Pipeline) demanded(instance int, tokens [][]byte) error {
	for hop, h := range c.protocol.Plan.Route.Ways()[instance] {
		has := hop < len(tokens) && tokens[hop] != nil
		switch {
		case h.Tokens != "" && tokens == nil:
			return fmt.Errorf("client: instance %d demands tokens and there are none", instance+1)
		case (h.Tokens != "") != has:
			return fmt.Errorf("client: instance %d: the tokens at hand are not those that its hops demand", instance+1)
		}
	}
	return nil
}

// outermost returns the first layer of each envelope by itself: the entry's is one round all.
func (c *Pipeline) outermost() int {
	if c.protocol.Plan.SealedOnce() {
		return 1
	}
	return 0
}

func (c *Pipeline) sealer(to destination) (*envelope.Sealer, error) {
	if s := c.sealers[to]; s != nil {
		return s, nil
	}
	route := envelope.Route(c.protocol.Hash, uint16(to.instance), uint32(to.crowd), c.keys[to.instance]...)
	for h := range route {
		route[h].Slot = c.slots[to.instance][h]
	}
	s, err := envelope.NewSealer(route[c.outermost():], c.protocol.Plan.Envelopes.PayloadBytes)
	if err == nil {
		c.sealers[to] = s
	}
	return s, err
}
