package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

type planWithdraw struct {
	signedFlag
	serviceFlags
	Key       string `help:"A private key of one of the plan's publishers." type:"path" placeholder:"FILE"`
	Reason    string `help:"Why, in one line: operators and respondents read it." placeholder:"TEXT"`
	Out       string `help:"Write the signed withdrawal here and send nothing: the key may be on a machine without a network." type:"path" placeholder:"FILE"`
	Statement string `help:"Send this signed withdrawal, in the place of --key and --reason." type:"path" placeholder:"FILE"`
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

func (c planWithdraw) Run(std streams) error {
	signed, err := c.read(c.Dir)
	if err != nil {
		return err
	}
	statement, err := c.statement(signed)
	if err != nil {
		return err
	}
	if !statement.Of(signed.Plan.Hash(), signed.Signers()) {
		return usagef("the withdrawal is not of this plan, or its key is of nobody who has signed the plan")
	}
	if c.Out != "" {
		if err := durable.Create(c.Out, append(statement.Marshal(), '\n'), 0o644); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists: choose another name", c.Out)
			}
			return err
		}
		_, err := fmt.Fprintf(std.out, "plan  %s\nthe withdrawal is signed; nobody has it yet\n", signed.Plan.Name())
		return err
	}
	return c.send(std, signed.Plan, statement)
}

func (c planWithdraw) statement(signed plan.Signed) (plan.SignedWithdrawal, error) {
	if c.Statement != "" {
		if c.Key != "" || c.Reason != "" || c.Out != "" {
			return plan.SignedWithdrawal{}, usagef("--statement is signed already: leave out --key, --reason and --out")
		}
		text, err := os.ReadFile(c.Statement)
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
		c.Key = trial(c.Dir).path(trialPublisher)
	}
	if c.Key == "" || c.Reason == "" {
		return plan.SignedWithdrawal{}, usagef("name the publisher's --key and a --reason, or with --statement a withdrawal that is signed")
	}
	key, _, err := wire.ReadSignKeyFile(c.Key)
	if err != nil {
		return plan.SignedWithdrawal{}, err
	}
	w, err := plan.Withdraw(plan.Withdrawal{Plan: signed.Plan.Hash(), At: time.Now(), Reason: c.Reason}, key.Private())
	if err != nil {
		return w, usageError{err}
	}
	return w, nil
}

// send brings the withdrawal to everybody whom the plan names, entries first: there
// most is stopped.
func (c planWithdraw) send(std streams, p plan.Plan, w plan.SignedWithdrawal) error {
	s, ctx, done, err := c.reach()
	if err != nil {
		return err
	}
	defer done()
	all := parties(p)
	slices.SortStableFunc(all, func(a, b party) int { return last(a) - last(b) })
	var errs []error
	seen := map[string]bool{}
	for _, one := range all {
		if one.url == "" || seen[one.url] {
			continue
		}
		seen[one.url] = true
		status, _, err := s.do(ctx, http.MethodPut, one.url+wire.WithdrawalPath(w.Plan), wire.WithdrawalType, w.Marshal())
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s does not have the withdrawal: %w", plain.Text(one.name), err))
		case status == http.StatusCreated:
			fmt.Fprintf(std.out, "%s has stopped the plan for good\n", plain.Text(one.name))
		default:
			fmt.Fprintf(std.out, "%s had stopped the plan already\n", plain.Text(one.name))
		}
	}
	if len(errs) > 0 {
		return errors.Join(append(errs, errors.New("send it again until all have it"))...)
	}
	return nil
}

// last orders parties: the entries, the analyzer, who alone releases, the others.
func last(p party) int {
	switch {
	case p.role == "shuffler" && p.hop == 0:
		return 0
	case p.role == "analyzer":
		return 1
	}
	return 2
}
