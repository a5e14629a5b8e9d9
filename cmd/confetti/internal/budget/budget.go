// Package budget implements confetti budget: what a population may spend, and has spent. Used by cmd/confetti, for
// analysts.
package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/protocol"
)

type Command struct {
	Show budgetShow `cmd:"" help:"Show what a population may spend, and what was spent by whom."`
}

type budgetShow struct {
	Population string `arg:"" optional:"" help:"Its name; with --dir the trial's."`
	URL        string `help:"Address of the analyzer; with --dir the trial's." placeholder:"URL"`
	services.Operator
	Plan string `help:"A plan, signed or not: say whether it would be taken." type:"path" placeholder:"FILE"`
	JSON bool   `help:"Print JSON."`
}

func (budgetShow) Help() string {
	return "Example:\n  confetti budget show everybody --url https://analyzer.example:8443 --tokens operator.tokens\n  confetti budget show --dir trial"
}

func (c budgetShow) Run(std terminal.Streams) error {
	if c.Dir != "" {
		signed, err := services.SignedPlan{}.Read(c.Dir)
		if err != nil {
			return err
		}
		if c.URL == "" {
			c.URL = signed.Plan.Analyzer.URL
		}
		if c.Population == "" {
			c.Population = trial.Population
		}
	}
	if c.URL == "" || c.Population == "" {
		return terminal.Usagef("name a population and the analyzer's --url, or with --dir a trial")
	}
	if err := serve.Address(c.URL); err != nil {
		return terminal.Usagef("--url %q is %v", c.URL, err)
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	text, err := s.Get(ctx, c.URL+"/v1/budgets/"+url.PathEscape(c.Population))
	if err != nil {
		return err
	}
	var b progress.Budget
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("%s: %w", c.URL, err)
	}
	var next *budgetForecast
	if c.Plan != "" {
		if next, err = forecast(c.Plan, b); err != nil {
			return err
		}
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			progress.Budget
			Forecast *budgetForecast `json:"forecast,omitempty"`
		}{b, next})
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "population\t%s\n", sanitize.Text(b.Population))
	fmt.Fprintf(w, "may spend\t%s\n", account.Verdict(&b.Allowed.Epsilon, b.Allowed.Delta, account.Adjacency(sanitize.Text(b.Allowed.Adjacency))))
	fmt.Fprintf(w, "has spent\t%.3g %% of the budget for plans that a Gaussian dominates (shifts %.3g %%, tails %.3g %%)\n", 100*b.Shares.Box(), 100*b.Shares.Shift, 100*b.Shares.Tail)
	fmt.Fprintf(w, "\t%.3g %% of the budget for sums (epsilons %.3g %%, deltas %.3g %%); one of the two is enough\n", 100*b.Shares.Sums(), 100*b.Shares.Epsilon, 100*b.Shares.Delta)
	fmt.Fprintf(w, "has left\t%s\n", b.Left("like the last"))
	if next != nil {
		taken := "would be refused"
		if next.More > 0 {
			taken = "would be taken"
		}
		b.More = next.More
		fmt.Fprintf(w, "%s\t%s: %s, %.3g %% of the budget; %s\n", c.Plan, taken, account.Verdict(&next.Charge.Epsilon, next.Charge.Delta, account.Adjacency(sanitize.Text(b.Allowed.Adjacency))), 100*next.Shares.Box(), b.Left("like it"))
	}
	for _, p := range b.Plans {
		fmt.Fprintf(w, "%.12s\t%s, n = %d, by %s on %s\n", sanitize.Text(p.Plan), account.Verdict(&p.Epsilon, p.Delta, account.Adjacency(sanitize.Text(p.Adjacency))), p.Users, sanitize.Text(p.Publisher), p.At.Format("2006-01-02"))
		if p.Note != "" {
			fmt.Fprintf(w, "\t%s\n", sanitize.Text(p.Note))
		}
	}
	return w.Flush()
}

// budgetForecast is what a plan would take of a budget.
type budgetForecast struct {
	Charge account.Spending `json:"charge"`
	Shares account.Shares   `json:"shares"`
	More   int              `json:"more"` // how many like it would be taken, counted up to 1000
}

// forecast reads a plan and holds it against a budget, by the rule of the analyzer.
func forecast(file string, b progress.Budget) (*budgetForecast, error) {
	p, _, _, err := plans.ReadAny(file)
	if err != nil {
		return nil, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return nil, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return nil, err
	}
	adjacency := account.Adjacency(b.Allowed.Adjacency)
	g, err := proto.Charge(promise, adjacency)
	if err != nil {
		return nil, err
	}
	next := new(budgetForecast)
	if next.Charge, err = proto.Spending(g, adjacency); err != nil {
		return nil, err
	}
	f, err := account.NewFilter(b.Allowed.Epsilon, b.Allowed.Delta)
	if err != nil {
		return nil, err
	}
	var earlier []account.Spending
	for _, e := range b.Plans {
		if e.Counted == nil {
			return nil, errors.New("the analyzer does not say what its filter counts: it is of an older version")
		}
		earlier = append(earlier, *e.Counted)
	}
	next.Shares, next.More = f.Shares(next.Charge), f.More(progress.MostMore, next.Charge, earlier...)
	return next, nil
}
