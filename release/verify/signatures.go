package verify

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// planSignature looks at whose the plan is, and what it was asked with.
func (c *checks) planSignature() {
	p, publisher := c.signed.Plan, strings.Join(c.signed.Signers(), " ")
	switch {
	case publisher == "" && p.Route.Table != nil:
		c.left("signature", "the holder of a table signs nothing: that these are its numbers is known only from where they came")
	case publisher == "":
		c.found("signature", errors.New(unsigned(c.release)), "")
	case c.Trusted == nil:
		c.found("signature", nil, "of %s; whether that is the publisher you expect was not asked", publisher)
		c.left("publisher", "nobody was named whose signature is expected: give the publisher's key, or a file of publishers (--publisher, --publishers)")
	default:
		c.found("signature", c.signed.Verify(*c.Trusted), "of %s", publisher)
	}
	if study := c.signed.Study; study != nil { // or it would not have been read
		c.found("round", nil, "%d of at most %d of study %s, of which each respondent answers %s; its coordinator signed it, and could choose number, state and times only", p.Round.Number, study.Rounds, plan.Short(p.Round.Study), study.Takes)
	}
	if p.State != "" {
		c.found("state", c.State(io.Discard, p.State), "%s, the one that the plan names", plan.Short(p.State))
	}
}

// releaseSignature asks whether the analyzer that the plan names has signed what the receipts are of.
func (c *checks) releaseSignature() error {
	p, signature := c.signed.Plan, c.Files[relay.SignatureFile]
	switch {
	case p.Analyzer.Releases == "":
		return fmt.Errorf("nobody has signed these numbers: a plan of version %d names nobody who does", p.Version)
	case signature == nil:
		return fmt.Errorf("nobody has signed these numbers: the plan names %s, and its signature is not here (%s)", p.Analyzer.Releases, relay.SignatureFile)
	}
	return relay.ReleaseOf(p.Hash(), c.Files[relay.ReceiptsFile]).Verify(p.Analyzer.Releases, signature)
}
