package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

type planWithdraw struct {
	services.SignedPlan
	services.Flags
	Key       string `help:"A private key of one of the plan's publishers." type:"path" placeholder:"FILE"`
	Reason    string `help:"Why, in one line: operators and respondents read it." placeholder:"TEXT"`
	Out       string `help:"Write the signed withdrawal here and send nothing: the key may be on a machine without a network." type:"path" placeholder:"FILE"`
	Log       string `help:"Address of a public log that has the plan: everybody sees there that it is withdrawn." placeholder:"URL"`
	Statement string `help:"Send this signed withdrawal, in the place of --key and --reason." type:"path" placeholder:"FILE"`
	terminal.Form
}

func (planWithdraw) Help() string {
	return `Stops a collection for good, and cannot be taken back: no service takes anything more
of it, what was collected is destroyed, nothing is released, and devices that show up
are told, with the publisher's signature. What answers cost respondents, and the
population's budget, stays spent.

It goes to every hop, the issuer and the analyzer, and needs no token. One that
could not be reached is named; send it again until all have it. With --key each
sending is signed anew, and the first one that a service gets is the one it keeps.

Example:
  confetti plan withdraw plan.signed.json --key publisher.json --reason misleading
  confetti plan withdraw --dir trial --reason tried`
}

func (c planWithdraw) Run(std terminal.Streams) error {
	signed, err := c.Read(c.Dir)
	if err != nil {
		return err
	}
	statement, err := c.statement(signed)
	if err != nil {
		return err
	}
	if !statement.Of(signed.Plan.Hash(), signed.Signers()) {
		return terminal.Usagef("the withdrawal is not of this plan, or its key is of nobody who has signed the plan")
	}
	if c.Out != "" {
		if err := atomicfile.Create(c.Out, append(statement.Marshal(), '\n'), 0o644); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists: choose another name", c.Out)
			}
			return err
		}
		return c.Print(std, withdrawn{Plan: signed.Plan.Name(), File: c.Out}, "plan  %s\nthe withdrawal is signed; nobody has it yet\n", signed.Plan.Name())
	}
	if err := c.send(c.Words(std), signed.Plan, statement); err != nil {
		return err
	}
	return c.Print(std, withdrawn{Plan: signed.Plan.Name(), Sent: true}, "")
}

// withdrawn is what became of a withdrawal.
type withdrawn struct {
	Plan string `json:"plan"`
	File string `json:"file,omitempty"` // where it lies, signed
	Sent bool   `json:"sent"`           // everybody whom the plan names has it
}

func (c planWithdraw) statement(signed plan.Signed) (plan.SignedWithdrawal, error) {
	if c.Statement != "" {
		if c.Key != "" || c.Reason != "" || c.Out != "" {
			return plan.SignedWithdrawal{}, terminal.Usagef("--statement is signed already: leave out --key, --reason and --out")
		}
		text, err := atomicfile.Read(c.Statement)
		if err != nil {
			return plan.SignedWithdrawal{}, err
		}
		w, err := plan.ParseWithdrawal(bytes.TrimSuffix(text, []byte("\r\n")))
		if err != nil {
			err = fmt.Errorf("%s: %w", c.Statement, err)
		}
		return w, err
	}
	if c.Key == "" && c.Dir != "" {
		c.Key = trial.Folder(c.Dir).Path(trial.Publisher)
	}
	if c.Key == "" || c.Reason == "" {
		return plan.SignedWithdrawal{}, terminal.Usagef("name the publisher's --key and a --reason, or with --statement a withdrawal that is signed")
	}
	key, _, err := partykey.ReadSigning(c.Key)
	if err != nil {
		return plan.SignedWithdrawal{}, err
	}
	w, err := plan.Withdraw(plan.Withdrawal{Plan: signed.Plan.Hash(), At: time.Now(), Reason: c.Reason}, key.Private())
	if err != nil {
		return w, terminal.Usage(err)
	}
	return w, nil
}

// send brings the withdrawal to everybody whom the plan names, entries first: there
// most is stopped.
func (c planWithdraw) send(out io.Writer, p plan.Plan, w plan.SignedWithdrawal) error {
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	all := slices.DeleteFunc(plans.Parties(p), func(one plans.Party) bool { return one.URL == "" })
	if len(all) == 0 && c.Log == "" {
		return plans.Addressed(p)
	}
	slices.SortStableFunc(all, func(a, b plans.Party) int { return rank(a) - rank(b) })
	var errs []error
	seen := map[string]bool{}
	for _, one := range all {
		if seen[one.URL] {
			continue
		}
		seen[one.URL] = true
		status, _, err := s.Do(ctx, http.MethodPut, one.URL+wire.WithdrawalPath(w.Plan), wire.WithdrawalType, w.Marshal())
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s does not have the withdrawal: %w", sanitize.Text(one.Name), err))
		case status == http.StatusCreated:
			fmt.Fprintf(out, "%s has stopped the plan for good\n", sanitize.Text(one.Name))
		default:
			fmt.Fprintf(out, "%s had stopped the plan already\n", sanitize.Text(one.Name))
		}
	}
	if c.Log != "" {
		if _, _, err := s.Do(ctx, http.MethodPut, c.Log+wire.WithdrawalPath(w.Plan), wire.WithdrawalType, w.Marshal()); err != nil {
			errs = append(errs, fmt.Errorf("the log does not have the withdrawal: %w", err))
		} else {
			fmt.Fprintln(out, "the log has the withdrawal")
		}
	}
	if len(errs) > 0 {
		return errors.Join(append(errs, errors.New("send it again until all have it"))...)
	}
	return nil
}

// rank sorts parties for withdrawal: entries first, then the analyzer (which releases), then the rest.
func rank(p plans.Party) int {
	switch {
	case p.Role == "shuffler" && p.Hop == 0:
		return 0
	case p.Role == "analyzer":
		return 1
	}
	return 2
}
