package table

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/sanitize/meant"
)

// Choice is what to take of a labelled table.
type Choice struct {
	Label    string   // column with the class; empty: none
	Features []string // columns by name, or by patterns such as likes_*; empty: all but the label
	Drop     []string // likewise, of these left out
	Missing  Missing
	Any      bool // takes numbers that are not finite as they are, for a caller that brings them to a range
}

// plain reports whether all but the label is taken, and no cell may be empty.
func (c Choice) plain() bool {
	return len(c.Features) == 0 && len(c.Drop) == 0 && c.Missing == Missing{}
}

// features says which of the columns are features: the label is none.
func (c Choice) features(names []string) ([]bool, error) {
	if c.Label != "" && !slices.Contains(names, c.Label) {
		return nil, fmt.Errorf("no column %q to take labels from%s", c.Label, meant.DidYouMean(c.Label, names))
	}
	taken := make([]bool, len(names))
	for i, name := range names {
		taken[i] = len(c.Features) == 0 && name != c.Label
	}
	mark := func(patterns []string, flag string, as bool) error {
		for _, p := range patterns {
			found := false
			for i, name := range names {
				if match(p, name) && name != c.Label {
					taken[i], found = as, true
				}
			}
			if !found {
				return fmt.Errorf("no column is named %q, as %s asks%s", p, flag, meant.DidYouMean(p, names))
			}
		}
		return nil
	}
	return taken, errors.Join(mark(c.Features, "--features", true), mark(c.Drop, "--drop", false))
}

// match compares a name with a pattern, in which * is any text and ? any character.
// What is no pattern is a name.
func match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	// A slash is nothing special in the name of a column.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// featureRemedy is what to do about a column of which there are no numbers.
const featureRemedy = "name the features with --features, or leave the column out with --drop"

// A column whose mean square is this share of the sum of all is nearly all of every
// distance and every angle between records.
const dominant = 0.9

// Doubts names features that are likely to be there by mistake: one that only grows from
// row to row, as a running number does, and one that is so much larger than the others
// together that they hardly count.
func (t *Records) Doubts() []string {
	if len(t.Columns) != t.X.Cols || t.X.Cols < 2 {
		return nil
	}
	var doubts []string
	squares, sum := make([]float64, t.X.Cols), 0.0
	for j := range squares {
		grows := t.X.Rows > 2
		for i := range t.X.Rows {
			v := float64(t.X.Data[i*t.X.Stride+j])
			squares[j] += v * v / float64(t.X.Rows)
			grows = grows && (i == 0 || v > float64(t.X.Data[(i-1)*t.X.Stride+j]))
		}
		sum += squares[j]
		if grows {
			doubts = append(doubts, fmt.Sprintf("Column %q grows from every row to the next, as a running number does: it was taken for a feature. Leave it out with --drop.", t.Columns[j]))
		}
	}
	for j, s := range squares {
		if s > dominant*sum && sum > 0 {
			doubts = append(doubts, fmt.Sprintf("Column %q is so large that it makes up %s of the mean square of a record: the other %s hardly count. Leave it out with --drop, or scale it.", t.Columns[j], percent(s/sum), others(t.X.Cols-1)))
		}
	}
	return doubts
}

// percent rounds down: what is not all is never 100 %.
func percent(share float64) string { return fmt.Sprintf("%.4g %%", math.Floor(share*1000)/10) }
