package account

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

type accountExplain struct {
	parameters
	Delta float64 `help:"Probability that the bound by epsilon may fail by." default:"1e-6"`
	Prior float64 `help:"What an observer believes beforehand: the probability of a statement about one respondent." default:"0.01"`
	JSON  bool    `help:"Print JSON."`
}

func (accountExplain) Help() string {
	return "Example:\n  confetti account explain --mechanism rr --users 40000 --rounds 768 --flip-probability 0.176"
}

func (c accountExplain) Run(std terminal.Streams) error {
	m, err := c.check()
	if err != nil {
		return err
	}
	if err := flags.Probability("delta", c.Delta); err != nil {
		return err
	}
	if err := flags.Probability("prior", c.Prior); err != nil {
		return err
	}
	var views []account.View
	if m.event == nil {
		views, err = c.fragments().Explain(c.Delta)
	} else {
		views, err = account.Explain(m.repeated(c.parameters), c.Delta)
	}
	if err != nil {
		return m.refused(err, "delta")
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, c.document(views))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Someone who knows everybody's record but yours believes with probability %s some statement about yours.\n", account.Percent(c.Prior))
	fmt.Fprintf(&b, "Then they look. The most they may believe afterwards:\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "observer\tpromise\tbelief after, at most")
	for _, v := range views {
		if v.Guarantee == nil {
			fmt.Fprintf(w, "%s\tnone\t100 %%\n", v.Observer)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Observer, v.Guarantee.Verdict(), account.Percent(v.Guarantee.Posterior(c.Prior)))
	}
	w.Flush()
	for i, v := range views {
		fmt.Fprintf(&b, "\n%s: sees %s\n", strings.ToUpper(v.Observer[:1])+v.Observer[1:], v.Sees)
		said := v.Meaning(c.Prior)
		if i > 0 && said == views[i-1].Meaning(c.Prior) {
			said = "The same holds."
		}
		b.WriteString(indent(said))
	}
	b.WriteString("\nThese are bounds on what your taking part adds, not on what can be known of you: what the release says of everybody\nmay also hold of you, whether or not you answered.\n")
	_, err = std.Out.Write([]byte(b.String()))
	return err
}

func (c accountExplain) document(views []account.View) any {
	type view struct {
		Observer  string   `json:"observer"`
		Sees      string   `json:"sees"`
		Epsilon   *float64 `json:"epsilon"` // null: nothing is promised
		Delta     *float64 `json:"delta"`
		Adjacency string   `json:"adjacency,omitempty"`
		Verdict   string   `json:"verdict,omitempty"`
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
		o := view{Observer: v.Observer, Sees: v.Sees, Posterior: 1, Meaning: v.Meaning(c.Prior)}
		if g := v.Guarantee; g != nil {
			o.Epsilon, o.Delta, o.Adjacency, o.Method, o.Posterior = &g.Epsilon, &g.Delta, string(g.Adjacency), g.Method, g.Posterior(c.Prior)
			o.Verdict = g.Verdict()
		}
		out.Views = append(out.Views, o)
	}
	return out
}

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
