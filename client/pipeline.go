package client

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Pipeline turns a value into what the device hands in. It is not safe for
// concurrent use.
type Pipeline struct {
	// Memory keeps backstops; nil forgets them (simulations, and questions
	// without any).
	Memory protocol.Memory
	// Tokens gives the single-use tokens that the hops of an instance demand, by
	// hop: nil where one demands none. The entry's goes with the contribution and
	// the others into the slots of their layers. It is not asked where no hop of
	// the instance demands any.
	Tokens func(instance int) ([][]byte, error)
	// Instance picks the one that a report goes through, of so many; nil draws
	// it at random.
	Instance func(of int) int

	protocol *protocol.Protocol
	rand     *rand.Rand
	keys     [][]envelope.PublicKey // per instance: its hops, then the analyzer
	slots    [][]int                // likewise: bytes
	sealers  map[destination]*envelope.Sealer
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

// New is Prepare for a protocol whose promise has been checked already, with the
// caller's randomness: simulations replay a seed.
func New(p *protocol.Protocol, r *rand.Rand) (*Pipeline, error) {
	c := &Pipeline{protocol: p, rand: r, sealers: map[destination]*envelope.Sealer{}}
	for i, in := range p.Plan.Route.Mix.Instances {
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
	}
	return c, nil
}

// Sealed is one contribution and, where its entry hop demands one, the token
// that goes with it.
type Sealed struct {
	envelope.Contribution
	Token []byte
}

// answer is a report torn into payloads: already private, and not yet sealed.
type answer struct {
	crowd     int
	instances []int      // one a part
	parts     [][][]byte // payloads of each, dummies among them
	unfit     error      // nil, or *protocol.UnfitError
}

// Report makes a device's contributions from the respondent's value: one, all of
// which goes through one instance of the shuffler, or one to each instance,
// where the plan spreads report fragments. With a *protocol.UnfitError they are there
// too: the plan has no room for the value, and they say what it has for such a value.
func (c *Pipeline) Report(v protocol.Value) ([]Sealed, error) {
	a, err := c.answer(v)
	if err != nil {
		return nil, err
	}
	sealed := make([]Sealed, len(a.parts))
	for i, payloads := range a.parts {
		if sealed[i], err = c.seal(destination{a.instances[i], a.crowd}, payloads); err != nil {
			return nil, err
		}
	}
	return sealed, a.unfit
}

// answer encodes, randomizes and fragments.
func (c *Pipeline) answer(v protocol.Value) (answer, error) {
	symbol, err := c.protocol.Encode(v)
	_, stands := errors.AsType[*protocol.UnfitError](err)
	if err != nil && !stands {
		return answer{}, err
	}
	unfit := err
	report, err := c.protocol.Randomize(c.rand, symbol, c.Memory)
	if err != nil {
		return answer{}, err
	}
	a := answer{crowd: report.Crowd, unfit: unfit, instances: c.instances(len(report.Parts)), parts: make([][][]byte, len(report.Parts))}
	for i, part := range report.Parts {
		a.parts[i] = c.protocol.Fragment(c.rand, part)
	}
	return a, nil
}

// instances is where so many parts go.
func (c *Pipeline) instances(parts int) []int {
	if parts == 1 && c.Instance != nil {
		return []int{c.Instance(len(c.keys))}
	}
	if parts == 1 {
		return []int{c.rand.IntN(len(c.keys))}
	}
	all := make([]int, parts) // one to each: plan.SpreadAll
	for i := range all {
		all[i] = i
	}
	return all
}

func (c *Pipeline) seal(to destination, fragments [][]byte) (Sealed, error) {
	sealer, err := c.sealer(to)
	if err != nil {
		return Sealed{}, err
	}
	tokens, err := c.tokens(to.instance)
	if err != nil {
		return Sealed{}, err
	}
	out := Sealed{Contribution: envelope.Contribution{
		Plan: c.protocol.Hash, Instance: uint16(to.instance), Crowd: uint32(to.crowd), Envelopes: make([][]byte, len(fragments)),
	}}
	slots := make([][][]byte, len(fragments))
	for hop, token := range tokens {
		if hop == 0 {
			out.Token = token
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
	for i, f := range fragments {
		if out.Envelopes[i], err = sealer.SealWith(f, slots[i]); err != nil {
			return Sealed{}, err
		}
	}
	return out, nil
}

// tokens is what the hops of an instance demand; empty where none does.
func (c *Pipeline) tokens(instance int) ([][]byte, error) {
	hops := c.protocol.Plan.Route.Mix.Instances[instance].Hops
	demanded := false
	for _, h := range hops {
		demanded = demanded || h.Tokens != ""
	}
	if !demanded {
		return nil, nil
	}
	if c.Tokens == nil {
		return nil, fmt.Errorf("client: instance %d demands tokens and there is nobody to ask for them", instance+1)
	}
	tokens, err := c.Tokens(instance)
	if err != nil {
		return nil, err
	}
	for hop, h := range hops {
		if (h.Tokens != "") != (hop < len(tokens) && tokens[hop] != nil) {
			return nil, fmt.Errorf("client: instance %d: the tokens at hand are not those that its hops demand", instance+1)
		}
	}
	return tokens, nil
}

func (c *Pipeline) sealer(to destination) (*envelope.Sealer, error) {
	if s := c.sealers[to]; s != nil {
		return s, nil
	}
	route := envelope.Route(c.protocol.Hash, uint16(to.instance), uint32(to.crowd), c.keys[to.instance]...)
	for h := range route {
		route[h].Slot = c.slots[to.instance][h]
	}
	s, err := envelope.NewSealer(route, c.protocol.Plan.Envelopes.PayloadBytes)
	if err == nil {
		c.sealers[to] = s
	}
	return s, err
}
