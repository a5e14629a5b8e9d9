// Package words writes what a device has agreed to, spent and said as sentences for its owner. Used by
// internal/client and cmd/confetti/internal.
package words

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/belief"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/plan"
)

// Believed returns how firmly something can be believed after an answer (belief.Believed).
func Believed(g account.Guarantee, prior float64) (low, high float64) {
	return belief.Believed(g, prior)
}

// Show writes the ledger as plain text: what was agreed to and spent, every
// message that was said, and how far it can be believed by someone whose belief
// in anything about the answer was prior, in (0, 1).
func Show(w io.Writer, l *client.Ledger, prior float64) error {
	if !(prior > 0 && prior < 1) {
		return fmt.Errorf("words: a prior belief of %v: need a probability above 0 and below 1", prior)
	}
	var b strings.Builder
	switch {
	case l.Since.IsZero():
		b.WriteString("This device has not opted in. It answers nothing.\n")
	case l.OptedIn:
		fmt.Fprintf(&b, "This device opted in on %s.\n", date(l.Since))
	default:
		fmt.Fprintf(&b, "This device opted out on %s. It answers nothing.\n", date(l.Since))
	}
	for _, j := range l.Studies {
		fmt.Fprintf(&b, "Of study %s it answers round %d, which it drew on %s.\n", j.Study, j.Round, date(j.At))
	}
	for _, says := range Counted(l) {
		fmt.Fprintln(&b, says)
	}
	for _, e := range l.Entries {
		showEntry(&b, e, prior)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Counted says of each study that counts events how many were said, what its one charge is for, and what that rests on.
func Counted(l *client.Ledger) (says []string) {
	said := map[string]int{}
	for _, e := range l.Entries {
		said[e.Study] += e.Events
	}
	for _, e := range l.Entries {
		if e.Most > 0 && !e.Covered {
			says = append(says, fmt.Sprintf("Of study %s: one charge for %s, %d of %s said. It counts on no aggregator's database being put back to an older copy.", e.Study, span(e.From, e.Until.Add(-plan.LastRow)), said[e.Study], terms.Numbered(e.Most, "event")))
		}
	}
	return says
}

// span names a time, as a year where it is one.
func span(from, until time.Time) string {
	year := time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	if from.Equal(year) && until.Equal(year.AddDate(1, 0, 0)) {
		return fmt.Sprintf("the year %d", from.Year())
	}
	return fmt.Sprintf("the time from %s to %s", date(from), date(until))
}

func date(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

func showEntry(b *strings.Builder, e client.Entry, prior float64) {
	fmt.Fprintf(b, "\n%s\n", sanitize.Text(e.Title))
	fmt.Fprintf(b, "  plan      %s\n  publisher %s\n", e.Plan, sanitize.Text(e.Publisher))
	fmt.Fprintf(b, "  answered  %s; %s saw the crowd: %s\n", date(e.At), Saw(e), sanitize.Text(e.CrowdName))
	of := e.Charge.Of()
	fmt.Fprintf(b, "  spent     %s, as the device adds it up with other answers\n", promised(e.Charge.Epsilon, e.Charge.Delta, of))
	switch {
	case e.Covered && e.Most > 0:
		fmt.Fprintf(b, "            for round %d of study %s; its first answer was charged for all until the last row\n", e.Round, e.Study)
	case e.Covered:
		fmt.Fprintf(b, "            for round %d of study %s; all its rounds were charged with the first answer, and cost nothing more while that counts\n", e.Round, e.Study)
	case e.Study != "":
		fmt.Fprintf(b, "            for all that the device says in study %s, of which this is round %d\n", e.Study, e.Round)
	}
	local := promised(e.Charge.Local, 0, of)
	switch {
	case e.Reused && e.Backed == nil:
		local = "more than was written down, it said again what was drawn for an earlier plan"
	case e.Reused:
		local += ", together with the earlier answers from the same backstop"
	case e.Backed != nil:
		local += ", together with all later answers from the same backstop"
	}
	fmt.Fprintf(b, "            if all conspire, %s\n", local)
	fmt.Fprintf(b, "  Something about the %s that was believed with %.4g%% before can be believed afterwards by each observer:\n", About(e), 100*prior)
	for i, s := range e.Statements {
		low, high := Believed(s.Guarantee, prior)
		but := ""
		if s.Guarantee.Delta > 0 {
			but = fmt.Sprintf(" (but for a chance of delta, %.3g)", s.Guarantee.Delta)
		}
		fmt.Fprintf(b, "    %6s to %6s%s\n", percent(low, math.Floor), percent(high, math.Ceil), but)
		fmt.Fprintf(b, "                     %s: %s\n", s.Observer, s.Guarantee)
		// What holds for several observers in a row is said once, after the last.
		if s.Note != "" && (i+1 == len(e.Statements) || e.Statements[i+1].Note != s.Note) {
			fmt.Fprintf(b, "                     Note: %s\n", sanitize.Text(s.Note))
		}
	}
	if e.Said != "" {
		fmt.Fprintf(b, "  you said  %s\n", sanitize.Text(e.Said))
	}
	for _, p := range e.Parts {
		showPart(b, p, e)
	}
}

// About names what the epsilons of an answer speak of.
func About(e client.Entry) string {
	if e.Charge.Of() == account.Label {
		return "label"
	}
	return "answer"
}

// Saw names whoever has to see the crowd of an answer as it is: who takes it.
func Saw(e client.Entry) string {
	if slices.ContainsFunc(e.Parts, client.Part.Summed) {
		return "the aggregators"
	}
	return "the entry hop"
}

// promised returns a charge in the words that releases have. A negative epsilon is none at all.
func promised(epsilon, delta float64, of account.Adjacency) string {
	if epsilon < 0 {
		epsilon = math.Inf(1)
	}
	return account.Guarantee{Epsilon: epsilon, Delta: delta, Adjacency: of}.Verdict()
}

// percent prints a share in tenths of a percent, which round makes no narrower an
// interval of.
func percent(x float64, round func(float64) float64) string {
	return fmt.Sprintf("%.1f%%", round(1000*x)/10)
}

// showPart prints messages in hexadecimal where an earlier version wrote them down without words.
func showPart(b *strings.Builder, p client.Part, e client.Entry) {
	fmt.Fprintf(b, "  through instance %d: %s", p.Instance+1, p.Status)
	if !p.Ended.IsZero() {
		fmt.Fprintf(b, " on %s", date(p.Ended))
	}
	if p.Reason != "" {
		fmt.Fprintf(b, " (%s)", sanitize.Text(p.Reason))
	}
	switch {
	case e.Forgotten:
		b.WriteString("; the messages were deleted for their age or the ledger's size\n")
		return
	case e.Said != "":
		fmt.Fprintf(b, "; %s\n", terms.Numbered(len(p.Messages), "message"))
		return
	case p.Summed():
		b.WriteString("; a vector in two shares, one for each aggregator, kept shut with the device's secret\n")
		return
	case len(p.Messages) == 0:
		b.WriteString("; no message, dummies only\n")
		return
	}
	fmt.Fprintf(b, "; messages said, in hexadecimal, %d in all, dummies left out\n", len(p.Messages))
	const columns = 80
	line := "   "
	for _, m := range p.Messages {
		word := hex.EncodeToString(m)
		if len(line)+1+len(word) > columns {
			b.WriteString(line + "\n")
			line = "   "
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
