package metrics

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/sanitize"
)

// write writes what changed, what it costs and who has decided, for people.
func (found found) write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n", sanitize.Text(found.App))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range found.Changes {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", c.What, c.Name, sanitize.Text(c.Says))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(found.Changes) == 0 {
		fmt.Fprintln(out, "  no metric changed")
	}
	fmt.Fprintln(out, "\nWhat one installation pays")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  \tbefore\tnow\n")
	was := map[string]price{}
	for _, p := range found.Before {
		was[p.Key] = p
	}
	season := func(p price, there bool) string {
		if !there {
			return "-"
		}
		text := fmt.Sprintf("epsilon %.4g, delta %.2g", p.Epsilon, p.Delta)
		if p.Quarters > 0 {
			text += fmt.Sprintf(", in %d crowds", p.Quarters)
		}
		return text
	}
	for _, p := range found.Now {
		before, there := was[p.Key]
		delete(was, p.Key)
		fmt.Fprintf(w, "  a season of each %s, %d asked\t%s\t%s\n", p.Key, p.Metrics, season(before, there), season(p, true))
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		fmt.Fprintf(w, "  a season of each %s\t%s\t-\n", key, season(was[key], true))
	}
	paidMonth, _ := worstOf(found.paid, 30)
	paidYear, _ := worstOf(found.paid, 365)
	month, year := found.Month, found.Year
	most := client.DefaultCaps
	fmt.Fprintf(w, "  any 30 days, at worst %d answers\t%s\t%s\n", month.Answers, paidMonth.words(), month.words())
	fmt.Fprintf(w, "  any 365 days, at worst %d answers\t%s\t%s\n", year.Answers, paidYear.words(), year.words())
	fmt.Fprintf(w, "  the same year, though everyone colludes\t%s\t%s\n", paidYear.local(), year.local())
	fmt.Fprintf(w, "  the cap of a device\t\tepsilon %.4g in %d days\n", most.Window.Epsilon, int(most.Period.Hours()/24))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nOf an installation: three devices of a person, or a reinstall, pay each.")
	if found.crowded() {
		fmt.Fprintln(out, "Crowds are by the quarter in which somebody agreed first. Whoever takes an answer sees it beside an address, and each crowd needs the minimum.")
	}
	if err := found.writeExact(out); err != nil {
		return err
	}
	if len(found.More) == 0 {
		_, err := fmt.Fprintln(out, "Nothing more is asked than before.")
		return err
	}
	fmt.Fprintln(out, "\nMore is asked than before:")
	for _, more := range found.More {
		fmt.Fprintf(out, "  %s\n", sanitize.Text(more))
	}
	if found.By != "" {
		_, err := fmt.Fprintf(out, "Reviewed by %s.\n", sanitize.Text(found.By))
		return err
	}
	_, err := fmt.Fprintf(out, "\nSomebody who may decide adds this to confetti.toml:\n\n[[reviewed]]\nchange = %q\nby = \"\"\non = \"\"\nsays = \"\"\n", found.Change)
	return err
}

// blurred reports that a round tells less than the file asks for.
func (e foretold) blurred() bool { return 100*e.Error > e.Points }

// writeExact writes how exact the numbers of a round will be.
func (found found) writeExact(out io.Writer) error {
	if len(found.Exact) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nHow exact a round is, of as many people as it needs")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range found.Exact {
		said := e.Says
		if said == "" {
			said = fmt.Sprintf("a tenth to within %.2g in 100", 100*e.Error)
		}
		if e.blurred() {
			said += fmt.Sprintf(", and %.2g are asked for", e.Points)
		}
		fmt.Fprintf(w, "  %s\tof %d people\t%s\n", e.Name, e.People, said)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "  (intervals of 95 %: four times as many people halve them)")
	return err
}

// crowded reports that answers come in crowds.
func (found found) crowded() bool {
	return slices.ContainsFunc(found.Now, func(p price) bool { return p.Quarters > 0 })
}

func (c cost) words() string {
	if c.Answers == 0 {
		return "-"
	}
	return fmt.Sprintf("epsilon %.4g, delta %.2g", c.Epsilon, c.Delta)
}

func (c cost) local() string {
	switch {
	case c.Answers == 0:
		return "-"
	case c.Local < 0:
		return "no limit"
	case !(account.Guarantee{Epsilon: c.Local, Adjacency: account.Replacement}).Meaningful():
		return fmt.Sprintf("epsilon %.4g, %s", c.Local, account.NoProtection)
	}
	return fmt.Sprintf("epsilon %.4g", c.Local)
}
