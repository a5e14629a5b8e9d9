package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/aggregate/aggregated"
	"github.com/confetti-dp/confetti/analyzer/analyzerd"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/plans"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/services"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/trial"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/shuffler/shufflerd"
)

type planSign struct {
	File   string    `arg:"" help:"A plan in TOML or JSON, or one that another publisher has signed." type:"path"`
	Key    string    `help:"The publisher's private key: confetti keys new --for publisher." required:"" type:"path" placeholder:"FILE"`
	Out    string    `help:"Where to write the signed plan." required:"" type:"path" placeholder:"FILE"`
	Opens  time.Time `help:"When the collection opens; as the plan says without it." placeholder:"TIME"`
	Closes time.Time `help:"When it closes; as the plan says without it." placeholder:"TIME"`
}

func (planSign) Help() string {
	return "Signs only a plan whose promise follows from its numbers. Times are RFC 3339. A plan that is signed already,\nas it is where several publishers must sign, gets one signature more and stays what it is.\n\nExample:\n  confetti plan sign plan.toml --key publisher.json --closes 2027-01-31T00:00:00Z --out plan.signed.json"
}

func (c planSign) Run(std terminal.Streams) error {
	key, _, err := wire.ReadSignKeyFile(c.Key)
	if err != nil {
		return err
	}
	signed, err := c.signed(key)
	if err != nil {
		return err
	}
	if err := durable.Create(c.Out, append(signed.Marshal(), '\n'), 0o644); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists: choose another name", c.Out)
		}
		return err
	}
	if closes := signed.Plan.Times.Closes; closes.Before(time.Now()) {
		fmt.Fprintf(std.Err, "note: the collection closed at %s: no device answers it any more\n", closes.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(std.Out, "plan       %s\n", signed.Plan.Name())
	for _, one := range signed.Signers() {
		fmt.Fprintf(std.Out, "publisher  %s\n", one)
	}
	if missing := signed.Plan.Signatures - 1 - len(signed.Others); missing > 0 {
		fmt.Fprintf(std.Out, "it asks for %d signatures: %d more must sign %s\n", signed.Plan.Signatures, missing, c.Out)
	}
	return nil
}

// signed is the plan with one signature more.
func (c planSign) signed(key wire.SignKey) (plan.Signed, error) {
	if text, err := os.ReadFile(c.File); err == nil && plan.IsSigned(text) {
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
	_, err = fmt.Fprintf(std.Out, "plan       %s\npublisher  %s\nthe signature is the publisher's, and the promise holds\n", signed.Plan.Name(), strings.Join(signed.Signers(), " "))
	return err
}

type planRegister struct {
	services.SignedPlan
	services.Flags
	State string `help:"The public state that the plan names, as the first round of a study may." type:"path" placeholder:"FILE"`
}

func (planRegister) Help() string {
	return `Brings a signed plan to the analyzer, every hop and the issuer that it names. The
analyzer asks for an operator's token; it refuses a plan that its population cannot
afford, and then nobody else is asked.

Example:
  confetti plan register plan.signed.json --token operator.token`
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
	return s.Register(ctx, std.Out, signed, c.State)
}

type planClose struct {
	services.SignedPlan
	services.Flags
	Wait time.Duration `help:"How long to wait until every crowd has reached the analyzer, before it closes too." default:"10m"`
}

func (planClose) Help() string {
	return `Ends a collection before its time: first at the entry hops, or the leader, and once every crowd
was counted or withheld, at the analyzer, which then publishes the release or says
why it may not. The token must be an operator's of all of them, as in a trial; an
operator of one service calls POST /v1/plans/PLAN/close there.

Example:
  confetti plan close --dir trial`
}

func (c planClose) Run(std terminal.Streams) error {
	signed, err := c.Read(c.Dir)
	if err != nil {
		return err
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	at := wire.ClosePath(signed.Plan.Hash())
	for _, p := range plans.Parties(signed.Plan) {
		if p.Role != "shuffler" && p.Role != "leader" || p.Hop > 0 {
			continue
		}
		if _, _, err := s.Do(ctx, http.MethodPost, p.URL+at, "", nil); err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "%s takes no more contributions\n", plain.Text(p.Name))
	}
	if err := settled(ctx, s, signed); err != nil {
		return err
	}
	_, text, err := s.Do(ctx, http.MethodPost, signed.Plan.Analyzer.URL+at, "", nil)
	if err != nil {
		return err
	}
	var state analyzerd.Plan
	if err := json.Unmarshal(text, &state); err != nil {
		return err
	}
	if state.State == analyzerd.Withheld {
		return fmt.Errorf("nothing is released: %s", state.Reason)
	}
	_, err = fmt.Fprintf(std.Out, "%s; to get the release:\n  confetti release fetch %s\n", plain.Text(string(state.State)), c.again())
	return err
}

// again is what the next command that asks about the same plan is given.
func (c planClose) again() string {
	if c.Plan == "" {
		return fmt.Sprintf("--dir %s --out %s", c.Dir, trial.Folder(c.Dir).Path("release"))
	}
	words := c.Plan
	for _, f := range []struct{ flag, value string }{{"dir", c.Dir}, {"roots", c.Roots}} {
		if f.value != "" {
			words += " --" + f.flag + " " + f.value
		}
	}
	return words + " --out release"
}

// stillOpen says why a collection is not closed at the analyzer yet.
func stillOpen(crowds int, err error) error {
	if err != nil {
		return fmt.Errorf("it is not known whether all crowds have arrived, and the analyzer is open: try again, or give a longer --wait: %w", err)
	}
	return fmt.Errorf("%s on the way, and the analyzer is open: try again, or give a longer --wait", serve.Count(crowds, "crowd is still", "crowds are still"))
}

// settled returns once every crowd of every instance was handed to the analyzer or
// withheld on its way.
func settled(ctx context.Context, s *services.Services, signed plan.Signed) error {
	for {
		left, err := underWay(ctx, s, signed)
		if err == nil && left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return stillOpen(left, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// underWay counts crowds of instances on which no hop has the last word yet.
func underWay(ctx context.Context, s *services.Services, signed plan.Signed) (int, error) {
	if signed.Plan.Route.Sum != nil {
		return adding(ctx, s, signed)
	}
	left := 0
	for i, in := range signed.Plan.Route.Instances() {
		over := map[uint32]bool{}
		for h, hop := range in.Hops {
			text, err := s.Get(ctx, hop.URL+wire.StatusPath(signed.Plan.Hash()))
			if err != nil {
				return 0, err
			}
			var all []shufflerd.Status
			if err := json.Unmarshal(text, &all); err != nil {
				return 0, fmt.Errorf("%s: %w", hop.URL, err)
			}
			for _, st := range all {
				if st.Instance != i || st.Hop != h {
					continue
				}
				for _, c := range st.Crowds {
					if c.Phase == "withheld" || c.Phase == "forwarded" && h == len(in.Hops)-1 {
						over[c.Crowd] = true
					}
				}
			}
		}
		left += signed.Plan.Crowds() - len(over)
	}
	return left, nil
}

// adding counts crowds of which the leader has neither both shares nor withheld them.
func adding(ctx context.Context, s *services.Services, signed plan.Signed) (int, error) {
	leader := signed.Plan.Route.Sum.Leader
	text, err := s.Get(ctx, leader.URL+wire.StatusPath(signed.Plan.Hash()))
	if err != nil {
		return 0, err
	}
	var all []aggregated.Status
	if err := json.Unmarshal(text, &all); err != nil {
		return 0, fmt.Errorf("%s: %w", leader.URL, err)
	}
	left := signed.Plan.Crowds()
	for _, st := range all {
		for _, c := range st.Crowds {
			if c.Phase == aggregated.HandedOn || c.Phase == aggregated.Withheld {
				left--
			}
		}
	}
	return left, nil
}
