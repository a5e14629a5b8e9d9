package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
)

// tokens returns the single-use tokens that the plan's hops demand, by instance and
// hop; all nil where none does. Every device asks for those of all instances, so
// that the issuer does not learn which one its answer goes through. The requests
// follow from the device's secret: asked again after a crash, they are the same
// and the issuer answers them again.
func (c *Client) tokens(ctx context.Context) ([][][]byte, error) {
	seed := token.Seed(c.secret.derive("confetti/tokens/v1", c.hash[:]))
	ways := c.signed.Plan.Route.Ways()
	tokens := make([][][]byte, len(ways))
	var ask tokenwire.Request
	var requests []*token.Request
	for i, hops := range ways {
		tokens[i] = make([][]byte, len(hops))
		for h, hop := range hops {
			if hop.Tokens == "" {
				continue
			}
			key, err := token.ParsePublicKey(hop.Tokens)
			if err != nil {
				return nil, fmt.Errorf("client: instance %d, hop %d: %w", i+1, h+1, err)
			}
			request, err := token.NewRequest(seed, key, token.Context{Plan: c.hash, Instance: uint16(i), Hop: uint8(h)})
			if err != nil {
				return nil, err
			}
			requests = append(requests, request)
			ask.Asks = append(ask.Asks, tokenwire.Ask{Instance: uint16(i), Hop: uint8(h), Blinded: request.Blinded})
		}
	}
	if len(requests) == 0 {
		return tokens, nil
	}
	body, err := do(ctx, c.sender.transport, Request{
		Method: "POST", URL: c.sender.issuer + wire.TokensPath(c.hash), Type: wire.TokenRequestType, Authorization: c.sender.authorization(), Body: ask.Marshal(), Known: true,
	}, tokenwire.MaxBody)
	if err != nil {
		return nil, err
	}
	answer, err := tokenwire.ParseResponse(body)
	if err != nil {
		return nil, err
	}
	if len(answer.Answers) != len(requests) {
		return nil, errors.New("client: the issuer answers another number of requests than it was asked")
	}
	for n, request := range requests {
		t, err := request.Finish(answer.Answers[n])
		if err != nil {
			return nil, err
		}
		tokens[ask.Asks[n].Instance][ask.Asks[n].Hop] = t
	}
	return tokens, nil
}
