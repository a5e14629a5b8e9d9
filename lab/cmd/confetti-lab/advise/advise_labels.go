package advise

import (
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/lab/advise"
)

// labels compares the ways that labels of public features are told.
func (c Command) labels(std terminal.Streams, t advise.Task) error {
	switch {
	case t.Domain == 0:
		return terminal.Usagef("--kind labels: say with --domain how many labels there are")
	case c.Plot != "":
		return terminal.Usagef("--plot draws protocols of values: leave it out, or --kind labels")
	}
	task := advise.Labels{Users: t.Users, Classes: t.Domain, Clusters: c.Clusters, Features: c.Features, Epsilon: t.Epsilon, Delta: t.Delta, LocalEpsilon: t.LocalEpsilon}
	a, err := advise.CompareLabels(task)
	if err != nil {
		return flags.Refused(err, "users", "classes", "clusters", "features", "epsilon", "local-epsilon", "delta")
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, labelDocument(a))
	}
	promised := fmt.Sprintf("epsilon %g, delta %g for whoever reads what is released", t.Epsilon, t.Delta)
	if t.Epsilon == 0 {
		promised = fmt.Sprintf("epsilon %g though everyone colludes", t.LocalEpsilon)
	}
	fmt.Fprintf(std.Out, "%s respondents, one of %s labels each, features public; %s (label)\n\n", terminal.Thousands(t.Users), terminal.Thousands(t.Domain), promised)
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\treport\terror of\tamong\tmisnamed,\tenvelopes\tepsilon:\teveryone\trelies on")
	fmt.Fprintln(w, "\t\ta count\talike\tat most\ta device\treleased\tcolludes\t")
	for i, o := range a.Ways {
		if o.Excluded != "" {
			continue
		}
		mark := ""
		if i == a.Best {
			mark = "*"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2g\t%s\t%s\t%s\t%s\n", mark, o.Report, terminal.Wide(o.RMSE), terminal.Thousands(o.Alike), o.Misnamed, terminal.Thousands(o.Envelopes), terminal.Wide(o.Guarantee.Epsilon), terminal.Wide(o.Local), account.Trust(o.Guarantee.Trust).Words())
	}
	fmt.Fprintf(w, "\nEach error is of the count of one label among as many respondents as a typical cluster of %s holds, whose features are alike;\nmisnamed is the chance that so many of one label are taken for another's. What features tell of labels decides the rest.\n", terminal.Thousands(a.Clusters))
	for _, o := range a.Ways {
		if o.Excluded != "" {
			fmt.Fprintf(w, "Not %s: %s.\n", o.Report, o.Excluded)
		}
	}
	fmt.Fprintf(w, "\nRecommended: %s\n", a.Reason)
	return w.Flush()
}

func labelDocument(a advise.LabelAdvice) any {
	type way struct {
		Report    string   `json:"report"`
		Excluded  string   `json:"excluded,omitempty"`
		Epsilon   float64  `json:"epsilon,omitempty"`
		Delta     float64  `json:"delta,omitempty"`
		Adjacency string   `json:"adjacency,omitempty"`
		Trust     string   `json:"trust,omitempty"`
		Method    string   `json:"method,omitempty"`
		Local     *float64 `json:"epsilon_local,omitempty"` // left out: nothing is promised
		RMSE      float64  `json:"rmse,omitempty"`
		Alike     int      `json:"alike,omitempty"`
		Misnamed  *float64 `json:"misnamed_at_most,omitempty"`
		Envelopes int      `json:"envelopes_per_device,omitempty"`
	}
	out := struct {
		Recommended string `json:"recommended"`
		Reason      string `json:"reason"`
		Clusters    int    `json:"clusters"`
		Ways        []way  `json:"ways"`
	}{Reason: a.Reason, Clusters: a.Clusters}
	if a.Best >= 0 {
		out.Recommended = a.Ways[a.Best].Report
	}
	for _, o := range a.Ways {
		g := o.Guarantee
		row := way{Report: o.Report, Excluded: o.Excluded, Epsilon: g.Epsilon, Delta: g.Delta, Adjacency: string(g.Adjacency), Trust: string(g.Trust), Method: g.Method, RMSE: o.RMSE, Alike: o.Alike, Envelopes: o.Envelopes}
		if o.Excluded == "" {
			row.Misnamed = &o.Misnamed
			if !math.IsInf(o.Local, 1) {
				row.Local = &o.Local
			}
		}
		out.Ways = append(out.Ways, row)
	}
	return out
}
