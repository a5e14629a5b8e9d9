// Package client is the respondent's side: encode, randomize, fragment, seal.
// Nothing leaves the device that is not already private, in a constant number
// of envelopes whatever the data.
package client

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Client answers the question of one plan. It is not safe for concurrent use.
type Client struct {
	protocol *protocol.Protocol
	rand     *rand.Rand
	keys     [][]envelope.PublicKey // per instance: its hops, then the analyzer
	sealers  map[destination]*envelope.Sealer
}

type destination struct{ instance, crowd int }

// Open prepares to answer a plan, with randomness from the operating system.
// It runs the accountant and refuses a plan whose promise does not follow from
// its numbers.
func Open(p plan.Plan) (*Client, error) {
	proto, err := protocol.New(p)
	if err != nil {
		return nil, err
	}
	if _, err := proto.Promise(); err != nil {
		return nil, err
	}
	return New(proto, rng.New())
}

// New is Open for a protocol whose promise has been checked already, with the
// caller's randomness: simulations replay a seed.
func New(p *protocol.Protocol, r *rand.Rand) (*Client, error) {
	c := &Client{protocol: p, rand: r, sealers: map[destination]*envelope.Sealer{}}
	for i, in := range p.Plan.Route.Mix.Instances {
		var keys []envelope.PublicKey
		for _, party := range append(in.Hops[:len(in.Hops):len(in.Hops)], p.Plan.Analyzer) {
			key, err := envelope.ParsePublicKey(party.Key)
			if err != nil {
				return nil, fmt.Errorf("client: instance %d, key of %s: %w", i, party.Operator, err)
			}
			keys = append(keys, key)
		}
		c.keys = append(c.keys, keys)
	}
	return c, nil
}

// Report makes one contribution from the respondent's value. The whole of it
// goes through one instance of the shuffler, chosen at random.
func (c *Client) Report(v protocol.Value) (envelope.Contribution, error) {
	symbol, err := c.protocol.Encode(v)
	if err != nil {
		return envelope.Contribution{}, err
	}
	report := c.protocol.Randomize(c.rand, symbol)
	fragments := c.protocol.Fragment(c.rand, report)
	return c.seal(c.rand.IntN(len(c.keys)), report.Crowd, fragments)
}

func (c *Client) seal(instance, crowd int, fragments [][]byte) (envelope.Contribution, error) {
	sealer, err := c.sealer(destination{instance, crowd})
	if err != nil {
		return envelope.Contribution{}, err
	}
	sealed := make([][]byte, len(fragments))
	for i, f := range fragments {
		if sealed[i], err = sealer.Seal(f); err != nil {
			return envelope.Contribution{}, err
		}
	}
	return envelope.Contribution{Plan: c.protocol.Hash, Instance: uint16(instance), Crowd: uint32(crowd), Envelopes: sealed}, nil
}

func (c *Client) sealer(to destination) (*envelope.Sealer, error) {
	if s := c.sealers[to]; s != nil {
		return s, nil
	}
	route := envelope.Route(c.protocol.Hash, uint16(to.instance), uint32(to.crowd), c.keys[to.instance]...)
	s, err := envelope.NewSealer(route, c.protocol.Plan.Envelopes.PayloadBytes)
	if err == nil {
		c.sealers[to] = s
	}
	return s, err
}
