package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/plan"
)

type planClose struct {
	services.SignedPlan
	services.Operator
	Wait time.Duration `help:"How long to wait until every crowd has reached the analyzer, before it closes too." default:"10m"`
	terminal.Form
}

func (planClose) Help() string {
	return `Ends a collection before its time: first at the entry hops, or the leader, and once every crowd
was counted or withheld, at the analyzer, which then publishes the release or says
why it may not. What --tokens opens is closed; where services of other organisations are
open still, it says whose they are and what to send them, and exits with 3. They run the
same command with tokens of their own, in any order, the analyzer's operator last.

Examples:
  confetti plan close --dir trial
  confetti plan close plan.signed.json --roots north/roots.pem --tokens north/operator.tokens
  confetti plan close plan.signed.json --token operator.token --at https://confetti.north.example:8443`
}

func (c planClose) Run(std terminal.Streams) error {
	signed, err := c.Read(c.Dir)
	if err == nil {
		err = plans.Addressed(signed.Plan)
	}
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
	if c.Plan == "" { // the trial's file may be older than its newest round, which submit answers
		next, err := s.NextRound(ctx, signed)
		if err != nil {
			return err
		}
		if next != nil {
			signed = *next
		}
	}
	left, err := s.CloseEntries(ctx, signed.Plan, func(name string) {
		fmt.Fprintf(c.Words(std), "%s takes no more contributions\n", sanitize.Text(name))
	})
	if err != nil {
		return err
	}
	analyzer := plans.Parties(signed.Plan)[0]
	if len(left) > 0 {
		return c.remains(std, signed.Plan, append(left, analyzer))
	}
	verdict, err := s.Verdict(ctx, signed.Plan)
	switch {
	case errors.Is(err, services.ErrNotOurs):
		return c.remains(std, signed.Plan, []plans.Party{analyzer})
	case err != nil:
		return err
	case verdict.Status == progress.Withheld:
		return fmt.Errorf("nothing is released: %s", verdict.Reason)
	}
	return c.Print(std, closed{Plan: signed.Plan.Name(), Status: string(verdict.Status)}, "%s; to get the release:\n  confetti release fetch %s\n", sanitize.Text(string(verdict.Status)), c.again())
}

// closed is how far a collection is closed.
type closed struct {
	Plan   string `json:"plan"`
	Status string `json:"status"`
	Open   []open `json:"open,omitempty"` // services that are not closed yet, the analyzer last
}

// open is a service that its own operator closes.
type open struct {
	Name string `json:"name"`
	Role string `json:"role"`
	URL  string `json:"url"`
}

// remains says who must close the collection too, the analyzer last, and what to send them.
func (c planClose) remains(std terminal.Streams, p plan.Plan, left []plans.Party) error {
	out, result := c.Words(std), closed{Plan: p.Name(), Status: string(progress.Open)}
	for _, party := range left {
		result.Open = append(result.Open, open{party.Name, party.Role, party.URL})
		when := ""
		if party.Role == "analyzer" {
			when = ", last"
		}
		fmt.Fprintf(out, "open still: %s at %s, which its operator closes%s\n", sanitize.Text(party.Name), sanitize.Text(party.URL), when)
	}
	fmt.Fprint(out, "Send each the signed plan and this line, in which roots.pem and operator.tokens are its own:\n  confetti plan close plan.signed.json --roots roots.pem --tokens operator.tokens\n")
	if err := c.Print(std, result, ""); err != nil {
		return err
	}
	return terminal.Unfinishedf("not closed yet: %s open still", serve.Count(len(left), "party is", "parties are"))
}

// again returns what the next command that asks about the same plan is given.
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
