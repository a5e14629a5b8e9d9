package textpage

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// WriteFigure writes one figure as Write does: bars and grids as text draws them, of
// others what they show.
func WriteFigure(w io.Writer, f release.Figure) error {
	if err := f.Validate(); err != nil {
		return err
	}
	var p printer
	p.figure(f)
	_, err := io.WriteString(w, p.String())
	return err
}

// figure draws what text can; other figures it describes.
func (p *printer) figure(f release.Figure) {
	p.line("")
	p.line("  %s", f.Title)
	switch {
	case f.Signed:
		p.ranges(f)
	case f.Kind == release.Bars:
		p.bars(f)
	case f.Kind == release.Heat:
		p.heat(*f.Grid)
		p.paragraph("    ", fmt.Sprintf("%s to the right, from %s to %s; %s upwards, from %s to %s. Blank is 0 and less, █ up to %s.",
			f.X.Title, numerals.FormatNumber(f.Grid.Left), numerals.FormatNumber(f.Grid.Right), f.Y.Title, numerals.FormatNumber(f.Grid.Bottom), numerals.FormatNumber(f.Grid.Top), numerals.FormatNumber(f.Grid.Largest())))
	default:
		p.paragraph("    ", f.Alt)
	}
}

// ranges writes those around zero, whose bars would have no length.
func (p *printer) ranges(f release.Figure) {
	var rows [][]string
	for j, c := range f.Categories {
		for _, s := range f.Series {
			row := []string{c, fmt.Sprintf("%.2f", s.Y[j]), "", ""}
			if len(s.Low) > 0 {
				row[2] = fmt.Sprintf("%.2f to %.2f %s", s.Low[j], s.High[j], f.Y.Title)
			}
			if len(s.Truth) > 0 {
				row[3] = fmt.Sprintf("truth %.2f", s.Truth[j])
			}
			rows = append(rows, row)
		}
	}
	for _, s := range align(rows, []bool{false, true, true, false}) {
		p.line("    %s", s)
	}
}

func (p *printer) bars(f release.Figure) {
	longest := 0.0
	for _, s := range f.Series {
		for _, y := range slices.Concat(s.Y, s.High, s.Truth) {
			longest = max(longest, y)
		}
	}
	var rows [][]string
	for j, c := range f.Categories {
		for _, s := range f.Series {
			row := []string{c, s.Title, bar(s.Y[j], longest, barLength), numerals.FormatNumber(s.Y[j]), "", "", ""}
			if len(f.Series) == 1 {
				row[1] = "" // the title has said it
			}
			if len(s.Low) > 0 {
				row[2] = whisker(s.Low[j], s.Y[j], s.High[j], longest)
				row[3] = numerals.Digits(s.Y[j], (s.High[j]-s.Low[j])/4)
				low, high := numerals.Between(s.Low[j], s.High[j])
				row[4], row[5] = low, "to "+high
			}
			if len(s.Truth) > 0 {
				row[2], row[6] = hollow(row[2], s.Truth[j], longest), "truth "+numerals.FormatNumber(s.Truth[j])
			}
			rows = append(rows, row)
			c = ""
		}
	}
	for _, s := range align(rows, []bool{false, false, false, true, true, false, false}) {
		p.line("    %s", s)
	}
}

// How many characters the longest bar takes, in figures and in lists.
const (
	barLength  = 24
	itemLength = 16
)

// bar is drawn to an eighth of a character.
func bar(x, longest float64, length int) string {
	if longest == 0 || x <= 0 {
		return ""
	}
	eighths := int(x/longest*float64(8*length) + 0.5)
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return s
}

// whisker returns a bar of what is sure, up to low, and then the interval: a line from
// low to high with a cross at x. An interval that is too short to be seen is left out.
func whisker(low, x, high, longest float64) string {
	at := func(x float64) int { // the last place is for the end of the longest
		if longest == 0 {
			return 0
		}
		return int(max(0, x) / longest * (barLength - 1))
	}
	from, middle, to := at(low), at(x), at(high)
	if from == to {
		return bar(x, longest, barLength)
	}
	s := []rune(strings.Repeat("█", from) + "├" + strings.Repeat("─", to-from-1) + "┤")
	s[min(max(from, middle), to)] = '┼' // an estimate below zero lies outside its interval
	return string(s)
}

// hollow marks where the truth lies in a drawn row.
func hollow(row string, truth, longest float64) string {
	if longest == 0 {
		return row
	}
	s := []rune(fmt.Sprintf("%-*s", barLength, row))
	s[int(max(0, truth)/longest*(barLength-1))] = '○'
	return string(s)
}

// heat draws the grid in the shades that text has. A character is twice as high as
// it is wide, so that half as many lines keep the proportions.
func (p *printer) heat(g release.Grid) {
	const width, height = 64, 32
	shades := []rune(" ░▒▓█")
	scale := g.Largest()
	coarse := g.Coarse(width, height)
	wide := 1
	if coarse.Columns <= width/2 { // with room for cells of two characters
		wide = 2
	} else if coarse.Rows() > height/2 {
		coarse = g.Coarse(width, height/2)
	}
	for row := coarse.Rows() - 1; row >= 0; row-- {
		var line strings.Builder
		for _, v := range coarse.Values[row*coarse.Columns : (row+1)*coarse.Columns] {
			shade := 0
			if v > 0 {
				shade = int(math.Ceil(v/scale*float64(len(shades)-1) - 0.5))
			}
			line.WriteString(strings.Repeat(string(shades[shade]), wide))
		}
		p.line("    %s", line.String())
	}
}
