package release

import "fmt"

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
