package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/dp/account"
)

type accountExplain struct {
	mechanismParameters
	Delta float64 `help:"Probability that the bound by epsilon may fail by." default:"1e-6"`
	Prior float64 `help:"What an observer believes beforehand: the probability of a statement about one respondent." default:"0.01"`
	JSON  bool    `help:"Print JSON."`
}

func (accountExplain) Help() string {
	return "Example:\n  confetti account explain --mechanism rr --users 40000 --rounds 768 --flip-probability 0.176"
}

func (c accountExplain) Run(std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := probability("delta", c.Delta); err != nil {
		return err
	}
	if err := probability("prior", c.Prior); err != nil {
		return err
	}
	var views []account.View
	var err error
	if c.Mechanism == "fragments" {
		views, err = c.fragments().Explain(c.Delta)
	} else {
		views, err = account.Explain(c.event(), c.Delta)
	}
	if err != nil {
		return c.refused(err, "delta")
	}
	if c.JSON {
		return writeJSON(std.out, c.document(views))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Someone who knows everybody's record but yours believes with probability %s %s.\n", percent(c.Prior), claim(views))
	fmt.Fprintf(&b, "Then they look. The most they may believe afterwards:\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "observer\tepsilon\tdelta\tbelief after, at most")
	for _, v := range views {
		if v.Guarantee == nil {
			fmt.Fprintf(w, "%s\tnone\t\t100 %%\n", v.Observer)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%.3g\t%s\n", v.Observer, wide(v.Guarantee.Epsilon), v.Guarantee.Delta, percent(v.Guarantee.Posterior(c.Prior)))
	}
	w.Flush()
	for i, v := range views {
		fmt.Fprintf(&b, "\n%s: sees %s\n", capital(v.Observer), v.Sees)
		said := c.meaning(v)
		if i > 0 && said == c.meaning(views[i-1]) {
			said = "The same holds."
		}
		b.WriteString(indent(said))
	}
	b.WriteString("\nThese are bounds on what your taking part adds, not on what can be known of you: what the release says of everybody\nmay also hold of you, whether or not you answered.\n")
	_, err = std.out.Write([]byte(b.String()))
	return err
}

// claim is what the guarantees speak of: they bound the odds between your record
// and what neighbours have in its place. All views of a mechanism have one adjacency.
func claim(views []account.View) string {
	for _, v := range views {
		if v.Guarantee != nil && v.Guarantee.Adjacency == account.Removal {
			return "that you answered with a certain record, rather than not at all"
		}
	}
	return "some statement about yours"
}

// meaning says what a guarantee promises, and no more than that.
func (c accountExplain) meaning(v account.View) string {
	if v.Guarantee == nil {
		return fmt.Sprintf("Nothing is promised: %s.", v.Reason)
	}
	g := *v.Guarantee
	var s strings.Builder
	if !g.Meaningful() {
		fmt.Fprintf(&s, "Epsilon is %s, which is no meaningful protection: the bound allows near certainty.", wide(g.Epsilon))
	} else {
		fmt.Fprintf(&s, "The odds of the statement change by a factor of at most %s, up or down: from %s to at most %s.",
			wide(factor(g.Epsilon)), percent(c.Prior), percent(g.Posterior(c.Prior)))
	}
	if g.Delta > 0 {
		fmt.Fprintf(&s, " They do no better than someone for whom that holds except with probability %.3g, when they learn your record.", g.Delta)
	}
	if g.Users > 1 && g.Trust == account.Shuffled {
		fmt.Fprintf(&s, " It relies on %s respondents who add their noise as they should.", thousands(g.Users))
	}
	fmt.Fprintf(&s, " Your record is compared with %s.", compared[g.Adjacency])
	return s.String()
}

var compared = map[account.Adjacency]string{
	account.Replacement: "any other record in its place",
	account.Removal:     "no record, or the reference report, in its place",
}

func (c accountExplain) document(views []account.View) any {
	type view struct {
		Observer  string   `json:"observer"`
		Sees      string   `json:"sees"`
		Epsilon   *float64 `json:"epsilon"` // null: nothing is promised
		Delta     *float64 `json:"delta"`
		Adjacency string   `json:"adjacency,omitempty"`
		Method    string   `json:"method,omitempty"`
		Posterior float64  `json:"posterior"`
		Meaning   string   `json:"meaning"`
	}
	out := struct {
		Mechanism string  `json:"mechanism"`
		Prior     float64 `json:"prior"`
		Views     []view  `json:"views"`
	}{Mechanism: c.Mechanism, Prior: c.Prior}
	for _, v := range views {
		o := view{Observer: v.Observer, Sees: v.Sees, Posterior: 1, Meaning: c.meaning(v)}
		if g := v.Guarantee; g != nil {
			o.Epsilon, o.Delta, o.Adjacency, o.Method, o.Posterior = &g.Epsilon, &g.Delta, string(g.Adjacency), g.Method, g.Posterior(c.Prior)
		}
		out.Views = append(out.Views, o)
	}
	return out
}

// factor is e^epsilon, which says more to people than epsilon.
func factor(epsilon float64) float64 { return math.Exp(epsilon) }

// percent never rounds a probability to certainty.
func percent(p float64) string {
	if p > 0.9999 {
		return "over 99.99 %"
	}
	return fmt.Sprintf("%.3g %%", 100*p)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// indent breaks a paragraph at 110 columns.
func indent(s string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(s) {
		if column > 0 && column+1+len(word) > 110 {
			b.WriteByte('\n')
			column = 0
		}
		if column == 0 {
			b.WriteString("  " + word)
		} else {
			b.WriteString(" " + word)
		}
		column += 1 + len(word)
	}
	return b.String() + "\n"
}
