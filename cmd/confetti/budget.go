package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"text/tabwriter"

	analyzer "github.com/confetti-dp/confetti/analyzer/service"
)

type budgetCommand struct {
	Show budgetShow `cmd:"" help:"Show what a population may spend, and what was spent by whom."`
}

type budgetShow struct {
	Population string `arg:"" optional:"" help:"Its name; with --dir the trial's."`
	URL        string `help:"Address of the analyzer; with --dir the trial's." placeholder:"URL"`
	serviceFlags
	JSON bool `help:"Print JSON."`
}

func (budgetShow) Help() string {
	return "Example:\n  confetti budget show everybody --url https://analyzer.example:8443 --token operator.token\n  confetti budget show --dir trial"
}

func (c budgetShow) Run(std streams) error {
	if c.Dir != "" {
		signed, err := signedFlag{}.read(c.Dir)
		if err != nil {
			return err
		}
		if c.URL == "" {
			c.URL = signed.Plan.Analyzer.URL
		}
		if c.Population == "" {
			c.Population = trialPopulation
		}
	}
	if c.URL == "" || c.Population == "" {
		return usagef("name a population and the analyzer's --url, or with --dir a trial")
	}
	s, err := c.open()
	if err != nil {
		return err
	}
	defer s.close()
	ctx, stop := untilStopped()
	defer stop()
	text, err := s.get(ctx, c.URL+"/v1/budgets/"+url.PathEscape(c.Population))
	if err != nil {
		return err
	}
	var b analyzer.Budget
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("%s: %w", c.URL, err)
	}
	if c.JSON {
		return writeJSON(std.out, b)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "population\t%s\n", plain(b.Population))
	fmt.Fprintf(w, "may spend\tepsilon %.4g at delta %.3g, %s\n", b.Allowed.Epsilon, b.Allowed.Delta, b.Allowed.Adjacency)
	fmt.Fprintf(w, "has spent\tepsilon %.4g at delta %.3g, by %s\n", b.Spent.Epsilon, b.Spent.Delta, plain(b.Spent.Method))
	for _, p := range b.Plans {
		fmt.Fprintf(w, "%.12s\tepsilon %.4g at delta %.3g, %s, n = %d, by %s on %s\n", p.Plan, p.Epsilon, p.Delta, p.Adjacency, p.Users, plain(p.Publisher), p.At.Format("2006-01-02"))
	}
	return w.Flush()
}
