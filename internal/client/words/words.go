// Package words shows a respondent what its device has agreed to, spent and said.
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
	"github.com/confetti-dp/confetti/internal/plain"
)

// Belief is what seeing something of a given epsilon (replacement) can make of a
// belief: who held anything about the respondent's answer to be true with
// probability prior holds it so with a probability from low to high afterwards.
// A negative epsilon is none at all, and leaves nothing out.
//
// For A a set of answers and m what is seen, P(m | A) and P(m | not A) are
// averages of likelihoods of which none is more than e^epsilon times another; so
// is their ratio, and Bayes' rule gives the rest.
func Belief(prior, epsilon float64) (low, high float64) {
	if epsilon < 0 {
		return 0, 1
	}
	// The odds times e^-epsilon and e^epsilon, without an overflow.
	other := (1 - prior) / prior
	return 1 / (1 + other*math.Exp(epsilon)), 1 / (1 + other*math.Exp(-epsilon))
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
	for _, e := range l.Entries {
		showEntry(&b, e, prior)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func date(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

func showEntry(b *strings.Builder, e client.Entry, prior float64) {
	fmt.Fprintf(b, "\n%s\n", plain.Text(e.Title))
	fmt.Fprintf(b, "  plan      %s\n  publisher %s\n", e.Plan, plain.Text(e.Publisher))
	fmt.Fprintf(b, "  answered  %s; the network saw the crowd: %s\n", date(e.At), plain.Text(e.CrowdName))
	fmt.Fprintf(b, "  spent     %s: %s\n", account.ShufflerHonest, promised(e.Charge.Epsilon, e.Charge.Delta))
	switch {
	case e.Covered:
		fmt.Fprintf(b, "            for round %d of study %s; all its rounds were charged with the first answer\n", e.Round, e.Study)
	case e.Study != "":
		fmt.Fprintf(b, "            for all that the device says in study %s, of which this is round %d\n", e.Study, e.Round)
	}
	local := promised(e.Charge.Local, 0)
	switch {
	case e.Reused && e.Backed == nil:
		local = "more than was written down, it said again what was drawn for an earlier plan"
	case e.Reused:
		local += ", together with the earlier answers from the same backstop"
	case e.Backed != nil:
		local += ", together with all later answers from the same backstop"
	}
	everyone, some := account.EveryoneColludes, account.OneFragmentSeen
	one, all := "after one message below, known to be this device's", "after all of them"
	summed := slices.ContainsFunc(e.Parts, client.Part.Summed)
	if summed {
		everyone, some = account.BothAggregators, account.OneAggregator
		one, all = "after one aggregator's share, and the sum", "after both shares"
	}
	fmt.Fprintf(b, "            %s: %s\n", everyone, local)
	fmt.Fprintf(b, "            %s: %s\n", some, promised(e.OneMessage, e.OneMessageDelta))
	if e.OneMessageDelta > 0 && !summed {
		one += fmt.Sprintf(", and what the analyzer sees (but for a chance of delta, %.3g)", e.OneMessageDelta)
	}
	fmt.Fprintf(b, "  A statement about the answer that was believed with %.4g%% before can be believed with\n", 100*prior)
	for _, seen := range []struct {
		epsilon float64
		what    string
	}{
		{e.OneMessage, one},
		{e.Charge.Local, all},
		{e.Charge.Epsilon, fmt.Sprintf("after what the analyzer sees (but for a chance of delta, %.3g)", e.Charge.Delta)},
	} {
		low, high := Belief(prior, seen.epsilon)
		fmt.Fprintf(b, "    %6s to %6s  %s\n", percent(low, math.Floor), percent(high, math.Ceil), seen.what)
	}
	if e.Note != "" {
		fmt.Fprintf(b, "  Note: %s\n", plain.Text(e.Note))
	}
	for _, p := range e.Parts {
		showPart(b, p, e.Forgotten)
	}
}

// promised is a charge, under replacement, in the words that releases have. A negative
// epsilon is none at all.
func promised(epsilon, delta float64) string {
	if epsilon < 0 {
		epsilon = math.Inf(1)
	}
	return account.Guarantee{Epsilon: epsilon, Delta: delta, Adjacency: account.Replacement}.Verdict()
}

// percent prints a share in tenths of a percent, which round makes no narrower an
// interval of.
func percent(x float64, round func(float64) float64) string {
	return fmt.Sprintf("%.1f%%", round(1000*x)/10)
}

// Between says what can be believed, as Belief returns it: "between 11\u00a0% and 89\u00a0%",
// in tenths of a percent and no narrower than it is.
func Between(low, high float64) string {
	return fmt.Sprintf("between %.4g\u00a0%% and %.4g\u00a0%%", math.Floor(1000*low)/10, math.Ceil(1000*high)/10)
}

func showPart(b *strings.Builder, p client.Part, forgotten bool) {
	fmt.Fprintf(b, "  through instance %d: %s", p.Instance+1, p.State)
	if !p.Ended.IsZero() {
		fmt.Fprintf(b, " on %s", date(p.Ended))
	}
	if p.Reason != "" {
		fmt.Fprintf(b, " (%s)", plain.Text(p.Reason))
	}
	switch {
	case forgotten:
		b.WriteString("; the messages were deleted for their age or the ledger's size\n")
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
