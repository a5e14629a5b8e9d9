package release

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
)

// The sentences below are the same on the page and in the terminal.

// Verdict is the guarantee in one line, never a bare epsilon beside a promise it
// does not keep.
func (s GuaranteeStatement) Verdict() string {
	g := s.Guarantee
	if !g.Meaningful() {
		return "No meaningful protection"
	}
	return fmt.Sprintf("ε = %s, δ = %s", above(g.Epsilon, 4), above(g.Delta, 3))
}

// Meaning says what epsilon and delta promise one person: the likelihood ratio of
// whatever the observer sees is at most e^epsilon, up to delta.
func (s GuaranteeStatement) Meaning() string {
	g := s.Guarantee
	switch {
	case math.IsInf(g.Epsilon, 1):
		return "No limit on what this observer may learn about one person can be given."
	case g.Delta >= 1:
		return "δ is 1, so the statement is empty."
	case !g.Meaningful():
		return fmt.Sprintf("ε = %s. Above %d the limit on what this observer may learn about one person is so high that it protects nobody.", above(g.Epsilon, 4), account.Meaningless)
	}
	likely := fmt.Sprintf("Whatever this observer sees, it was at most %s times as likely with one person’s true data as with other data in its place", above(math.Exp(g.Epsilon), 2))
	if g.Delta == 0 {
		return likely + ", without exception."
	}
	return likely + fmt.Sprintf(", save for a slack of δ: about one in %s.", FormatNumber(math.Floor(1/g.Delta+1e-6)))
}

// above prints x rounded up to so many digits, so that neither an epsilon nor what
// it promises is ever printed smaller than it is.
func above(x float64, digits int) string {
	if x == 0 {
		return "0"
	}
	unit := math.Pow10(int(math.Floor(math.Log10(x))) + 1 - digits)
	return FormatNumber(math.Ceil(x/unit-1e-6) * unit) // 1e-6: numbers written with few digits stay
}

// Fact is one thing that a guarantee depends on.
type Fact struct{ Name, Value string }

// Facts are all that is needed to recompute a guarantee.
func (s GuaranteeStatement) Facts() []Fact {
	g := s.Guarantee
	adjacency := "replacement: one person’s data exchanged for anyone else’s"
	if g.Adjacency == account.Removal {
		adjacency = "removal: one person’s data exchanged for a draw from a public law"
	}
	fs := []Fact{
		{"Neighbours", adjacency},
		{"Trust model", string(g.Trust)},
		{"People, n", FormatNumber(float64(g.Users))},
		{"Rounds", FormatNumber(float64(g.Rounds))},
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

// Uncertainty is the interval of a metric or, failing that, its standard error;
// "" where neither is stated.
func (m Metric) Uncertainty() string {
	if s := m.Interval(); s != "" {
		return s
	}
	if m.StdErr > 0 {
		return "± " + amount(m.StdErr, m.StdErr, m.Unit)
	}
	return ""
}

// Rank says where the true rank lies, "" where that is not known.
func (it Item) Rank() string {
	switch {
	case it.RankLow == 0:
		return ""
	case it.RankLow == it.RankHigh:
		return fmt.Sprintf("rank %d", it.RankLow)
	}
	return fmt.Sprintf("rank %d to %d", it.RankLow, it.RankHigh)
}

// FormatScore prints the score with its standard error.
func (it Item) FormatScore() string { return plusMinus(it.Score, it.StdErr, "") }

// Numeric reports whether a column holds a number anywhere.
func (t Table) Numeric(column int) bool {
	for _, row := range t.Rows {
		if row[column].Value != nil {
			return true
		}
	}
	return false
}

// Format prints a cell of a column with its unit and error.
func (t Table) Format(column int, c Cell) string {
	if c.Value == nil {
		return c.Text
	}
	return plusMinus(*c.Value, c.StdErr, t.Columns[column].Unit)
}
