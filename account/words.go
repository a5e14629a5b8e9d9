package account

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The words of a guarantee. Whatever prints one (a release in a terminal, its page
// and its JSON, the ledger of a device, account explain, plan check) prints these
// sentences, so that two of them cannot disagree. Numbers are rounded up: neither an
// epsilon nor what follows from it is printed smaller than it is.

// Observers, from those who see most to those who see least.
const (
	EveryoneColludes    = "everyone colludes"
	OneInstanceColludes = "one instance colludes"
	OneFragmentSeen     = "one fragment seen"
	ShufflerHonest      = "shuffler honest"
	CrowdSizesSeen      = "sizes of crowds"
	BothAggregators     = "both aggregators" // of a sum, in the place of everyone
	OneAggregator       = "one aggregator"   // of a sum: it and the analyzer, where the other is honest
	OnlyTheReader       = "reader"           // of a sum, both of whose aggregators are honest, or of a table
	AllRoundsSeen       = "all rounds seen"  // of a study: who sees one round as the plan's promise says
	AllSizesSeen        = "sizes of crowds, all rounds"
	AllRoundsOfOne      = "one aggregator, all rounds" // where the promise needs both aggregators
)

// NoProtection is how a guarantee reads that is not Meaningful.
const NoProtection = "no meaningful protection"

// Under states the guarantee for other neighbours. Two removals lead from one record
// to any other:
//
//	P(x) <= e^epsilon P(ref) + delta <= e^epsilon (e^epsilon P(x') + delta) + delta,
//
// which is replacement with (2 epsilon, (1+e^epsilon) delta). Of a replacement
// guarantee the law of any one record is a reference, so it is a removal guarantee as
// it stands. Another label makes another record, so it is a label guarantee too; a label
// guarantee says nothing of other records. It is an error to convert back from labels, to
// convert a lower bound, or to neighbours that are not known.
func (g Guarantee) Under(a Adjacency) (Guarantee, error) {
	switch {
	case g.Adjacency == a:
		return g, nil
	case g.Bound == Lower:
		return Guarantee{}, fmt.Errorf("account: a lower bound under %s says nothing under %s", g.Adjacency, a)
	case g.Adjacency == Replacement && a == Removal:
	case g.Adjacency == Replacement && a == Label:
		g.Bound = Upper
	case g.Adjacency == Removal && a == Label:
		g, _ = g.Under(Replacement) // an upper bound always has one
		return g.Under(Label)
	case g.Adjacency == Removal && a == Replacement:
		if g.Delta > 0 { // the product is rounded twice, the exponential once
			g.Delta = math.Min(1, (1+math.Exp(g.Epsilon))*g.Delta*(1+0x1p-50))
		}
		g.Epsilon *= 2
		g.Method += ", twice for replacement"
		g.Bound = Upper
	default:
		return Guarantee{}, fmt.Errorf("account: %s adjacency cannot be stated as %s", g.Adjacency, a)
	}
	g.Adjacency = a
	return g, nil
}

// asReplacement returns what a removal guarantee says of any other record; ok is false for
// one that speaks of it anyway.
func (g Guarantee) asReplacement() (h Guarantee, ok bool) {
	if g.Adjacency == Replacement {
		return h, false
	}
	h, err := g.Under(Replacement)
	return h, err == nil
}

// Verdict returns the guarantee in one line: never an epsilon without its adjacency, never
// one above Meaningless without what that means. A removal guarantee has the number of
// a replacement beside it.
func (g Guarantee) Verdict() string {
	s := g.verdict()
	if h, ok := g.asReplacement(); ok && g.Meaningful() {
		s += ", that is " + h.verdict()
	}
	return s
}

func (g Guarantee) verdict() string {
	switch {
	case math.IsInf(g.Epsilon, 1):
		return NoProtection + " (no epsilon is proved)"
	case g.Delta >= 1:
		return NoProtection + " (delta is 1)"
	case !g.Meaningful():
		return fmt.Sprintf("%s (epsilon %s, %s)", NoProtection, AtMost(g.Epsilon, 4), g.Adjacency)
	}
	return fmt.Sprintf("epsilon %s, delta %s (%s)", AtMost(g.Epsilon, 4), AtMost(g.Delta, 3), g.Adjacency)
}

// Meaning says what the guarantee promises one person: the likelihood ratio of
// whatever the observer sees is at most e^Epsilon, up to Delta.
func (g Guarantee) Meaning() string {
	switch {
	case math.IsInf(g.Epsilon, 1):
		return "No limit on what this observer may learn about one person can be given."
	case g.Delta >= 1:
		return "Delta is 1, so the statement is empty."
	case !g.Meaningful():
		return fmt.Sprintf("Above epsilon %d the limit on what this observer may learn about one person is so high that it protects nobody.", Meaningless)
	}
	other := "any other data in its place"
	switch g.Adjacency {
	case Removal:
		other = "a draw from the public reference law in its place"
		if g.Trust == Central {
			other = "that person left out"
		}
	case Label:
		other = "the same data and any other label in its place"
	}
	s := fmt.Sprintf("Whatever this observer sees is at most %s as likely, or as unlikely, with one person's true data as with %s%s.", times(g.Epsilon), other, slack(g.Delta))
	h, ok := g.asReplacement()
	switch {
	case ok && h.Meaningful():
		s += fmt.Sprintf(" Compared with any other data it is at most %s as likely, or as unlikely%s.", times(h.Epsilon), slack(h.Delta))
	case ok:
		s += " Compared with any other data there is " + h.verdict() + "."
	}
	return s
}

// times returns the likelihood ratio e^epsilon in words.
func times(epsilon float64) string { return AtMost(math.Exp(epsilon), 2) + " times" }

func slack(delta float64) string {
	if delta == 0 {
		return ", without exception"
	}
	return fmt.Sprintf(", save for a slack of delta: about one in %s", whole(math.Floor(1/delta+1e-6)))
}

// Fact is one thing that a guarantee depends on.
type Fact struct{ Name, Value string }

// Facts returns all that is needed to recompute the guarantee.
func (g Guarantee) Facts() []Fact {
	composed := "Rounds"
	if g.Trust == Central { // one release of a table
		composed = "Numbers that a row moves"
	}
	fs := []Fact{
		{"Neighbours", g.neighbours()},
		{"Trust model", string(g.Trust)},
		{"People, n", whole(float64(g.Users))},
		{composed, whole(float64(g.Rounds))},
		{"Method", g.Method},
		{"Kind of number", string(g.Bound)},
	}
	if g.Source != "" {
		fs = append(fs, Fact{"Source", g.Source})
	}
	if g.Certified != "" {
		fs = append(fs, Fact{"Checked over", g.Certified})
	}
	return fs
}

// neighbours names what an adjacency exchanges. A reference law is devices': of a table in one place a person is there or not.
func (g Guarantee) neighbours() string {
	if g.Adjacency == Removal && g.Trust == Central {
		return "removal: one person's row there or not"
	}
	return g.Adjacency.Words()
}

// Words says what neighbours are.
func (a Adjacency) Words() string {
	switch a {
	case Replacement:
		return "replacement: one person's data exchanged for any other"
	case Removal:
		return "removal: one person's data exchanged for a draw from the public reference law"
	case Label:
		return "label: one person's label exchanged for any other, all else about that person public"
	}
	return string(a)
}

// Words says who sees it.
func (t Trust) Words() string {
	switch t {
	case Local:
		return "everyone but the respondent's own device colludes"
	case OneFragment:
		return "opens a single message of the respondent, and sees the others among everybody's"
	case Shuffled:
		return "at least one hop of the shuffler is honest"
	case AggregatorHonest:
		return "at least one of the two aggregators is honest"
	case AggregatorsHonest:
		return "both aggregators are honest"
	case Peers:
		return "none of the peers who exchange labels tells who told what"
	case Central:
		return "a trusted curator adds the noise"
	}
	return string(t)
}

// Words says on which side of the true loss a number is.
func (b Bound) Words() string {
	switch b {
	case Upper:
		return "the true loss is not above it"
	case Lower:
		return "the true loss is not below it"
	case Exact:
		return "the true loss, rounded up"
	}
	return string(b)
}

// AtMost prints x rounded up to so many significant digits, whole numbers from a
// thousand on in groups.
func AtMost(x float64, digits int) string {
	if x == 0 {
		return "0"
	}
	exponent := int(math.Floor(math.Log10(x)))
	unit := math.Pow10(exponent + 1 - digits)
	x = math.Ceil(x/unit-1e-6) * unit // 1e-6: numbers written with few digits stay
	if exponent+1 >= digits {
		return whole(x)
	}
	s := strconv.FormatFloat(x, 'g', digits, 64)
	return strings.Replace(s, "e-0", "e-", 1)
}

// whole prints a whole number in groups of three digits, in powers of ten from 1e15 on.
func whole(x float64) string {
	if math.Abs(x) >= 1e15 {
		return strings.Replace(strconv.FormatFloat(x, 'g', 3, 64), "e+", "e", 1)
	}
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Verdict returns that of an epsilon and a delta by themselves; a nil epsilon is none at all.
func Verdict(epsilon *float64, delta float64, a Adjacency) string {
	g := Guarantee{Epsilon: math.Inf(1), Delta: delta, Adjacency: a}
	if epsilon != nil {
		g.Epsilon = *epsilon
	}
	return g.Verdict()
}

// Meaning says what a view promises to somebody of whom a statement is believed with
// probability prior, and no more than that.
func (v View) Meaning(prior float64) string {
	if v.Guarantee == nil {
		return fmt.Sprintf("Nothing is promised: %s.", v.Reason)
	}
	g := *v.Guarantee
	var s strings.Builder
	fmt.Fprintf(&s, "%s. %s", capital(g.Verdict()), g.Meaning())
	if g.Meaningful() {
		fmt.Fprintf(&s, " A statement about your record that was believed with %s is believed with at most %s.", Percent(prior), Percent(g.Posterior(prior)))
	}
	if g.Delta > 0 {
		fmt.Fprintf(&s, " They do no better than someone for whom that holds except with probability delta, when they learn your record.")
	}
	if g.Users > 1 && g.Trust != Central {
		fmt.Fprintf(&s, " It relies on %s respondents who add their noise as they should.", whole(float64(g.Users)))
	}
	return s.String()
}

// Percent prints a probability. It never rounds one to certainty.
func Percent(p float64) string {
	if p > 0.9999 {
		return "over 99.99 %"
	}
	return fmt.Sprintf("%.3g %%", 100*p)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
