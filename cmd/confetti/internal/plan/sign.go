package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

type planSign struct {
	File   string    `arg:"" help:"A plan in TOML or JSON, or one that another publisher has signed." type:"path"`
	Key    string    `help:"The publisher's private key: confetti keys new --for publisher." required:"" type:"path" placeholder:"FILE"`
	Out    string    `help:"Where to write the signed plan." required:"" type:"path" placeholder:"FILE"`
	Opens  time.Time `help:"When the collection opens; as the plan says without it." placeholder:"TIME"`
	Closes time.Time `help:"When it closes; as the plan says without it." placeholder:"TIME"`
	terminal.Form
}

func (planSign) Help() string {
	return "Signs only a plan whose promise follows from its numbers. Times are RFC 3339. A plan that is signed already,\nas it is where several publishers must sign, gets one signature more and stays what it is.\n\nExample:\n  confetti plan sign plan.toml --key publisher.json --closes 2027-01-31T00:00:00Z --out plan.signed.json"
}

func (c planSign) Run(std terminal.Streams) error {
	key, _, err := partykey.ReadSigning(c.Key)
	if err != nil {
		return err
	}
	signed, err := c.signed(key)
	if err != nil {
		return err
	}
	if err := atomicfile.Create(c.Out, append(signed.Marshal(), '\n'), 0o644); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: choose another name", c.Out)
		}
		return err
	}
	if closes := signed.Plan.Times.Closes; closes.Before(time.Now()) {
		fmt.Fprintf(std.Err, "note: the collection closed at %s: no device answers it any more\n", closes.UTC().Format(time.RFC3339))
	}
	says := fmt.Sprintf("plan       %s\n", signed.Plan.Name())
	for _, one := range signed.Signers() {
		says += fmt.Sprintf("publisher  %s\n", one)
	}
	missing := max(0, signed.Plan.Signatures-1-len(signed.Others))
	if missing > 0 {
		says += fmt.Sprintf("it asks for %d signatures: %d more must sign %s\n", signed.Plan.Signatures, missing, c.Out)
	}
	return c.Print(std, struct {
		signedBy
		File    string `json:"file"`
		Missing int    `json:"missing"` // signatures that the plan asks for still
	}{signers(signed), c.Out, missing}, "%s", says)
}

// signedBy is what a command says of a signed plan.
type signedBy struct {
	Plan       string   `json:"plan"`
	Publishers []string `json:"publishers"`
}

// signers names a plan, and who has signed it.
func signers(p plan.Signed) signedBy { return signedBy{p.Plan.Name(), p.Signers()} }

// signed returns the plan with one signature more.
func (c planSign) signed(key relay.SignKey) (plan.Signed, error) {
	if text, err := atomicfile.Read(c.File); err == nil && plan.IsSigned(text) {
		if !c.Opens.IsZero() || !c.Closes.IsZero() {
			return plan.Signed{}, terminal.Usagef("%s is signed, and its times with it: leave out --opens and --closes, or sign the plan that it was made of", c.File)
		}
		earlier, err := plans.ReadSigned(c.File)
		if err != nil {
			return plan.Signed{}, err
		}
		if err := protocol.Check(earlier.Plan); err != nil {
			return plan.Signed{}, fmt.Errorf("%s: %w", c.File, err)
		}
		return earlier.Sign(key.Private())
	}
	p, err := plans.Read(c.File)
	if err != nil {
		return plan.Signed{}, err
	}
	if !c.Opens.IsZero() {
		p.Times.Opens = c.Opens.UTC()
	}
	if !c.Closes.IsZero() {
		p.Times.Closes = c.Closes.UTC()
	}
	if p.Times.Closes.IsZero() {
		return plan.Signed{}, terminal.Usagef("%s does not say when the collection closes, which services need: give --closes", c.File)
	}
	if err := protocol.Validate(p); err != nil {
		return plan.Signed{}, terminal.Usage(err)
	}
	if err := protocol.Check(p); err != nil {
		return plan.Signed{}, fmt.Errorf("%s: %w", c.File, err)
	}
	return plan.Sign(p, key.Private()), nil
}

type planVerify struct {
	File string `arg:"" help:"A signed plan." type:"path"`
	flags.Trust
	terminal.Form
}

func (planVerify) Help() string {
	return "Checks signatures and promise; without --publisher or --publishers not whose the signatures are.\n\nExample:\n  confetti plan verify plan.signed.json --publisher ed25519:bm90IGEga2V5LCBhbiBleGFtcGxlIG9mIGEga2V5IQ"
}

func (c planVerify) Run(std terminal.Streams) error {
	signed, err := plans.ReadSigned(c.File)
	if err != nil {
		return err
	}
	if err := signed.Verify(plan.Trust(signed.Signers()...)); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if err := takes(c.Trust, c.File); err != nil {
		return err
	}
	if err := protocol.Check(signed.Plan); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return c.Print(std, signers(signed), "plan       %s\npublisher  %s\nthe signature is the publisher's, and the promise holds\n", signed.Plan.Name(), strings.Join(signed.Signers(), " "))
}

type planRegister struct {
	services.SignedPlan
	services.Operator
	State string `help:"The public state that the plan names, as the first round of a study may." type:"path" placeholder:"FILE"`
	terminal.Form
}

func (planRegister) Help() string {
	return `Brings a signed plan to the analyzer, every hop and the issuer that it names. The
analyzer asks for an operator's token, which nobody else is shown; it refuses a plan that
its population cannot afford, and then nobody else is asked.

Example:
  confetti plan register plan.signed.json --tokens operator.tokens`
}

func (c planRegister) Run(std terminal.Streams) error {
	signed, err := c.Read(c.Dir)
	if err != nil {
		return err
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Register(ctx, c.Words(std), signed, c.State); err != nil {
		return err
	}
	return c.Print(std, signers(signed), "")
}
