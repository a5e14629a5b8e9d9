package counts

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strconv"

	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/release"
)

// roundsFile names the table of rounds, for a spreadsheet.
const roundsFile = "rounds.csv"

// SaveRounds writes what a release tells of the rounds so far to its folder; nothing where it tells of none.
func SaveRounds(dir string, r release.Release) error {
	text := roundsOf(r)
	if text == nil {
		return nil
	}
	return atomicfile.Replace(filepath.Join(dir, roundsFile), text, 0o644)
}

// roundsOf returns that table: a line for each round and for each of the values that the page draws, of which one that told nothing has no numbers.
func roundsOf(r release.Release) []byte {
	var total, own *release.Figure
	for _, f := range r.Figures() {
		switch f.Name {
		case "so-far":
			total = &f
		case "in-round":
			own = &f
		}
	}
	if total == nil || own == nil || len(total.Series) != len(own.Series) {
		return nil
	}
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write([]string{"value", "round", "in_round", "in_round_low", "in_round_high", "so_far", "so_far_low", "so_far_high", "told"})
	for i, s := range total.Series {
		o, at, gap := own.Series[i], 0, 0
		for at < len(s.X) || gap < len(s.Gaps) {
			row := []string{formula.Quote(s.Key)}
			if gap < len(s.Gaps) && (at == len(s.X) || s.Gaps[gap] < s.X[at]) {
				c.Write(append(row, number(s.Gaps[gap]), "", "", "", "", "", "", "false"))
				gap++
				continue
			}
			row = append(row, number(s.X[at]))
			for _, x := range []float64{o.Y[at], o.Low[at], o.High[at], s.Y[at], s.Low[at], s.High[at]} {
				row = append(row, number(x))
			}
			c.Write(append(row, "true"))
			at++
		}
	}
	c.Flush()
	return b.Bytes()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
