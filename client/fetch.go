package client

import (
	"context"
	"errors"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Fetch reads a signed plan from a service that has it: a hop, the issuer or the
// analyzer, at an address such as https://hop.example. The plan is that of the
// hash, signed by one of the options' publishers, or none: nothing else that a
// service sends is parsed.
func Fetch(ctx context.Context, address string, hash [32]byte, o Options) (plan.Signed, error) {
	text, err := fetchText(ctx, address, wire.PlanPath(hash), plan.MaxSignedBytes, o)
	if err != nil {
		return plan.Signed{}, err
	}
	signed, err := plan.SplitSigned(text)
	if err != nil {
		return plan.Signed{}, err
	}
	if signed.Hash() != hash {
		return plan.Signed{}, errors.New("client: the service gives another plan than was asked for")
	}
	if err := signed.Verify(o.Publishers); err != nil {
		return plan.Signed{}, err
	}
	whole, err := signed.Parse()
	if err != nil {
		return plan.Signed{}, err
	}
	return whole, o.Publishers.Stands(whole)
}
