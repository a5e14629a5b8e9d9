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

// The names of the tables of rounds and windows, for a spreadsheet.
const (
	roundsFile  = "rounds.csv"
	windowsFile = "windows.csv"
)

// SaveRounds writes what a release tells of the rounds so far to its folder, and of windows; nothing where it tells of
// none.
func SaveRounds(dir string, r release.Release) error {
	for name, text := range map[string][]byte{roundsFile: roundsOf(r), windowsFile: windowsOf(r)} {
		if text == nil {
			continue
		}
		if err := atomicfile.Replace(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// windowsOf returns a line for each window.
func windowsOf(r release.Release) []byte {
	var g *release.Grid
	for _, f := range r.Figures() {
		if f.Name == "windows" {
			g = f.Grid
		}
	}
	if g == nil {
		return nil
	}
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Write([]string{"first_round", "last_round", "people", "people_low", "people_high"})
	for first := range g.Columns {
		for last := first; last < g.Rows(); last++ {
			at := last*g.Columns + first
			people, within := g.Values[at], g.Within[at]
			c.Write([]string{strconv.Itoa(first + 1), strconv.Itoa(last + 1), tenths(people), tenths(max(0, people-within)), tenths(max(0, people+within))})
		}
	}
	c.Flush()
	return b.Bytes()
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

func tenths(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
